package scan

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed rules/*.yaml rules/names.txt
var shipped embed.FS

const (
	wordsFile    = "words.yaml"
	maxRuleBytes = 1 << 20 // of one file of rules
	maxRules     = 2000
)

// ruleSet is every rule of a Scanner, compiled. It is immutable once loaded.
type ruleSet struct {
	rules    []rule
	patterns []pattern
	auto     *automaton
	holders  [][]int // by literal: the patterns whose first list has it
	digest   string
}

// loader gathers rules; words are the fragments that stand for {name} in patterns.
type loader struct {
	words   map[string]string
	rules   []rule
	sum     []byte
	indexes map[string]int
	sources []wanted
}

// read adds the rules of every *.yaml file of a folder.
func (l *loader) read(fsys fs.FS, added bool) error {
	names, err := fs.Glob(fsys, "*.yaml")
	if err != nil {
		return err
	}
	slices.SortFunc(names, func(a, b string) int { // the fragments first
		if (a == wordsFile) != (b == wordsFile) {
			return map[bool]int{true: -1, false: 1}[a == wordsFile]
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		if len(src) > maxRuleBytes {
			return fmt.Errorf("rules %s: more than %d bytes", name, maxRuleBytes)
		}
		l.sum = append(append(l.sum, name...), src...)
		if err := l.file(name, src, added); err != nil {
			return fmt.Errorf("rules %s: %w", name, err)
		}
	}
	return nil
}

func (l *loader) file(name string, src []byte, added bool) error {
	dec := yaml.NewDecoder(bytes.NewReader(src))
	dec.KnownFields(true)
	if name == wordsFile {
		words := map[string]string{}
		if err := dec.Decode(&words); err != nil {
			return err
		}
		maps.Copy(l.words, words)
		return nil
	}
	var list []rule
	if err := dec.Decode(&list); err != nil {
		return err
	}
	for _, r := range list {
		if slices.ContainsFunc(l.rules, func(o rule) bool { return o.ID == r.ID }) {
			return fmt.Errorf("rule %q: the id is taken", r.ID)
		}
		r.added = added
		l.rules = append(l.rules, r)
	}
	if len(l.rules) > maxRules {
		return fmt.Errorf("more than %d rules", maxRules)
	}
	return nil
}

var (
	ruleID  = regexp.MustCompile(`^[A-Z]{2,8}[0-9]{2,4}$`)
	wordUse = regexp.MustCompile(`\{[a-z][a-z_]*\}`)
)

// index returns the number of a pattern, which it adds where it is new.
func (l *loader) index(source string) (int, error) {
	var missing string
	for range 4 { // fragments may use fragments
		source = wordUse.ReplaceAllStringFunc(source, func(use string) string {
			text, ok := l.words[use[1:len(use)-1]]
			if !ok {
				missing = use
			}
			return "(?:" + text + ")"
		})
	}
	if missing != "" {
		return 0, fmt.Errorf("no fragment %s", missing)
	}
	if i, ok := l.indexes[source]; ok {
		return i, nil
	}
	lists, size, err := needed(source)
	if err != nil {
		return 0, err
	}
	if len(lists) == 0 {
		return 0, fmt.Errorf("pattern %s: no text of %d bytes stands in all that it matches", source, leastLiteral)
	}
	slices.SortStableFunc(lists, func(a, b []string) int { return shortest(b) - shortest(a) })
	l.indexes[source] = len(l.sources)
	l.sources = append(l.sources, wanted{source, size, lists})
	return len(l.sources) - 1, nil
}

// wanted is a pattern before its literals have numbers.
type wanted struct {
	source string
	size   int
	lists  [][]string
}

// resolve turns the words of a rule into numbers and checks them.
func (l *loader) resolve(r *rule) error {
	switch {
	case !ruleID.MatchString(r.ID):
		return errors.New("id: capital letters and then digits")
	case !slices.Contains(Classes(), r.Class):
		return fmt.Errorf("class %q is not known", r.Class)
	case r.Level != Block && r.Level != Warn && r.Level != Info:
		return fmt.Errorf("level %q: one of block, warn, info", r.Level)
	case len(r.Any) == 0 || r.Why == "":
		return errors.New("any and why are needed")
	case len(r.Match) == 0 || len(r.NoMatch) == 0:
		return errors.New("match and no_match are needed")
	}
	for _, set := range []struct {
		words []string
		to    *place
	}{{r.Where, &r.where}, {r.Softer, &r.softer}} {
		for _, w := range set.words {
			p, ok := places()[w]
			if !ok {
				return fmt.Errorf("place %q is not known", w)
			}
			*set.to |= p
		}
	}
	if len(r.Where) == 0 {
		r.where = anywhere
	}
	for _, set := range []struct {
		from []string
		to   *[]int
	}{{r.Any, &r.any}, {r.All, &r.all}, {r.Not, &r.not}, {r.Except, &r.except}, {r.Lower, &r.lowers}} {
		for _, source := range set.from {
			i, err := l.index(source)
			if err != nil {
				return err
			}
			*set.to = append(*set.to, i)
		}
	}
	return nil
}

// build compiles what was read, without the rules of these ids.
func (l *loader) build(without []string) (*ruleSet, error) {
	for _, id := range without {
		if !slices.ContainsFunc(l.rules, func(r rule) bool { return r.ID == id }) && !slices.ContainsFunc(built(), func(b builtRule) bool { return b.id == id }) {
			return nil, fmt.Errorf("rule %q is not known", id)
		}
	}
	s := &ruleSet{}
	for _, r := range l.rules {
		if slices.Contains(without, r.ID) {
			continue
		}
		if err := l.resolve(&r); err != nil {
			return nil, fmt.Errorf("rule %q: %w", r.ID, err)
		}
		s.rules = append(s.rules, r)
	}
	ids, texts := map[string]int{}, []string{}
	for _, w := range l.sources {
		p := pattern{source: w.source, weight: 128 + w.size, expr: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(w.source) })}
		for _, list := range w.lists {
			var need []int
			for _, text := range list {
				id, ok := ids[text]
				if !ok {
					id = len(texts)
					ids[text], texts = id, append(texts, text)
					s.holders = append(s.holders, nil)
				}
				need = append(need, id)
			}
			p.need = append(p.need, need)
		}
		for _, id := range slices.Compact(slices.Sorted(slices.Values(p.need[0]))) {
			s.holders[id] = append(s.holders[id], len(s.patterns))
		}
		s.patterns = append(s.patterns, p)
	}
	for i := range s.rules {
		r := &s.rules[i]
		for _, p := range slices.Concat(r.any, r.all, r.not, r.except, r.lowers) {
			s.patterns[p].where |= r.where
		}
	}
	s.auto = newAutomaton(texts)
	sum := sha256.Sum256(append(l.sum, strings.Join(without, ",")...))
	s.digest = "sha256:" + hex.EncodeToString(sum[:])
	return s, nil
}
