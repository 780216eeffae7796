package source_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/source"
)

func testEnv(top string) source.Env {
	return source.Env{
		Workspace: filepath.Join(top, "ws"), Home: filepath.Join(top, "home"), DataDir: filepath.Join(top, "data"),
		OS: "linux", External: true, Getenv: func(name string) string {
			if name == "SKILLS" {
				return filepath.Join(top, "elsewhere")
			}
			return ""
		},
	}
}

func TestPathForms(t *testing.T) {
	t.Parallel()
	top := tempDir(t)
	addSkill(t, top, "ws/pack/one")
	addSkill(t, top, "ws/pack/two")
	addSkill(t, top, "ws/pack/two/inner/nested")
	addSkill(t, top, "ws/vendor/x/vendored")
	addSkill(t, top, "ws/node_modules/dep/hidden")
	addSkill(t, top, "home/mine")
	addSkill(t, top, "elsewhere/there")
	write(t, filepath.Join(top, "ws/lower/skill.md"), text("lower"))
	write(t, filepath.Join(top, "ws/file.txt"), "x")
	link(t, filepath.Join(top, "elsewhere"), filepath.Join(top, "ws/pack/linked"))
	e := testEnv(top)
	for _, c := range []struct {
		form, skills, codes string
		kind                source.Kind
	}{
		{"pack", "one two", "link_outside", source.Project},
		{"pack/", "one two", "link_outside", source.Project},
		{"./pack/one", "one", "", source.Project},
		{"pack/one/SKILL.md", "one", "", source.Project},
		{"pack/one/skill.md", "", "path_missing", source.Project},
		{"low*/SKILL.md", "lower", "", source.Project},
		{"lower", "lower", "", source.Project},
		{"pack/*", "one two", "link_outside", source.Project},
		{"pack/**/SKILL.md", "nested one two", "", source.Project},
		{"pack/{one,two}", "one two", "", source.Project},
		{"**/SKILL.md", "lower nested one two vendored", "", source.Project},
		{"user=pack/*", "one there two", "", source.User},
		{"vendor/x", "vendored", "", source.Package},
		{"~/mine", "mine", "", source.Project},
		{"$SKILLS", "there", "", source.Project},
		{"${SKILLS}/there", "there", "", source.Project},
		{"$NOPE/x", "", "path_variable", ""},
		{"absent", "", "path_missing", source.Project},
		{"file.txt", "", "path_missing", source.Project},
		{"", "", "path_missing", ""},
		{"a\x00b", "", "path_missing", ""},
		{"pack/[", "", "path_glob", source.Project},
	} {
		srcs, diags := source.Expand(t.Context(), []string{c.form, c.form}, e)
		var got []string
		for i, s := range srcs {
			if i > 0 {
				t.Errorf("%s: one form twice is two sources", c.form)
			}
			if s.Info().Kind != c.kind {
				t.Errorf("%s: kind %s, want %s", c.form, s.Info().Kind, c.kind)
			}
			l := scan(t, s)
			diags = append(diags, l.Diagnostics...)
			got = append(got, dirNames(l)...)
			for _, en := range l.Entries {
				if _, err := source.Load(t.Context(), en); err != nil {
					t.Errorf("%s: load: %v", c.form, err)
				}
			}
		}
		gotCodes := slices.Compact(codes(diags))
		if strings.Join(got, " ") != c.skills || strings.Join(gotCodes, " ") != c.codes {
			t.Errorf("%q: skills %q codes %q, want %q %q", c.form, got, gotCodes, c.skills, c.codes)
		}
	}
}

func TestAMissingAbsolutePathNamesTheRelativeOne(t *testing.T) {
	t.Parallel()
	top := tempDir(t)
	addSkill(t, top, "ws/skills-of-mine/a")
	srcs, _ := source.Expand(t.Context(), []string{"/skills-of-mine"}, testEnv(top))
	l := scan(t, srcs[0])
	if len(l.Diagnostics) != 1 || l.Diagnostics[0].Fix != `did you mean "skills-of-mine"?` {
		t.Errorf("diagnostics: %+v", l.Diagnostics)
	}
}

func TestAProjectCannotRaiseItsOwnSources(t *testing.T) {
	t.Parallel()
	top := tempDir(t)
	e := testEnv(top)
	e.Project = true
	for _, form := range []string{"managed=skills", "user=skills", "skills", "vendor/skills"} {
		srcs, _ := source.Expand(t.Context(), []string{form}, e)
		if i := srcs[0].Info(); i.Trust != source.Pending || i.Links != source.LinksStay || i.Kind != source.Project && i.Kind != source.Package {
			t.Errorf("%s: %+v", form, i)
		}
	}
}

func TestAPathMayAppearLater(t *testing.T) {
	t.Parallel()
	top := tempDir(t)
	srcs, _ := source.Expand(t.Context(), []string{"late"}, testEnv(top))
	equal(t, "before", dirNames(scan(t, srcs[0])), nil)
	addSkill(t, top, "ws/late/a")
	equal(t, "after", dirNames(scan(t, srcs[0])), []string{"a"})
}

func TestGlobsAreBounded(t *testing.T) {
	t.Parallel()
	top := tempDir(t)
	deep := "ws"
	for range 15 {
		deep += "/d"
	}
	addSkill(t, top, deep)           // its file is component 16
	addSkill(t, top, deep+"/toofar") // 17
	e := testEnv(top)
	srcs, _ := source.Expand(t.Context(), []string{"**/SKILL.md", "{a,b}{c,d}{e,f}/*"}, e)
	l := scan(t, srcs[0])
	if len(l.Entries) != 1 {
		t.Errorf("skills: %q", dirNames(l))
	}
	e.Limits = limits.Scan{Braces: 7, Directories: 3}
	srcs, _ = source.Expand(t.Context(), []string{"**/SKILL.md", "{a,b}{c,d}{e,f}/*"}, e)
	equal(t, "directories", codes(scan(t, srcs[0]).Diagnostics), []string{"limit_walk"})
	equal(t, "braces", codes(scan(t, srcs[1]).Diagnostics), []string{"path_glob"})
}

func ids(srcs []source.Source) []string {
	var out []string
	for _, s := range srcs {
		out = append(out, s.Info().ID)
	}
	return out
}

func TestTheRootTable(t *testing.T) {
	t.Parallel()
	top := tempDir(t)
	write(t, filepath.Join(top, "ws/.git"), "gitdir: x")
	e := testEnv(top)
	e.Workspace = filepath.Join(top, "ws", "sub")
	ws, sub := filepath.Join(top, "ws"), e.Workspace
	srcs, diags := source.Roots(t.Context(), e)
	if len(diags) != 0 {
		t.Errorf("diagnostics: %v", diags)
	}
	want := []string{"managed"}
	for _, id := range []string{"workspace-deft", "workspace-minimax", "workspace-cc", "workspace-agents", "workspace-codex"} {
		want = append(want, id+":"+sub, id+":"+ws)
	}
	equal(t, "ids", ids(srcs), append(want, "agent-user:main", "user-deft", "user-cc", "user-codex", "user-agents", "user-minimax"))
	for _, s := range srcs {
		i := s.Info()
		if (i.Kind == source.Project) != (i.Trust == source.Pending) || !filepath.IsAbs(i.Path) || i.Origin == "" {
			t.Errorf("%+v", i)
		}
		if strings.HasSuffix(i.ID, ":"+ws) && i.Nearness != 1 {
			t.Errorf("%s: nearness %d", i.ID, i.Nearness)
		}
	}
	e.External = false
	srcs, _ = source.Roots(t.Context(), e)
	equal(t, "native ids", ids(srcs), []string{"managed", "workspace-deft:" + sub, "workspace-deft:" + ws, "agent-user:main", "user-deft"})
}

func TestRootsFollowTheEnvironment(t *testing.T) {
	t.Parallel()
	top := tempDir(t)
	e := testEnv(top)
	p := 99.5
	e.Agent, e.OS, e.NoWalkUp = "reviewer", "windows", true
	e.Clients = []string{"cursor", "nobody"}
	e.Overrides = map[string]source.Override{"user-claude": {Off: true}, "user-codex": {Priority: &p}}
	e.Getenv = func(name string) string {
		return map[string]string{"CODEX_HOME": "/codex", "ProgramData": "/pd"}[name]
	}
	srcs, diags := source.Roots(t.Context(), e)
	equal(t, "codes", codes(diags), []string{"client_unknown"})
	got := map[string]source.Info{}
	for _, s := range srcs {
		got[s.Info().ID] = s.Info()
	}
	if got["managed"].Path != "/pd/deft/skills" || got["user-codex"].Path != "/codex/skills" || got["user-codex"].Priority != p {
		t.Errorf("managed %+v codex %+v", got["managed"], got["user-codex"])
	}
	if _, on := got["user-cc"]; on {
		t.Error("a root that is off is there")
	}
	if got["agent-user:reviewer"].Agent != "reviewer" {
		t.Errorf("agent root: %+v", got)
	}
	cursor := got["client:cursor:"+filepath.Join(e.Home, ".cursor/skills")]
	if cursor.Kind != source.User || cursor.Priority != 10 || cursor.Client != "cursor" {
		t.Errorf("cursor: %+v", cursor)
	}
}

func TestAUserRootInTheWalkIsTheUsers(t *testing.T) {
	t.Parallel()
	top := tempDir(t)
	e := testEnv(top)
	e.Workspace = e.Home
	addSkill(t, top, "home/.claude/skills/a")
	srcs, _ := source.Roots(t.Context(), e)
	for _, s := range srcs {
		if i := s.Info(); i.Path == filepath.Join(e.Home, ".claude/skills") && i.Kind != source.User {
			t.Errorf("%+v", i)
		}
	}
}

func TestLevelsEndWhereTheyShould(t *testing.T) {
	t.Parallel()
	top := tempDir(t)
	for _, d := range []string{"home/repo/.git/x", "home/repo/a/b/x", "home/plain/sub/x", "ceil/.git/x", "ceil/in/deep/x"} {
		write(t, filepath.Join(top, d), "")
	}
	at := func(p string) string { return filepath.Join(top, p) }
	for _, c := range []struct {
		ws   string
		want []string
	}{
		{at("home/repo/a/b"), []string{at("home/repo/a/b"), at("home/repo/a"), at("home/repo")}},
		{at("home/repo"), []string{at("home/repo")}},
		{at("home/plain/sub"), []string{at("home/plain/sub")}},
		{at("home"), []string{at("home")}},
		{at("ceil/in/deep"), []string{at("ceil/in/deep")}},
		{"", nil},
	} {
		e := testEnv(top)
		e.Workspace, e.Ceilings = c.ws, []string{at("ceil")}
		equal(t, c.ws, source.Levels(e), c.want)
	}
}

func TestClientListIsWellFormed(t *testing.T) {
	t.Parallel()
	rows := source.ClientDirs()
	if len(rows) < 300 {
		t.Errorf("%d rows", len(rows))
	}
	seen := map[source.ClientDir]bool{}
	for _, r := range rows {
		if seen[r] || r.Client == "" || r.Scope == "" || r.Dir == "" && r.Scope != "none" {
			t.Errorf("row %+v is twice or lacks a column", r)
		}
		seen[r] = true
		if !strings.HasPrefix(r.Notes, "read") && !strings.HasPrefix(r.Notes, "install target") && !strings.HasPrefix(r.Notes, "none") {
			t.Errorf("notes of %+v", r)
		}
	}
}

func FuzzPathForms(f *testing.F) {
	for _, s := range []string{"skills", "/abs/x", "user=~/x", "$A/b", "${A}/b", "${A", "$", "a/**/SKILL.md", "{a,{b,c}}", "[x", "..", "../..", "\\", "a\x00", "package=node_modules/x", "=x"} {
		f.Add(s)
	}
	top := tempDir(f)
	addSkill(f, top, "ws/a")
	e := testEnv(top)
	e.Limits = limits.Scan{Directories: 50, Skills: 50}
	e.Project = true // forms of a project: nothing outside of it is walked
	f.Fuzz(func(t *testing.T, form string) {
		srcs, diags := source.Expand(t.Context(), []string{form}, e)
		if len(srcs) == 0 && len(diags) == 0 {
			t.Fatalf("%q vanished", form)
		}
		for _, s := range srcs {
			if scan(t, s); s.Info().Trust != source.Pending {
				t.Fatalf("%q: a project's source is %s", form, s.Info().Trust)
			}
		}
	})
}
