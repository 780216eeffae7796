package gate

import (
	"testing"

	"github.com/deftskills/deft/skill"
)

func TestDialectsTightenByStagesInTheirOwnWay(t *testing.T) {
	t.Parallel()
	want := map[skill.Dialect]string{"": CodeStageDiscover, "unheard-of": CodeStageDiscover}
	for _, d := range skill.Dialects() {
		want[d] = CodeNoGrant
	}
	want[skill.Deft], want[skill.Minara] = CodeStageDiscover, CodeStageDiscover
	for d, code := range want {
		g, _, _ := grantGate(t, func(o *Options) { o.Dialect = d })
		c := jobCall("note", "{}")
		c.Stages = []string{"discover"}
		if got := g.Explain(c); got.Code != code {
			t.Errorf("%q: %s, want %s", d, got.Code, code)
		}
		strict, _, _ := grantGate(t, func(o *Options) { o.Dialect, o.StrictStages = d, true })
		if got := strict.Explain(c); got.Verdict != Deny || got.Code == CodeNoGrant {
			t.Errorf("%q, strict: %s", d, got.Code)
		}
	}
}

func TestWhatASessionRemembersByDialect(t *testing.T) {
	t.Parallel()
	other := []ActiveSkill{{Name: "new", Digest: "sha256:1"}}
	for d, coarse := range map[skill.Dialect]bool{skill.Minara: true, skill.Deft: false, "": false, skill.ClaudeCode: false} {
		h := newRuleHouse(t, func(_ *ruleHouse, o *Options) { o.Dialect = d })
		remember := func(c Call) {
			d, _ := h.gate.Check(t.Context(), c)
			if got, _ := h.gate.Answer(t.Context(), Answer{ConfirmID: d.ConfirmID, Nonce: d.Nonce, Session: c.Session, Reply: ForSession}); got.Verdict != Allow {
				t.Fatal(got)
			}
		}
		fetch := func(host string) Call { return call("web_fetch", `{"url":"https://`+host+`/a"}`) }
		write := func(path string) Call {
			c := call("write", `{"path":"`+path+`"}`)
			c.Dir = h.work
			return c
		}
		for _, c := range []Call{call("note", "{}"), h.bash("git fetch"), fetch("a.example"), write("src/a")} {
			remember(c)
		}
		for _, tt := range []struct {
			name       string
			c          Call
			remembered bool
		}{
			{"the tool", call("note", `{"x":1}`), true}, {"another tool", call("mcp__db__list", "{}"), false},
			{"the command", h.bash("git fetch -p"), true}, {"another command", h.bash("git pull"), false},
			{"the host", fetch("a.example"), true}, {"another host", fetch("b.example"), false},
			{"the folder", write("src/b"), true}, {"another folder", write("c"), false},
		} {
			if got := h.gate.Explain(tt.c); (got.Code == CodeRemembered) != tt.remembered {
				t.Errorf("%q, %s: %s", d, tt.name, got.Code)
			}
			tt.c.Skills = other
			if got := h.gate.Explain(tt.c); (got.Code == CodeRemembered) != (coarse && tt.name == "the tool") {
				t.Errorf("%q, %s with another skill: %s", d, tt.name, got.Code)
			}
		}
	}
}

func TestAnswersAreAboutTheVeryCall(t *testing.T) {
	t.Parallel()
	h := newRuleHouse(t, nil)
	base := call("write", `{"path":"a"}`)
	base.Dir, base.Env, base.Stdin, base.Placement = h.work, []string{"A", "B"}, "sha256:x", "local"
	base.Skills = []ActiveSkill{{Name: "k", Digest: "1"}}
	same := base
	same.Env, same.Turn, same.ID, same.Args = []string{"B", "A"}, "later", "2", []byte(`{ "path" : "a" }`)
	hash := h.gate.Explain(base).CallHash
	if got := h.gate.Explain(same).CallHash; got != hash {
		t.Error("the same call has another hash")
	}
	seen := map[string]string{hash: "the call"}
	for name, change := range map[string]func(*Call){
		"another argument": func(c *Call) { c.Args = []byte(`{"path":"b"}`) }, "another tool": func(c *Call) { c.Tool = "edit" },
		"one more argument": func(c *Call) { c.Args = []byte(`{"path":"a","b":null}`) },
		"another folder":    func(c *Call) { c.Dir = h.home }, "another place": func(c *Call) { c.Placement = "remote" },
		"another variable": func(c *Call) { c.Env = []string{"A", "C"} }, "other input": func(c *Call) { c.Stdin = "" },
		"another skill": func(c *Call) { c.Skills = []ActiveSkill{{Name: "k", Digest: "2"}} }, "no skill": func(c *Call) { c.Skills = nil },
		"a link": func(c *Call) { c.Args = []byte(`{"path":"src/far/a"}`) },
	} {
		c := base
		change(&c)
		got := h.gate.Explain(c).CallHash
		if was, taken := seen[got]; taken || got == "" {
			t.Errorf("%s: the hash of %s", name, was)
		}
		seen[got] = name
	}
}
