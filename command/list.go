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

// listed returns the words of a command that a list admits, so that it can be started
// without a shell, or why it may not run.
func listed(l List, text string) (words []string, reason Reason) {
	words, err := shellcmd.Simple(text)
	if err != nil || !l.admits(words) {
		return nil, ReasonList
	}
	return words, ""
}
