package skill

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/internal/race"
)

// The corpus under each host's rules: files that pass, of all. A change of a number
// is a change of a verdict: look at the files that moved, then accept it here.
var corpusPasses = map[Profile]int{
	ProfileDeft: 1575, ProfileAgentskills: 862, ProfileClaudeAI: 848, ProfileCodex: 2185,
	ProfileClaudeCode: 2417, ProfileMastra: 1567, ProfileBlade: 1795, ProfilePluginStrict: 1591,
}

func TestCorpusVerdictsArePinned(t *testing.T) {
	t.Parallel()
	files := needCorpus(t, "skills-dev.tar.gz", "skills-oddities.tar.gz")
	for _, p := range Profiles() {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			passes := 0
			why := map[string]int{}
			for _, f := range files {
				dir := filepath.Base(filepath.Dir(f.path))
				r := Validate(Input{Source: f.src, Path: f.path, DirName: dir, FileName: filepath.Base(f.path)}, p)
				if r.OK {
					passes++
				}
				for _, d := range r.Diagnostics {
					if d.Level == LevelError {
						why[d.Code]++
					}
					if d.File == "" || d.Line == 0 || d.Message == "" {
						t.Errorf("%s: diagnostic without place or text: %+v", f.path, d)
					}
				}
			}
			t.Logf("%s: %d of %d pass, %.1f %%; %v", p, passes, len(files), 100*float64(passes)/float64(len(files)), why)
			if want := corpusPasses[p]; passes != want {
				t.Errorf("%s: %d pass, pinned %d", p, passes, want)
			}
		})
	}
}

// Every usable file goes out to the strict standard and comes back whole; a repair of
// it is stable; advice never panics.
func TestCorpusExportsRepairsAndLints(t *testing.T) {
	t.Parallel()
	valid, exported := 0, 0
	for i, f := range needCorpus(t, "skills-dev.tar.gz", "skills-oddities.tar.gz") {
		if race.Enabled && i%10 > 0 {
			continue
		}
		o := ParseOptions{Path: f.path, DirName: filepath.Base(filepath.Dir(f.path))}
		s := Parse(f.src, o)
		Lint(s, f.src[s.Body.Start:s.Body.End], LintOptions{Path: f.path})
		fixed, _ := Fix(f.src, s.Diagnostics)
		if again, more := Fix(fixed, Parse(fixed, o).Diagnostics); len(more) > 0 || !bytes.Equal(again, fixed) {
			t.Errorf("%s: a second repair changes the file: %+v", f.path, more)
		}
		if !s.Valid {
			continue
		}
		valid++
		out, _, _, err := Export(s, f.src, ProfileAgentskills)
		if err != nil {
			t.Errorf("%s: %v", f.path, err)
			continue
		}
		sameFields(t, f.path, s, Parse(out, o))
		fit, _, _, err := ExportWith(s, f.src, ProfileAgentskills, ExportOptions{Fix: true})
		if err != nil {
			t.Errorf("%s: %v", f.path, err)
			continue
		}
		r := Validate(Input{Source: fit}, ProfileAgentskills)
		if r.OK {
			exported++
		} else if !slices.ContainsFunc(r.Diagnostics, func(d Diagnostic) bool {
			return d.Code == "description_missing" || strings.HasPrefix(d.Code, "value_") || d.Code == "name_chars" || d.Code == "name_mark"
		}) {
			t.Errorf("%s: refused after export: %+v", f.path, r.Diagnostics)
		}
	}
	t.Logf("%d usable, %d of them pass agentskills after export --fix", valid, exported)
}
