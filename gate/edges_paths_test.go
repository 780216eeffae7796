package gate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAFileThatLeadsElsewhereIsAnotherCall(t *testing.T) {
	t.Parallel()
	h := newRuleHouse(t, nil)
	move := func(to string) {
		link := filepath.Join(h.work, "src", "moves")
		_ = os.Remove(link)
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	hash := func(tool string) string {
		c := call(tool, `{"path":"src/moves/a"}`)
		c.Dir = h.work
		return h.gate.Explain(c).CallHash
	}
	move("../secret")
	write, read := hash("write"), hash("read")
	move("../../out")
	if write == hash("write") {
		t.Error("an answer about one file is one about another")
	}
	if read != hash("read") {
		t.Error("a file that is only read is no part of what is changed")
	}
}

func TestTiersHaveNames(t *testing.T) {
	t.Parallel()
	for tier := ReadOnly; tier <= ManualOnly; tier++ {
		if got, ok := ParseTier(tier.String()); got != tier || !ok {
			t.Errorf("%s is read as %s", tier, got)
		}
	}
	for _, text := range []string{"", "read_only", "1", "ALWAYS"} {
		if got, ok := ParseTier(text); ok || got != ManualOnly {
			t.Errorf("%q is %s", text, got)
		}
	}
}

func TestAStoreIsAskedWhereAGrantIsNeededAlone(t *testing.T) {
	t.Parallel()
	b := brokenStore{Memory: NewMemory(&memorySink{}), find: errors.New("gone")}
	g, _ := testGate(t, func(o *Options) { o.Grants, o.Now = b, at })
	for tool, code := range map[string]string{"skill": CodeReadOnly, "swap": CodeManualOnly, "send": CodeUnavailable, "nothing": CodeUnknownTool} {
		if d, _ := g.Check(t.Context(), jobCall(tool, "")); d.Code != code {
			t.Errorf("%s: %s, want %s", tool, d.Code, code)
		}
	}
	if d, _ := g.Check(t.Context(), call("send", "")); d.Code != CodeEachCall {
		t.Errorf("a question that no grant spares: %s", d.Code)
	}
}

// spentStore says of some grants that another caller had their last use.
type spentStore struct {
	*Memory
	spent []string
}

func (s spentStore) Use(ctx context.Context, id string, now time.Time, r Row) error {
	if slices.Contains(s.spent, id) {
		return ErrGrantUnusable
	}
	return s.Memory.Use(ctx, id, now, r)
}

func TestTheNextGrantIsTriedWhereOneIsSpent(t *testing.T) {
	t.Parallel()
	for spent, want := range map[string]string{"": "a", "a": "b", "a b": "c", "a b c": ""} {
		s := spentStore{NewMemory(&memorySink{}), strings.Fields(spent)}
		for _, id := range []string{"a", "b", "c"} {
			_ = s.Add(testGrant(id, nil))
		}
		g, sink := testGate(t, func(o *Options) { o.Grants, o.Now = s, at })
		d, err := g.Check(t.Context(), jobCall("send", ""))
		if err != nil || d.GrantID != want || (d.Code == CodeGrant) != (want != "") || want == "" && len(sink.rows) != 1 {
			t.Errorf("%q spent: %s by %q, %v", spent, d.Code, d.GrantID, err)
		}
	}
	s := spentStore{NewMemory(&memorySink{}), []string{"a"}}
	_ = s.Add(testGrant("a", func(g *Grant) { g.Tool, g.Principal = "note", "user" }))
	g, _ := testGate(t, func(o *Options) { o.Grants, o.Now = s, at })
	c := call("note", "")
	c.Principal = "user"
	if d, _ := g.Check(t.Context(), c); d.Verdict != Ask || d.GrantID != "" || d.ConfirmID == "" {
		t.Errorf("a person is not asked: %+v", d)
	}
}

func TestAlwaysForFilesAndHosts(t *testing.T) {
	t.Parallel()
	h := newRuleHouse(t, func(_ *ruleHouse, o *Options) { o.Now = at })
	for _, d := range []string{"w/x*y", "w/a  b", "w/plain", "w/semi ; colon"} {
		if err := os.MkdirAll(filepath.Join(h.root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ tool, args, rule string }{
		{"write", `{"path":"plain/a"}`, "Write(/" + h.work + "/plain/*)"},
		{"read", `{"path":"` + h.root + `/out/a"}`, "Read(/" + h.root + "/out/*)"},
		{"web_fetch", `{"url":"https://example.com/a?b"}`, "WebFetch(domain:example.com)"},
		{"note", `{}`, ""},
		{"note", `{"url":"https://example.com"}`, ""},
		{"bash", `{"command":"timeout 5 git fetch"}`, "Bash(git fetch:*)"},
		{"bash", `{"command":"git fetch | head"}`, "Bash(git fetch:*)"},
		// What a rule would read otherwise than it is meant is remembered for the session alone.
		{"write", `{"path":"x*y/a"}`, "-"}, {"write", `{"path":"a  b/a"}`, "-"}, {"write", `{"path":"semi ; colon/a"}`, "-"}, {"write", `{"path":"src/link/a"}`, "-"},
		{"bash", `{"command":"touch 'a b'"}`, "-"}, {"bash", `{"command":"touch $x"}`, "-"},
	} {
		c := call(tt.tool, tt.args)
		c.Dir, c.Principal = h.work, "user"
		d, err := h.gate.Check(t.Context(), c)
		if err != nil || d.Verdict != Ask {
			t.Fatalf("%s %s: %+v, %v", tt.tool, tt.args, d, err)
		}
		q := h.gate.(*engine).pending[d.ConfirmID]
		if (q.always == nil) != (tt.rule == "-") || q.always != nil && q.always.Rule != tt.rule || slices.Contains(d.Replies, Always) != (q.always != nil) {
			t.Errorf("%s %s: %+v", tt.tool, tt.args, q.always)
		}
		if !slices.Contains(d.Replies, ForSession) && d.Tier == ConfirmOnce {
			t.Errorf("%s %s: no answer for the session: %v", tt.tool, tt.args, d.Replies)
		}
	}
}

func TestWhatAShellCommandReadsHasItsTier(t *testing.T) {
	t.Parallel()
	h := newRuleHouse(t, nil)
	for command, code := range map[string]string{
		"cat a.txt": CodeReadOnly, "cat /etc/hosts": CodeFirstUse, "cat src/far/x": CodeFirstUse, "cat ../out/x": CodeFirstUse, "cat ~/.ssh/id": CodeFirstUse,
		"ls > src/new": CodeFirstUse, "ls > ../out/new": CodeEachCall, "ls > .env": CodeEachCall, "cat a.txt > src/far/x": CodeEachCall,
	} {
		if d := h.gate.Explain(h.bash(command)); d.Code != code {
			t.Errorf("%s: %s (%s)", command, d.Code, d.Reason)
		}
	}
}

func TestLinksHideNothingFromThePathRules(t *testing.T) {
	t.Parallel()
	h := newRuleHouse(t, nil)
	for link, to := range map[string]string{"home/.ssh": "../out", "w/keys": "../home/.ssh", "skill": "out"} {
		if err := os.Symlink(to, filepath.Join(h.root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(h.root, "out/id"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := PathPolicy{Workspace: h.work, Home: h.home}
	for _, path := range []string{h.home + "/.ssh/id", h.home + "/.ssh", "~/.ssh/id"} {
		if !p.ReadDenied(path) {
			t.Errorf("%s may be read", path)
		}
	}
	for _, path := range []string{h.root + "/out/id", "a.txt", h.home + "/.sshx"} {
		if p.ReadDenied(path) {
			t.Errorf("%s may not be read", path)
		}
	}
	in := func(tool, args string, skills ...ActiveSkill) Decision {
		c := call(tool, args)
		c.Dir, c.Skills = h.work, skills
		return h.gate.Explain(c)
	}
	linked := ActiveSkill{Name: "k", Dir: filepath.Join(h.root, "skill")}
	for name, tt := range map[string]struct {
		got  Decision
		code string
	}{
		"outside":                            {in("read", `{"path":"`+h.root+`/out/id"}`), CodeFirstUse},
		"a skill's folder behind a link":     {in("read", `{"path":"`+h.root+`/out/id"}`, linked), CodeReadOnly},
		"a skill's folder through its link":  {in("read", `{"path":"`+h.root+`/skill/id"}`, linked), CodeReadOnly},
		"writing there":                      {in("write", `{"path":"`+h.root+`/skill/id"}`, linked), CodeEachCall},
		"a link to a link to what is denied": {in("read", `{"path":"keys/id"}`), CodeFirstUse},
	} {
		if tt.got.Code != tt.code {
			t.Errorf("%s: %s (%s)", name, tt.got.Code, tt.got.Reason)
		}
	}
}

func TestWhereAPatternLooks(t *testing.T) {
	t.Parallel()
	table, err := NewTable(Tool{Name: "glob", Tier: ReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	h := newRuleHouse(t, func(_ *ruleHouse, o *Options) { o.Tools = table })
	for args, code := range map[string]string{
		`{"pattern":"*.go"}`: CodeReadOnly, `{"pattern":"**/*.go","path":"src"}`: CodeReadOnly, `{"pattern":"src/*"}`: CodeReadOnly,
		`{"pattern":"*/../../out/*"}`: CodeBadPath, `{"pattern":"src/*/../../../x"}`: CodeBadPath, `{"pattern":"../out/*"}`: CodeFirstUse,
		`{"pattern":"far/*","path":"src"}`: CodeFirstUse, `{"pattern":"~/x/*"}`: CodeFirstUse, `{"pattern":"~/x/*","path":"src"}`: CodeFirstUse,
		`{"pattern":"` + h.root + `/out/*","path":"src"}`: CodeFirstUse, `{"pattern":"*","path":"` + h.root + `/out/"}`: CodeFirstUse,
		`{"pattern":"{a,../b}"}`: CodeBadPath, `{"pattern":7}`: CodeBadPath, `{"pattern":"*","path":[]}`: CodeBadPath, `{"pattern":"?.txt"}`: CodeReadOnly,
	} {
		c := call("glob", args)
		c.Dir = h.work
		if d := h.gate.Explain(c); d.Code != code {
			t.Errorf("%s: %s (%s), want %s", args, d.Code, d.Reason, code)
		}
	}
}

func TestAnOptionIsNotWhatIsRemembered(t *testing.T) {
	t.Parallel()
	h := newRuleHouse(t, nil)
	d, _ := h.gate.Check(t.Context(), h.bash("git -P fetch"))
	if got, _ := h.gate.Answer(t.Context(), Answer{ConfirmID: d.ConfirmID, Nonce: d.Nonce, Session: "s", Reply: ForSession}); got.Verdict != Allow {
		t.Fatal(got.Reason)
	}
	for command, code := range map[string]string{"git -P fetch": CodeRemembered, "git fetch -p": CodeRemembered, "git -P pull": CodeFirstUse, "git pull": CodeFirstUse} {
		if d := h.gate.Explain(h.bash(command)); d.Code != code {
			t.Errorf("%s: %s (%s)", command, d.Code, d.Reason)
		}
	}
}
