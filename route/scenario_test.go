package route

import (
	"strings"
	"testing"
)

func ids(list []Scenario) string {
	var out []string
	for _, s := range list {
		out = append(out, s.ID)
	}
	return strings.Join(out, " ")
}

func TestAtMostOnePrimaryAndThreeComposableScenariosApply(t *testing.T) {
	t.Parallel()
	s := CompileScenarios([]Scenario{
		{ID: "p2", Primary: true, Keywords: []string{"crash"}}, {ID: "p1", Primary: true, Keywords: []string{"crash", "Crash", ""}},
		{ID: "p3", Primary: true, Keywords: []string{"crash", "btc"}}, {ID: "c4", Keywords: []string{"btc"}},
		{ID: "c1", Keywords: []string{"btc"}}, {ID: "c2", Keywords: []string{"btc"}}, {ID: "c3", Keywords: []string{"btc"}}, {ID: "zh", Keywords: []string{"暴跌"}},
	})
	for message, want := range map[string]string{
		"BTC crash": "p3 c1 c2 c3", "a crash": "p1", "crashed btcs": "", "今天暴跌了": "zh", "": "", "hello": "",
	} {
		if got := ids(s.Match(message)); got != want {
			t.Errorf("%q: %s, want %s", message, got, want)
		}
	}
	if got := ids(s.Named([]string{"nope", "c4", "p2", "p1", "c4", "c3", "c2", "c1"})); got != "p2 c4 c3 c2" {
		t.Errorf("named: %s", got)
	}
	if got := ids(CompileScenarios(nil).Match("btc crash")); got != "" || len(CompileScenarios(nil).All()) != 0 {
		t.Errorf("none: %s", got)
	}
}
