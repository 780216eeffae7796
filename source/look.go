package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Place is a directory that discovery does not read and explain may look at.
type Place struct {
	Path   string
	Code   string // the reason of a skill found there: elsewhere, source_off, agent_scope, plugin_off, ignored_directory, nested
	Client string // whose directory it is: a client, the id of a source, an agent, a plugin; "" = nobody's
}

// The bounds of one Look: it answers a person who waits.
const (
	lookTime  = 200 * time.Millisecond
	lookDirs  = 10_000
	lookDepth = 6
)

// Look searches places for a directory called name (any case) that holds a skill
// file, by names only: no file is opened, no link followed. It gives up after 200 ms
// or 10,000 directories.
func Look(ctx context.Context, name string, places []Place) []Skipped {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	l := looker{ctx: ctx, name: name, budget: lookDirs}
	for _, p := range places { // the usual spot of every place first, then what lies deeper
		if holdsSkill(filepath.Join(p.Path, name)) && filepath.IsLocal(name) {
			l.add(p, filepath.Join(p.Path, name))
		}
	}
	for _, p := range places {
		l.walk(p, p.Path, 0)
	}
	return l.found
}

type looker struct {
	ctx    context.Context
	name   string
	budget int
	found  []Skipped
}

func (l *looker) add(p Place, dir string) {
	for _, f := range l.found {
		if filepath.Dir(f.Path) == dir {
			return
		}
	}
	where := map[string]string{
		"elsewhere":         fmt.Sprintf("skill lies in a directory of %s, which is not a configured source", p.Client),
		"source_off":        fmt.Sprintf("skill lies in the directory of source %s, which is turned off", p.Client),
		"agent_scope":       fmt.Sprintf("skill belongs to the agent %q", p.Client),
		"plugin_off":        fmt.Sprintf("skill belongs to the plugin %q, which is turned off", p.Client),
		"ignored_directory": fmt.Sprintf("skill lies in %q, which is never searched", p.Path),
		"nested":            fmt.Sprintf("file lies inside the skill at %q and is private to it", p.Path),
	}[p.Code]
	l.found = append(l.found, Skipped{Name: filepath.Base(dir), Path: filepath.Join(dir, SkillFile), Code: p.Code, Message: where})
}

func (l *looker) walk(p Place, dir string, depth int) {
	if l.budget--; l.budget < 0 || l.ctx.Err() != nil || depth > lookDepth {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || (p.Code != "ignored_directory" && slices.Contains(ignored, e.Name())) {
			continue
		}
		child := filepath.Join(dir, e.Name())
		if strings.EqualFold(e.Name(), l.name) && holdsSkill(child) {
			l.add(p, child)
			continue
		}
		l.walk(p, child, depth+1)
	}
}

func holdsSkill(dir string) bool {
	st, err := os.Lstat(filepath.Join(dir, SkillFile))
	return err == nil && st.Mode().IsRegular()
}
