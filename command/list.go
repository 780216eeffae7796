package command

import "github.com/deftskills/deft/internal/shellcmd"

// prefixWords are the words of a prefix, split as a command's are; none for a prefix
// that is no plain row of words, which then admits nothing.
func prefixWords(prefix string) []string {
	words, err := shellcmd.Simple(prefix)
	if err != nil {
		return nil
	}
	return words
}
