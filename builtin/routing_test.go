package builtin_test

import (
	"context"
	"testing"

	"github.com/deftskills/deft/builtin"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/search"
	"github.com/deftskills/deft/source"
)

// asker answers requests as an engine does that has the shipped skills only.
type asker struct {
	index  *search.Index
	router *route.Router
}

func newAsker(t *testing.T) asker {
	t.Helper()
	ctx := context.Background()
	reg, err := registry.Open(ctx, registry.Config{Sources: []source.Source{source.FS(builtin.FS(), source.DirOptions{})}})
	if err != nil {
		t.Fatal(err)
	}
	index, err := search.Open(search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := index.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := index.Update(ctx, "", reg.Snapshot()); err != nil {
		t.Fatal(err)
	}
	router, _ := route.Compile(reg.Snapshot(), route.Options{})
	return asker{index, router}
}

func (a asker) ask(t *testing.T, request string) route.Result {
	t.Helper()
	ctx := context.Background()
	found, err := a.index.Search(ctx, search.Query{Text: request, TopK: 50, Mode: search.BM25, Plain: true, Bare: true})
	if err != nil {
		t.Fatal(err)
	}
	in := route.TurnRoutingContext{Message: request}
	for _, h := range found.Hits {
		in.Retrieved = append(in.Retrieved, route.Retrieved{Address: h.Address, Score: h.Score, Coverage: h.Coverage, Share: h.Share, Evidence: h.Evidence})
	}
	res, err := a.router.Route(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestRequestsActivateTheirSkill(t *testing.T) {
	t.Parallel()
	a := newAsker(t)
	for request, want := range map[string]string{
		"review my pull request":                         "code-review",
		"do a code review of this branch before I merge": "code-review",
		"check this diff for security bugs":              "code-review",
		"which skills are available here?":               "deft-guide",
		"how do I use deft to find skills":               "deft-guide",
		"write an AGENTS.md for this repository":         "init",
		"initialise this project for coding agents":      "init",
		"write release notes since the last tag":         "release-notes",
		"update the changelog for version 2.0":           "release-notes",
		"create a new skill for our expense form":        "skill-creator",
		"help me write a SKILL.md":                       "skill-creator",
		"why is my skill missing?":                       "skill-doctor",
		"my skill does not load, find out why":           "skill-doctor",
		"帮我审查代码":                                         "code-review",
		"根据提交写一份更新日志":                                    "release-notes",
		"创建技能，用来填报销单":                                    "skill-creator",
	} {
		res := a.ask(t, request)
		won, ok := res.ClearWinner()
		first := ""
		if len(res.Hits) > 0 {
			first = res.Hits[0].Address
		}
		if !ok || won.Address != want {
			t.Errorf("%q: winner %q, first %q, fit %s; want %s", request, won.Address, first, res.Fit, want)
			for _, h := range res.Hits[:min(3, len(res.Hits))] {
				t.Logf("   %s %v %v", h.Address, h.Score, h.Reasons)
			}
		}
	}
}

func TestUnrelatedRequestsActivateNothing(t *testing.T) {
	t.Parallel()
	a := newAsker(t)
	for _, request := range []string{
		"what is the capital of France?",
		"book a table for four tomorrow evening",
		"translate this poem into Spanish",
		"how warm will it be on Sunday",
		"convert 20 miles to kilometres",
		"tell me a joke about cats",
		"帮我订一张去上海的机票",
		"improve my skills at chess",
		"release the hounds",
		"open a bank account",
		"which version of python is this",
	} {
		if won, ok := a.ask(t, request).ClearWinner(); ok {
			t.Errorf("%q activates %s: %v %v", request, won.Address, won.Score, won.Reasons)
		}
	}
}
