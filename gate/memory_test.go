package gate

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// at is the moment at which the tests of grants take place.
func at() time.Time { return time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC) }

// testGrant is a grant that lasts for an hour.
func testGrant(id string, change func(*Grant)) Grant {
	g := Grant{ID: id, Principal: "job:btc", Tool: "send", OtherArgs: OtherAny, MaxUses: 1, CreatedAt: at(), Expires: at().Add(time.Hour)}
	if change != nil {
		change(&g)
	}
	return g
}

func TestAGrantIsUsedAsOftenAsItMay(t *testing.T) {
	t.Parallel()
	sink := &memorySink{}
	m := NewMemory(sink)
	if err := m.Add(testGrant("g", func(g *Grant) { g.MaxUses = 10 })); err != nil {
		t.Fatal(err)
	}
	var used, refused atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			switch err := m.Use(t.Context(), "g", at(), Row{GrantID: "g"}); {
			case err == nil:
				used.Add(1)
			case errors.Is(err, ErrGrantUnusable):
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	if used.Load() != 10 || refused.Load() != 54 || len(sink.rows) != 10 || m.Grants()[0].Used != 10 {
		t.Errorf("%d used, %d refused, %d rows", used.Load(), refused.Load(), len(sink.rows))
	}
}

func TestWhatCannotBeWrittenIsNotCounted(t *testing.T) {
	t.Parallel()
	sink := &memorySink{err: errors.New("disk full")}
	m := NewMemory(sink)
	_ = m.Add(testGrant("g", nil))
	if err := m.Use(t.Context(), "g", at(), Row{}); !errors.Is(err, sink.err) || m.Grants()[0].Used != 0 {
		t.Error("a use without its row", err)
	}
	if err := m.Open(t.Context(), Confirmation{ID: "c", Session: "s"}, Row{}); !errors.Is(err, sink.err) {
		t.Error(err)
	}
	sink.err = nil
	if err := m.Resolve(t.Context(), Resolution{ID: "c"}); !errors.Is(err, ErrNotOpen) {
		t.Error("a question without its row", err)
	}
	_ = m.Open(t.Context(), Confirmation{ID: "c", Session: "s"}, Row{})
	more := testGrant("more", nil)
	sink.err = errors.New("disk full")
	if err := m.Resolve(t.Context(), Resolution{ID: "c", Grant: &more}); err == nil || len(m.Grants()) != 1 {
		t.Error("a grant without its row", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sink.err = nil
	if err := m.Use(ctx, "g", at(), Row{}); err == nil || m.Grants()[0].Used != 0 {
		t.Error("a cancelled use", err)
	}
}

func TestAQuestionIsResolvedOnce(t *testing.T) {
	t.Parallel()
	m := NewMemory(&memorySink{})
	_ = m.Open(t.Context(), Confirmation{ID: "c", Session: "s"}, Row{})
	if m.Open(t.Context(), Confirmation{ID: "c", Session: "s"}, Row{}) == nil {
		t.Error("an id twice")
	}
	var won atomic.Int64
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			g := testGrant(strings.Repeat("g", i+1), nil)
			if m.Resolve(t.Context(), Resolution{ID: "c", Grant: &g}) == nil {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || len(m.Grants()) != 1 {
		t.Errorf("%d answers won, %d grants", won.Load(), len(m.Grants()))
	}
	for name, end := range map[string]func() error{
		"dropped": func() error { return m.Drop(t.Context(), "s", at()) },
		"expired": func() error { return m.Expire(t.Context(), at()) },
	} {
		_ = m.Open(t.Context(), Confirmation{ID: name, Session: "s", Expires: at().Add(-time.Second)}, Row{})
		_ = m.Open(t.Context(), Confirmation{ID: name + " not", Session: "s2", Expires: at().Add(time.Second)}, Row{})
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(m.Resolve(t.Context(), Resolution{ID: name}), ErrNotOpen) || m.Resolve(t.Context(), Resolution{ID: name + " not"}) != nil {
			t.Errorf("%s: another one ended", name)
		}
	}
}

func TestWhenAGrantIsFound(t *testing.T) {
	t.Parallel()
	q := GrantQuery{Principal: "job:btc", Tool: "send", Toolset: "chain", Workspace: "/w", Now: at()}
	for name, tt := range map[string]struct {
		change func(*Grant)
		want   bool
	}{
		"as it is":            {nil, true},
		"another principal":   {func(g *Grant) { g.Principal = "job:BTC" }, false},
		"no principal":        {func(g *Grant) { g.Principal = "" }, false},
		"another tool":        {func(g *Grant) { g.Tool = "note" }, false},
		"the toolset":         {func(g *Grant) { g.Tool, g.Toolset = "", "chain" }, true},
		"another toolset":     {func(g *Grant) { g.Tool, g.Toolset = "", "other" }, false},
		"the workspace":       {func(g *Grant) { g.Workspace = "/w" }, true},
		"another workspace":   {func(g *Grant) { g.Workspace = "/w/x" }, false},
		"used up":             {func(g *Grant) { g.Used = 1 }, false},
		"without a bound":     {func(g *Grant) { g.MaxUses, g.Used = 0, 1000 }, true},
		"not begun":           {func(g *Grant) { g.NotBefore = at().Add(1) }, false},
		"begins now":          {func(g *Grant) { g.NotBefore = at() }, true},
		"over now":            {func(g *Grant) { g.Expires = at() }, false},
		"nearly over":         {func(g *Grant) { g.Expires = at().Add(1) }, true},
		"without a date":      {func(g *Grant) { g.Expires = time.Time{} }, false},
		"longer than allowed": {func(g *Grant) { g.Expires = at().Add(MaxGrantLife + 1) }, false},
		"revoked":             {func(g *Grant) { g.Revoked = at() }, false},
		"revoked later":       {func(g *Grant) { g.Revoked = at().Add(time.Hour) }, false},
	} {
		if got := q.Matches(testGrant("g", tt.change)); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if (GrantQuery{Tool: "send", Now: at()}).Matches(testGrant("g", func(g *Grant) { g.Principal = "" })) {
		t.Error("nobody has a grant")
	}
}

func TestWhichGrantsCanBeMade(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*Grant)
		want   string
	}{
		"as it is":                {nil, ""},
		"a year":                  {func(g *Grant) { g.Expires = at().Add(MaxGrantLife) }, ""},
		"more than a year":        {func(g *Grant) { g.Expires = at().Add(MaxGrantLife + 1) }, "more than 366 days"},
		"no date":                 {func(g *Grant) { g.Expires = time.Time{} }, "no date"},
		"in the past":             {func(g *Grant) { g.Expires = at() }, "in the past"},
		"ends before it begins":   {func(g *Grant) { g.NotBefore = g.Expires }, "before it begins"},
		"no principal":            {func(g *Grant) { g.Principal = "" }, "no principal"},
		"no tool":                 {func(g *Grant) { g.Tool = "" }, "one tool or one toolset"},
		"two":                     {func(g *Grant) { g.Toolset = "x" }, "one tool or one toolset"},
		"negative uses":           {func(g *Grant) { g.MaxUses = -1 }, "negative"},
		"other args":              {func(g *Grant) { g.OtherArgs = "some" }, "none or any"},
		"a constraint":            {func(g *Grant) { g.Constraints = []Constraint{{Path: "a", Op: "~"}} }, "unknown operator"},
		"a rule":                  {func(g *Grant) { g.Rule = "Bash(git:*) ; Bash(" }, "no closing parenthesis"},
		"a rule for all":          {func(g *Grant) { g.Rule = "*" }, "rule"},
		"several rules":           {func(g *Grant) { g.Rule = "Bash(git:*) ; Bash(ls)" }, ""},
		"everything is said once": {func(g *Grant) { g.Principal, g.Tool = "", "" }, "no principal\ngrant: it names"},
	} {
		err := testGrant("g", tt.change).Valid(at())
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
