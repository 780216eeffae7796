package session

import (
	"cmp"
	"maps"
	"slices"
)

// Said is one message of a conversation, as Referenced reads it.
type Said struct {
	System bool // the host's own words, which name no file
	Text   string
	Wrote  []string // files that a tool wrote with it
}

// maxReferenced is how many files a conversation is about at most.
const maxReferenced = 5

// Referenced returns the files that a conversation is about, at most five: first those
// that a tool wrote, then those that are named most often, then the latest. Person and
// model count alike. Paths are as patterns are held against them: with slashes, without
// dots, relative within the workspace and absolute outside of it.
func Referenced(conversation []Said, workspace string) []string {
	type tally struct {
		wrote        bool
		mentions, at int
	}
	found, said := map[string]tally{}, 0
	note := func(p string, wrote bool) {
		if p = cleanPath(p, workspace); p == "" {
			return
		}
		f := found[p]
		said++
		found[p] = tally{f.wrote || wrote, f.mentions + 1, said}
	}
	for _, m := range conversation {
		for _, p := range m.Wrote {
			note(p, true)
		}
		if m.System {
			continue
		}
		for _, p := range PathWords(m.Text) {
			note(p, false)
		}
	}
	rank := func(f tally) int {
		if f.wrote {
			return 1
		}
		return 0
	}
	out := slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		x, y := found[a], found[b]
		return cmp.Or(rank(y)-rank(x), y.mentions-x.mentions, y.at-x.at)
	})
	return out[:min(maxReferenced, len(out))]
}

// Hears reports whether the dialect takes the files that a session works on from the
// whole conversation: then Hear wants it.
func (s *Session) Hears() bool { return s.own.hears }

// Hear brings skills within reach whose paths match a file that the conversation is
// about; see Referenced. It does nothing in dialects that do not hear.
func (s *Session) Hear(conversation []Said) {
	if s.own.hears {
		s.Touch(Referenced(conversation, s.o.ProjectDir)...)
	}
}
