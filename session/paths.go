package session

import (
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// pathDialects are those whose skills wait for a matching file; the others keep the
// patterns and do nothing with them. True: a pattern without a slash matches the base
// name of a path too.
var pathDialects = map[skill.Dialect]bool{
	"": true, skill.Deft: true, skill.ClaudeCode: true, skill.Blade: false,
}

// reach knows what a session worked on, and which skills that brought within reach. The
// zero value knows nothing.
type reach struct {
	mu      sync.Mutex
	files   []string        // the newest last
	dropped int             // older ones that made room
	changes uint64          // of all of it
	matched map[string]bool // by location: what was in reach once stays
	snap    *registry.Snapshot
	waiting []*waiting // the skills of snap with patterns
}

// waiting is a skill that is offered with certain files only.
type waiting struct {
	rec      *registry.Record
	patterns []pathPattern
	tried    int // files that were held against the patterns, dropped ones among them
}

// Touch says that files were read, written or named: absolute, or relative to the
// workspace. Skills whose paths match come within reach for the rest of the session.
func (s *Session) Touch(paths ...string) {
	if _, ok := pathDialects[s.o.Dialect]; !ok {
		return
	}
	s.reach.mu.Lock()
	defer s.reach.mu.Unlock()
	for _, p := range paths {
		s.reach.add(cleanPath(p, s.o.ProjectDir))
	}
}

// Touch is Session.Touch.
func (t *Turn) Touch(paths ...string) { t.s.Touch(paths...) }

func (r *reach) add(p string) {
	if p == "" {
		return
	}
	r.changes++
	if i := slices.Index(r.files, p); i >= 0 { // it has been tried; only its age changes
		r.settle()
		r.files = append(slices.Delete(r.files, i, i+1), p)
		return
	}
	if len(r.files) >= limits.TouchedFiles {
		r.settle() // before it goes
		r.files = slices.Delete(r.files, 0, 1)
		r.dropped++
	}
	r.files = append(r.files, p)
}

// settle holds what is new against the patterns of those still waiting.
func (r *reach) settle() {
	for _, w := range r.waiting {
		from := max(0, w.tried-r.dropped)
		w.tried = r.dropped + len(r.files)
		if !r.matched[w.rec.Location] && matchAny(w.patterns, r.files[min(from, len(r.files)):]) {
			r.keep(w.rec)
		}
	}
}

// saved is what restore takes.
func (r *reach) saved() (files, reached []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle()
	return slices.Clone(r.files), slices.Sorted(maps.Keys(r.matched))
}

func (r *reach) restore(files, reached []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range files {
		r.add(f)
	}
	for _, location := range reached {
		if r.matched == nil {
			r.matched = map[string]bool{}
		}
		r.matched[location] = true
	}
}

func (r *reach) keep(rec *registry.Record) {
	if r.matched == nil {
		r.matched = map[string]bool{}
	}
	r.matched[rec.Location] = true
	r.changes++
}

// Reach tells, by address, which skills with path conditions are within reach and which
// are away: not to be shown, found or started by a model. Both are nil where no skill of
// snap has patterns, and in dialects that ignore them.
func (s *Session) Reach(snap *registry.Snapshot) (matched, away map[string]bool) {
	base, ok := pathDialects[s.o.Dialect]
	if !ok {
		return nil, nil
	}
	r := &s.reach
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.snap != snap {
		r.snap, r.waiting = snap, nil
		for _, rec := range snap.Winners {
			if len(rec.Skill.Meta.Paths) == 0 {
				continue
			}
			patterns, _ := pathPatterns(rec.Skill.Meta.Paths, base)
			if len(patterns) > 0 || !blankPaths(rec.Skill.Meta.Paths) {
				r.waiting = append(r.waiting, &waiting{rec: rec, patterns: patterns})
			}
		}
	}
	if len(r.waiting) == 0 {
		return nil, nil
	}
	r.settle()
	matched, away = map[string]bool{}, map[string]bool{}
	for _, w := range r.waiting {
		if r.matched[w.rec.Location] {
			matched[w.rec.Address] = true
		} else {
			away[w.rec.Address] = true
		}
	}
	return matched, away
}

// checkPaths keeps a model from skills that wait for a file. A person and the host may
// start them; what was started once is within reach.
func checkPaths(_ context.Context, t *Turn, r Request, c *candidate) (*Refusal, error) {
	base, ok := pathDialects[t.s.o.Dialect]
	paths := c.rec.Skill.Meta.Paths
	if !ok || blankPaths(paths) {
		return nil, nil
	}
	if r.HasArgs {
		t.s.Touch(PathWords(r.Args)...)
	}
	patterns, diags := pathPatterns(paths, base)
	c.diags = append(c.diags, diags...)
	reach := &t.s.reach
	reach.mu.Lock()
	defer reach.mu.Unlock()
	person := r.Actor.chooses() || c.act.Actor == ActorUser
	if person || reach.matched[c.rec.Location] || matchAny(patterns, reach.files) {
		reach.keep(c.rec)
		return nil, nil
	}
	shown := join(paths)
	return &Refusal{
		Name: c.asked, Code: "skill_conditions", Needs: "paths: " + shown,
		Message: fmt.Sprintf("%q is for files that match %s; this session has touched none of them. Not loaded.", field(c.rec.Address), field(shown)),
		Fix:     "start it with /" + c.rec.Skill.Handle + ", or work on a file that matches",
	}, nil
}

func blankPaths(paths []string) bool {
	return !slices.ContainsFunc(paths, func(p string) bool { return strings.TrimSpace(p) != "" })
}

// pathPattern is one glob over clean paths.
type pathPattern struct {
	glob string
	base bool // it is held against the base name as well
}

// pathPatterns reads patterns. What cannot be read matches nothing and is told; the
// others count.
func pathPatterns(texts []string, base bool) (out []pathPattern, diags []skill.Diagnostic) {
	for i, text := range texts {
		text = strings.TrimSpace(text)
		p := pathPattern{glob: strings.TrimPrefix(text, "./"), base: base && !strings.Contains(text, "/")}
		p.glob = strings.TrimPrefix(p.glob, "/")
		if strings.HasSuffix(p.glob, "/") {
			p.glob += "**"
		}
		why := ""
		switch {
		case text == "":
			continue
		case i >= limits.PathPatterns:
			why = fmt.Sprintf("more than %d patterns", limits.PathPatterns)
		case len(text) > limits.PathPatternBytes:
			why = fmt.Sprintf("%d bytes, limit %d", len(text), limits.PathPatternBytes)
		case !doublestar.ValidatePattern(p.glob):
			why = "malformed"
		case braceForms(p.glob) > limits.PathBraces:
			why = fmt.Sprintf("its braces expand to more than %d", limits.PathBraces)
		default:
			out = append(out, p)
			continue
		}
		diags = append(diags, skill.Diagnostic{
			Code: "paths_pattern", Level: skill.LevelWarning, File: "SKILL.md", Offset: -1,
			Message: fmt.Sprintf("path pattern %q: %s; it matches nothing", field(text), why),
			Fix:     "write a glob such as src/**/*.go",
		})
	}
	return out, diags
}

// braceForms bounds from above what the braces of a pattern expand to: the product of
// the alternatives of each, whether they are nested or not.
func braceForms(glob string) int {
	total := 1
	var open []int
	for _, r := range glob {
		switch {
		case r == '{':
			open = append(open, 1)
		case r == ',' && len(open) > 0:
			open[len(open)-1]++
		case r == '}' && len(open) > 0:
			total *= open[len(open)-1]
			open = open[:len(open)-1]
		}
		if total > limits.PathBraces {
			break
		}
	}
	return total
}

func matchAny(patterns []pathPattern, files []string) bool {
	for _, p := range patterns {
		for _, f := range files {
			if doublestar.MatchUnvalidated(p.glob, f) || p.base && doublestar.MatchUnvalidated(p.glob, path.Base(f)) {
				return true
			}
		}
	}
	return false
}

// PathWords returns the words of a text that look like paths: those with a separator, an
// extension of 1 to 10 letters or digits, and "." and "..". Punctuation around a word is
// taken off; addresses with a scheme and a leading /name are none.
func PathWords(text string) []string {
	var out []string
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\r' })
	for i, w := range words {
		if i == 0 && strings.HasPrefix(w, "/") && !strings.ContainsAny(w[1:], "/.") {
			continue
		}
		w = strings.TrimLeft(w, "(\"'[<`")
		dots := w == "." || w == ".."
		if !dots {
			w = strings.TrimRight(w, ")\"'`]>,.:;!?")
		}
		if dots || w != "" && !strings.Contains(w, "://") && (strings.ContainsAny(w, `/\`) || hasExtension(w)) {
			out = append(out, w)
		}
	}
	return out
}

func hasExtension(word string) bool {
	dot := strings.LastIndexByte(word, '.')
	ext := word[dot+1:]
	if dot < 0 || len(ext) < 1 || len(ext) > 10 {
		return false
	}
	for _, c := range []byte(ext) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return false
		}
	}
	return true
}

// cleanPath returns a path as patterns are held against it: slashes, no dots, relative
// within the workspace and absolute outside of it. "" = none.
func cleanPath(p, workspace string) string {
	if p = strings.ReplaceAll(p, `\`, "/"); p == "" || strings.ContainsRune(p, 0) {
		return ""
	}
	p = path.Clean(p)
	if ws := path.Clean(filepath.ToSlash(workspace)); workspace != "" && ws != "/" {
		if p == ws {
			return "."
		}
		p = strings.TrimPrefix(p, ws+"/")
	}
	return p
}
