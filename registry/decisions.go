package registry

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Decider gives what persons and the host decided, as it stands now. It is asked at
// the start of every refresh and must be safe for concurrent use. What cannot be read
// is a diagnostic of the Decisions, and counts as not decided.
type Decider interface {
	Decide(ctx context.Context) Decisions
}

// Versioned is a Decider that says cheaply whether anything was decided since it was asked
// last, by whichever process. Where Version differs a turn waits for a refresh, also where
// a watcher sees every folder; a watcher asks at every poll.
type Versioned interface {
	Decider
	// Version returns a text that is another one after every change of the decisions. One
	// that cannot be told is "", and then nothing is newer.
	Version(ctx context.Context) string
}

// decidedSince says whether the decisions are others now than those the Snapshot is of.
func (r *Registry) decidedSince(ctx context.Context) bool {
	now := r.decidedAt(ctx)
	was, _ := r.version.Load().(string)
	return now != "" && now != was
}

// decidedAt is the version of the decisions now, "" where they have none.
func (r *Registry) decidedAt(ctx context.Context) string {
	if v, ok := r.c.Decider.(Versioned); ok {
		return v.Version(ctx)
	}
	return ""
}

// Decisions are decisions about skills and folders, as plain values of one moment.
// The zero value: nobody decided anything. Values that are in use are not changed.
type Decisions struct {
	Switches    Switches
	Folders     []Folder           // for SavedTrust
	Installed   []string           // resolved folders of skills that were brought in; for SavedTrust
	Grants      []Grant            // standing ones
	Bound       Bindings           // variables for the commands of skills
	Network     []string           // keys, as in Bindings, of skills whose commands may reach the network
	Diagnostics []skill.Diagnostic // of reading them; copied into the Snapshot
}

// Decide implements Decider: fixed decisions.
func (d Decisions) Decide(context.Context) Decisions { return d }

// Folder is a person's decision about the skills of exactly one resolved folder.
type Folder struct {
	Root    string
	Refused bool
}

// Grant says that a person granted one exact skill: that its code counts is judged by
// Tree where code would count; here it serves to see what grew since.
type Grant struct {
	Name, Source string       // as the skill was found
	Tree         skill.Digest // what was granted, byte for byte
	Tools        []string     // the tool list then
	Hooks        bool         // it had hooks then
}

// decide loads the decisions and asks again how far every source is trusted. It
// reports whether anything differs from the last refresh. Only the run in flight
// calls it.
func (r *Registry) decide(ctx context.Context) (changed bool) {
	if r.c.Decider != nil {
		now := r.c.Decider.Decide(ctx)
		changed = !reflect.DeepEqual(now, r.decisions)
		r.decisions = now
	}
	if r.c.Trust == nil {
		return changed
	}
	sources := slices.Clone(r.sources)
	for i, src := range slices.Concat(r.c.Sources, r.came.Sources) {
		info := src.Info()
		trust, why := r.c.Trust.Trust(ctx, info, nil)
		trust = atMost(info, trust)
		changed = changed || r.reasons[info.ID] != why
		r.reasons[info.ID] = why
		if trust == sources[i].Info().Trust {
			continue
		}
		// Entries hold the trust of their source: they are made anew.
		sources[i], r.listings[i], r.shown[i], changed = source.WithTrust(src, trust), nil, nil, true
	}
	r.mu.Lock()
	r.sources = sources
	r.mu.Unlock()
	return changed
}

// grants finds the standing grants of one skill.
type grants map[[2]string][]Grant

func grantsBy(list []Grant) grants {
	if len(list) == 0 {
		return nil
	}
	g := grants{}
	for _, x := range list {
		k := [2]string{x.Name, x.Source}
		g[k] = append(g[k], x)
	}
	return g
}

// grown returns why a granted skill has to be asked about again: it declares a tool or
// hooks that none of its grants covers. Scripts and commands in its text are judged by
// the digest of its tree, where they would run.
func (g grants) grown(r *Record) (Reason, bool) {
	given := g[[2]string{r.Skill.Name, r.Source.ID}]
	if len(given) == 0 || r.Source.Trust == source.Trusted {
		return Reason{}, false
	}
	m := &r.Skill.Meta
	var least []string
	for i, x := range given {
		var more []string
		for _, tool := range m.AllowedTools.Entries {
			if !slices.Contains(x.Tools, tool) {
				more = append(more, tool)
			}
		}
		if m.HasHooks && !x.Hooks {
			more = append(more, "hooks")
		}
		if len(more) == 0 {
			return Reason{}, false
		}
		if i == 0 || len(more) < len(least) {
			least = more
		}
	}
	by := strings.Join(least, ", ")
	return Reason{
		Code: "untrusted", Message: fmt.Sprintf("%s asks for more than it was granted: %s", place(r), by),
		Fix: "review it, then run deft trust " + r.Skill.Name, Path: place(r), By: by,
	}, true
}
