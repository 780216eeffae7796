package toolset

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// apart puts text that is no instruction between two marks that nothing in it can imitate,
// with a word on what it is. random nil = crypto/rand.
func apart(random io.Reader, tag, word, text string) (string, error) {
	if random == nil {
		random = rand.Reader
	}
	for {
		var b [8]byte
		if _, err := io.ReadFull(random, b[:]); err != nil {
			return "", fmt.Errorf("boundary of %s: %w", tag, err)
		}
		mark := hex.EncodeToString(b[:])
		if strings.Contains(text, mark) {
			continue
		}
		return fmt.Sprintf("<%s boundary=%q>\n%s\n\n%s\n</%s boundary=%q>", tag, mark, word, strings.TrimRight(text, "\n"), tag, mark), nil
	}
}
