package deft

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// The kinds of entries that package deft adds to a transcript.
const (
	entryCatalog = "catalog" // how the list of skills is shown
	entryWork    = "work"    // the files that the newest turn touched
)

// fileEntry is a SKILL.md as it was when its skill was started: a session that goes on
// later keeps its text when the file has changed.
type fileEntry struct {
	Digest skill.Digest `json:"digest"`
	Raw    []byte       `json:"raw"`
}

// aside is what the session adds to its transcript.
func (s *Session) aside(ctx context.Context) []agent.Entry {
	var out []agent.Entry
	add := func(kind string, value any) {
		if src, err := json.Marshal(value); err == nil {
			out = append(out, agent.Entry{Kind: kind, Data: src})
		}
	}
	if st, shown := s.shown.thread.State(); shown {
		add(entryCatalog, st)
	}
	if files := s.work.touched(); len(files) > 0 {
		add(entryWork, files)
	}
	for _, a := range s.inner.Layers().Session() {
		if a.Skill == nil || a.Skill.Record == nil {
			continue
		}
		rec := a.Skill.Record
		if s.filed == nil {
			s.filed = map[skill.Digest]bool{}
		}
		if digest := rec.Skill.File; !s.filed[digest] {
			s.filed[digest] = true
			if raw, ok := present(ctx, rec); ok {
				add(agent.EntryFile, fileEntry{digest, raw})
			}
		}
	}
	return out
}

// present reads the SKILL.md of a record, if it is still the one that was discovered.
func present(ctx context.Context, rec *registry.Record) ([]byte, bool) {
	l, err := source.Load(ctx, rec.Entry)
	if err != nil || l.Drift {
		return nil, false
	}
	return l.Raw, true
}

// keptFiles finds the bytes that a SKILL.md had.
func keptFiles(entries []json.RawMessage) func(file skill.Digest) ([]byte, bool) {
	return func(file skill.Digest) ([]byte, bool) {
		for _, src := range slices.Backward(entries) {
			var e fileEntry
			if json.Unmarshal(src, &e) == nil && e.Digest == file {
				return e.Raw, true
			}
		}
		return nil, false
	}
}

// goOn takes over what is said and shown in a conversation of a former process.
func (s *Session) goOn() error {
	t := s.o.Transcript
	if t == nil {
		return nil
	}
	var shown catalog.ThreadState
	if src := t.Aside[entryCatalog]; src != nil {
		if err := json.Unmarshal(src, &shown); err != nil {
			return fmt.Errorf("transcript: how the skills were shown: %w", err)
		}
		s.shown.thread.Restore(shown)
	}
	var files []string
	if src := t.Aside[entryWork]; src != nil {
		if err := json.Unmarshal(src, &files); err != nil {
			return fmt.Errorf("transcript: the files of its turns: %w", err)
		}
		s.work.restore(files)
	}
	return s.runner.Resume(s.inner.ID(), t)
}
