package registry_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deftskills/deft/internal/casetest"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// setup says how a story starts; the zero value is a trusted project with every client.
type setup struct {
	cwd     string // "" = tree/project
	sources []string
	trust   registry.ProjectTrust // "" = always
	only    bool
}

func env(c casetest.Case, cwd string) source.Env {
	return source.Env{
		Workspace: cwd, Home: c.Home, DataDir: filepath.Join(c.Dir, "data"), OS: "linux", External: true,
	}
}

func open(t *testing.T, c casetest.Case, s setup) (*registry.Registry, source.Env) {
	t.Helper()
	if s.cwd == "" {
		s.cwd = c.Project
	}
	if s.trust == "" {
		s.trust = registry.ProjectAlways
	}
	e := env(c, s.cwd)
	srcs, diags := source.Expand(t.Context(), s.sources, e)
	if !s.only {
		roots, more := source.Roots(t.Context(), e)
		srcs, diags = append(srcs, roots...), append(diags, more...)
	}
	r, err := registry.Open(t.Context(), registry.Config{
		Sources: srcs, Diagnostics: diags, Trust: s.trust, Workspace: s.cwd,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, e
}

func winners(s *registry.Snapshot) []string {
	var out []string
	for _, r := range s.Winners {
		out = append(out, r.Address)
	}
	return out
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, ok := got.([]string); ok {
		if slices.Equal(g, want.([]string)) {
			return
		}
	} else if got == want {
		return
	}
	t.Errorf("%s = %v, want %v", what, got, want)
}

func codesOf(ds []skill.Diagnostic) []string {
	var out []string
	for _, d := range ds {
		out = append(out, d.Code)
	}
	return out
}

// at returns the diagnostics of a code, each of which must have a place, a message
// and a fix.
func at(t *testing.T, ds []skill.Diagnostic, code string) []skill.Diagnostic {
	t.Helper()
	var out []skill.Diagnostic
	for _, d := range ds {
		if d.File == "" || d.Message == "" || d.Code == "" {
			t.Errorf("diagnostic %+v lacks its place or message", d)
		}
		if d.Code == code {
			out = append(out, d)
		}
	}
	return out
}

func lookup(t *testing.T, s *registry.Snapshot, sel string) *registry.Record {
	t.Helper()
	r, err := s.Lookup(sel)
	if err != nil {
		t.Fatalf("Lookup(%q): %v", sel, err)
	}
	return r
}

func TestCase016HeaderNameWinsAndTheFolderNameStillFindsIt(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "016")
	r, _ := open(t, c, setup{})
	s := r.Snapshot()
	want(t, "winners", winners(s), []string{"mailer", "send-mail"})
	if !slices.Contains(codesOf(lookup(t, s, "mailer").Skill.Diagnostics), "name_directory") {
		t.Error("no warning about the mismatch")
	}
	want(t, "send-mail", lookup(t, s, "send-mail").Dir, filepath.Join(c.Project, ".claude/skills/other"))

	if err := os.RemoveAll(filepath.Join(c.Project, ".claude")); err != nil {
		t.Fatal(err)
	}
	s, err := r.Refresh(t.Context(), registry.RefreshOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "send-mail without its owner", lookup(t, s, "send-mail").Skill.Name, "mailer")
}

func TestCase020VariantsOfTheFileNameAreRead(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "020")
	r, _ := open(t, c, setup{})
	s := r.Snapshot()
	want(t, "winners", winners(s), []string{"lower", "title"})
	for _, n := range []string{"lower", "title"} {
		if len(at(t, lookup(t, s, n).Skill.Diagnostics, "file_name")) != 1 {
			t.Errorf("%s has no file_name warning", n)
		}
		if l, err := source.Load(t.Context(), lookup(t, s, n).Entry); err != nil || l.Body == "" {
			t.Errorf("load %s: %v", n, err)
		}
	}
	want(t, "explain lower", s.Explain("lower").Reasons[0].Code, "case")
}

func TestCase021WalkUpEndsAtTheRepository(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "021")
	r, _ := open(t, c, setup{cwd: filepath.Join(c.Project, "apps/web/src")})
	s := r.Snapshot()
	want(t, "winners", winners(s), []string{"root-skill", "shared", "web-skill"})
	want(t, "shared", lookup(t, s, "shared").Skill.Description, "From web.")
	if why := s.Explain("shared").Reasons[0]; why.Code != "shadowed" || !strings.Contains(why.Message, "nearness") {
		t.Errorf("explain shared: %+v", why)
	}
}

func TestCase022TheNearestRepositoryIsTheBoundary(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "022")
	for cwd, only := range map[string]string{"vendored": "inner-skill", "wt": "wt-skill", ".": "outer-skill"} {
		r, _ := open(t, c, setup{cwd: filepath.Join(c.Project, cwd)})
		want(t, cwd, winners(r.Snapshot()), []string{only})
	}
	r, _ := open(t, c, setup{cwd: filepath.Join(c.Project, "vendored"), sources: []string{"../.agents/skills"}})
	want(t, "with the outer folder", winners(r.Snapshot()), []string{"inner-skill", "outer-skill"})
}

func TestCase024GroupFoldersAreInformation(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "024")
	r, _ := open(t, c, setup{})
	s := r.Snapshot()
	want(t, "winners", winners(s), []string{"cut-tag", "deep", "notes", "spec-first"})
	want(t, "group of cut-tag", lookup(t, s, "cut-tag").Group, "release")
	want(t, "group of deep", lookup(t, s, "deep").Group, "a/b/c")
	want(t, "winner of notes", lookup(t, s, "notes").Group, "quality")
	deep := at(t, s.Diagnostics, "too_deep")
	if len(deep) != 1 || !strings.HasSuffix(deep[0].File, "too-deep/SKILL.md") {
		t.Errorf("too_deep: %+v", deep)
	}
	if d := at(t, s.Diagnostics, "copies_differ"); len(d) != 1 {
		t.Errorf("copies_differ: %+v", d)
	}
	want(t, "explain", s.Explain("too-deep").Reasons[0].Code, "too_deep")
	var notes int
	for _, rec := range s.All {
		if rec.Skill.Name == "notes" {
			notes++
			want(t, "lookup of "+rec.Address, lookup(t, s, rec.Address), rec)
		}
	}
	want(t, "visible notes", notes, 2)
}

func TestCase025ASkillEndsTheDescent(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "025")
	r, _ := open(t, c, setup{})
	s := r.Snapshot()
	want(t, "winners", winners(s), []string{"minimal", "page-designer"})
	want(t, "minimal", lookup(t, s, "minimal").Source.Kind, source.User)
	pd := lookup(t, s, "page-designer").Entry
	files, err := source.Resources(t.Context(), pd)
	if err != nil || len(files) != 2 || files[0].Path != "references/styles/minimal/SKILL.md" {
		t.Errorf("resources: %v %v", files, err)
	}
	e := s.ExplainWith(t.Context(), "retro", source.Look)
	want(t, "explain retro", e.Reasons[0].Code, "nested")
}

func TestCase026TwoProjectsInOneProcess(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "026")
	var group sync.WaitGroup
	for range 4 {
		for _, p := range []string{"a", "b"} {
			group.Go(func() {
				r, _ := open(t, c, setup{cwd: c.Path("project-" + p)})
				want(t, p, winners(r.Snapshot()), []string{"everywhere", "only-" + p})
			})
		}
	}
	group.Wait()
}

func TestCase027LinkedSkillFolders(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "027")
	r, _ := open(t, c, setup{})
	s := r.Snapshot()
	want(t, "winners", winners(s), []string{"linked", "relative"})
	want(t, "dangling", len(at(t, s.Diagnostics, "dangling")), 1)
	want(t, "to-file", len(at(t, s.Diagnostics, "link_not_directory")), 1)
	for _, w := range s.Winners {
		if l, err := source.Load(t.Context(), w.Entry); err != nil || l.Drift || l.Body == "" {
			t.Errorf("load %s: %+v %v", w.Address, l, err)
		}
	}
	want(t, "explain", s.Explain("dangling").Reasons[0].Code, "dangling")
}

func TestCase028LinkedSkillFile(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "028")
	r, _ := open(t, c, setup{trust: registry.ProjectAsk})
	s := r.Snapshot()
	want(t, "winners", winners(s), []string{"filelink"})
	e := lookup(t, s, "filelink").Entry
	want(t, "base directory", e.Dir, filepath.Join(c.Home, ".agents/skills/filelink"))
	if l, err := source.Load(t.Context(), e); err != nil || l.Drift || l.Body == "" {
		t.Errorf("load: %+v %v", l, err)
	}
	files, err := source.Resources(t.Context(), e)
	if err != nil || len(files) != 1 || files[0].Path != "references/own.md" {
		t.Errorf("resources: %v %v", files, err)
	}
	out := at(t, s.Diagnostics, "link_outside")
	if len(out) != 1 || !strings.Contains(out[0].File, "sneaky") {
		t.Errorf("link_outside: %+v", out)
	}
	want(t, "explain", s.Explain("sneaky").Reasons[0].Code, "link_outside")
}

func TestCase029LinkCyclesEndAndListOnce(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "029")
	r, _ := open(t, c, setup{})
	s := r.Snapshot()
	want(t, "winners", winners(s), []string{"a", "b", "demo"})
	want(t, "records", len(s.All), 3)
}

func TestCase030LinksBetweenRoots(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "030")
	r, _ := open(t, c, setup{sources: []string{"user=" + filepath.Join(c.Home, ".host/skills")}})
	s := r.Snapshot()
	want(t, "winners", winners(s), []string{"shared"})
	want(t, "records", len(s.All), 1)
	for range 2 {
		out := at(t, s.Diagnostics, "link_outside")
		if len(out) != 1 || !strings.Contains(out[0].Message, "outside/evil") {
			t.Errorf("link_outside: %+v", out)
		}
		var err error
		if s, err = r.Refresh(t.Context(), registry.RefreshOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCase031OneFileInTwoRootsIsOneSkill(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "031")
	for _, trust := range []registry.ProjectTrust{registry.ProjectAlways, registry.ProjectAsk} {
		r, _ := open(t, c, setup{trust: trust})
		s := r.Snapshot()
		want(t, "winners", winners(s), []string{"diagram"})
		want(t, "records", len(s.All), 1)
		d := s.All[0]
		want(t, "losers", len(d.Losers), 0)
		want(t, "aliases", d.Aliases, []string{filepath.Join(c.Project, ".claude/skills/diagram")})
		want(t, "by the other path", lookup(t, s, filepath.Join(c.Project, ".claude/skills/diagram/SKILL.md")), d)
	}
}

func TestCase032ProjectOverUser(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "032")
	r, _ := open(t, c, setup{})
	s := r.Snapshot()
	bench := lookup(t, s, "bench")
	want(t, "kind", bench.Source.Kind, source.Project)
	want(t, "losers", len(bench.Losers), 1)
	loser := bench.Losers[0]
	for _, sel := range []string{"bench@user", "bench@user-cc", loser.Dir, loser.Location, filepath.Join(loser.Dir, "SKILL.md")} {
		want(t, sel, lookup(t, s, sel), loser)
	}
	want(t, "project", lookup(t, s, "bench@project"), bench)
	why := s.Explain("bench").Reasons[0]
	if why.Code != "shadowed" || !strings.Contains(why.Message, bench.Dir) || !strings.Contains(why.Message, loser.Dir) {
		t.Errorf("explain: %+v", why)
	}
	if _, err := s.Lookup("bench@nowhere"); err == nil || !strings.Contains(err.Error(), "user-cc") {
		t.Errorf("unknown origin: %v", err)
	}
}

func TestCase074AProjectNobodyTrustedIsWithheldAndNamed(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "074")
	r, _ := open(t, c, setup{trust: registry.ProjectAsk})
	s := r.Snapshot()
	want(t, "winners", winners(s), []string{"own"})
	helper := lookup(t, s, "helper")
	want(t, "state", helper.State, registry.Untrusted)
	if _, err := s.LookupForModel("helper"); err == nil || strings.Contains(err.Error(), "did you mean helper") {
		t.Errorf("a model learns of a withheld skill: %v", err)
	}
	e := s.Explain("helper")
	want(t, "explain", e.Reasons[0].Code, "untrusted")
	trusted, _ := open(t, c, setup{})
	want(t, "after trust", winners(trusted.Snapshot()), []string{"helper", "own"})
	want(t, "its trust", lookup(t, trusted.Snapshot(), "helper").Source.Trust, source.Workspace)
	want(t, "pwned", len(c.Pwned(t)), 0)
}

func TestCase075SourcesOfAProjectStayInIt(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "075")
	e := env(c, c.Project)
	e.Project = true
	srcs, diags := source.Expand(t.Context(), []string{"extra-inside", "../outside", "~/.ssh"}, e)
	if len(srcs) != 2 { // ~ is no home directory in a project's settings, but a name
		t.Fatalf("sources: %d", len(srcs))
	}
	want(t, "codes", codesOf(diags), []string{"root_outside_project"})
	for _, trust := range []registry.ProjectTrust{registry.ProjectAsk, registry.ProjectAlways} {
		r, err := registry.Open(t.Context(), registry.Config{Sources: srcs, Diagnostics: diags, Trust: trust})
		if err != nil {
			t.Fatal(err)
		}
		var wantWin []string
		if trust == registry.ProjectAlways {
			wantWin = []string{"one"}
		}
		want(t, string(trust), winners(r.Snapshot()), wantWin)
	}
}

func TestCase076VendorFoldersAreNotOpened(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "076")
	r, _ := open(t, c, setup{})
	s := r.Snapshot()
	want(t, "winners", winners(s), []string{"real"})
	want(t, "files read", s.Metrics.FilesRead, 1)
}

func TestCase077UnchangedFilesAreReadOnce(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "077")
	e := env(c, c.Project)
	clock := laterClock()
	e.Now = clock
	srcs, _ := source.Roots(t.Context(), e)
	r, err := registry.Open(t.Context(), registry.Config{Sources: srcs, Trust: registry.ProjectAlways, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	s := r.Snapshot()
	want(t, "first scan", s.Metrics.FilesRead, 2)
	again, err := r.Refresh(t.Context(), registry.RefreshOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "read again", again.Metrics.FilesRead, 0)
	want(t, "version", again.Version, s.Version)
	if err := os.WriteFile(filepath.Join(c.Project, ".agents/skills/ok/SKILL.md"), []byte("---\nname: ok\ndescription: New words.\n---\nB\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	changed, err := r.Refresh(t.Context(), registry.RefreshOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "read after a change", changed.Metrics.FilesRead, 1)
	want(t, "version after a change", changed.Version, s.Version+1)
	want(t, "text", lookup(t, changed, "ok").Skill.Description, "New words.")
}

func TestCase077SimultaneousRefreshesShareOneScan(t *testing.T) {
	t.Parallel()
	src := &slowSource{Source: source.Data(nil, source.DataOptions{}), started: make(chan struct{}, 16), release: make(chan struct{}, 16)}
	src.release <- struct{}{}
	r, err := registry.Open(t.Context(), registry.Config{Sources: []source.Source{src}})
	if err != nil {
		t.Fatal(err)
	}
	<-src.started
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Refresh(t.Context(), registry.RefreshOptions{})
	}()
	<-src.started // the first is inside its scan: the others join it
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() {
			if _, err := r.Refresh(cancelled, registry.RefreshOptions{}); err == nil {
				t.Error("a cancelled caller waited for the scan of another")
			}
		})
	}
	group.Wait()
	src.release <- struct{}{}
	<-done
	want(t, "further scans", len(src.started), 0)
}

func TestCase080EveryAbsenceHasOneReason(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "080")
	r, e := open(t, c, setup{})
	s := r.Snapshot()
	look := func(ctx context.Context, name string, places []source.Place) []source.Skipped {
		return source.Look(ctx, name, append(places, source.ClientPlaces(e, r.Sources())...))
	}
	for name, place := range map[string][2]string{
		"case":      {"case", "case/skill.MD"},
		"yaml":      {"yaml", "yaml/SKILL.md:"},
		"shadowed":  {"shadowed", c.Project},
		"manual":    {"manual", "disable-model-invocation"},
		"dangling":  {"dangling", "gone"},
		"too-deep":  {"too_deep", "too-deep/SKILL.md"},
		"elsewhere": {"elsewhere", ".cursor/skills/elsewhere"},
	} {
		why := s.ExplainWith(t.Context(), name, look)
		want(t, name, why.Reasons[0].Code, place[0])
		if !strings.Contains(why.Reasons[0].Message, place[1]) || why.Reasons[0].Fix == "" {
			t.Errorf("%s: %+v does not name %q or a fix", name, why.Reasons[0], place[1])
		}
	}
	gone := s.ExplainWith(t.Context(), "manul", look)
	want(t, "unknown", gone.Reasons[0].Code, "unknown")
	want(t, "close names", gone.Suggestions, []string{"manual"})
	if !strings.Contains(gone.Reasons[0].Message, filepath.Join(c.Home, ".claude/skills")) {
		t.Errorf("roots are not named: %v", gone.Reasons[0])
	}
	if close := s.Explain("shadowd"); !slices.Contains(close.Suggestions, "shadowed") {
		t.Errorf("suggestions: %v", close.Suggestions)
	}
}

func TestCase081OriginsSelect(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "081")
	r, _ := open(t, c, setup{})
	s := r.Snapshot()
	project, user := lookup(t, s, "stats@project"), lookup(t, s, "stats@user")
	want(t, "bare", lookup(t, s, "stats"), project)
	want(t, "user", user.Skill.Description, "Home stats.")
	want(t, "path", lookup(t, s, "./.agents/skills/stats/"), project)
	want(t, "path of the loser", lookup(t, s, user.Dir), user)
	_, err := s.Lookup("stats@moon")
	var unknown *registry.UnknownError
	if !asUnknown(err, &unknown) || len(unknown.Origins) != 2 {
		t.Errorf("unknown origin: %v", err)
	}
}
