//go:build !notiktoken

package tokens

import (
	"encoding/json"
	"os"
	"testing"
)

// The numbers of testdata/o200k.json were counted by an independent program, the
// JavaScript package gpt-tokenizer 4.0.0, with literals of special tokens as text.
func TestCountsAreThoseOfAnotherProgram(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/o200k.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Text   string
		Tokens int
	}
	if err := json.Unmarshal(data, &list); err != nil || len(list) < 200 {
		t.Fatalf("%d texts: %v", len(list), err)
	}
	c := O200k()
	for _, x := range list {
		if n := c.Count(x.Text); n != x.Tokens {
			t.Errorf("%q: %d tokens, want %d", x.Text, n, x.Tokens)
		}
	}
}
