package shellcmd

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Simple returns the words of a line that is exactly one simple command of fixed words,
// so that it can be started without a shell. Operators, redirections, substitutions,
// variables, patterns, assignments, comments, line ends and a leading tilde are errors,
// and so is what [Parse] cannot read or refuses.
func Simple(line string) ([]string, error) {
	if strings.ContainsAny(line, "\n\r") {
		return nil, fmt.Errorf("%w: it has a line end", ErrUnreadable)
	}
	script, err := Parse(line)
	if err != nil {
		return nil, err
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if len(script.Refused) > 0 || len(file.Stmts) != 1 || len(file.Last) > 0 {
		return nil, fmt.Errorf("%w: it is not one simple command", ErrUnreadable)
	}
	s := file.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	plain := ok && !s.Negated && !s.Background && !s.Coprocess && !s.Disown && !s.Semicolon.IsValid() &&
		len(s.Comments) == 0 && len(s.Redirs) == 0 && len(call.Assigns) == 0
	if !plain {
		return nil, fmt.Errorf("%w: it is not one simple command", ErrUnreadable)
	}
	words := make([]string, 0, len(call.Args))
	for _, arg := range call.Args {
		w, odd := readWord(arg)
		if odd != "" || !w.Fixed || w.Tilde || w.Glob || w.Split {
			return nil, fmt.Errorf("%w: a word of it is not fixed", ErrUnreadable)
		}
		words = append(words, w.Text)
	}
	return words, nil
}

// ReadWord returns what a word of a syntax tree becomes. odd names what makes it
// impossible to judge, "" = nothing.
func ReadWord(w *syntax.Word) (word Word, odd string) { return readWord(w) }
