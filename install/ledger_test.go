package install_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/install"
)

// newHub is a machine whose skills go where MiniMax Code has its own.
func newHub(t *testing.T, agent string) (*machine, string) {
	t.Helper()
	m := newMachine(t)
	data := filepath.Join(m.dir, "home", ".minimax-code")
	m.scope, m.agents = install.MiniMax(data, agent, filepath.Join(m.dir, "data", "minimax-deft.lock")), nil
	return m, filepath.Join(data, "skill-hub.json")
}

type ledger struct {
	Skills    []map[string]any
	Installed map[string]int64
	Theirs    string
}

func readLedger(t *testing.T, at string) (l ledger, src string) {
	t.Helper()
	b, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &l); err != nil {
		t.Fatal(err)
	}
	return l, string(b)
}

func TestTheLedgerOfMiniMaxIsKeptUpToDate(t *testing.T) {
	t.Parallel()
	m, at := newHub(t, "")
	m.write("home/.minimax-code/skill-hub.json", `{"skills":[{"id":7,"name":"theirs","added":true,"source_url":"https://example.org/x","content":"<b>","odd":[1]},`+
		`{"id":3,"name":"one","added":false,"source_url":"old","created_at":5,"use_count":9}],"installed":{"theirs":1},"theirs":"kept"}`)
	for range 2 { // the second changes nothing
		if err := m.add(t.Context(), "one", "two"); err != nil {
			t.Fatal(err)
		}
	}
	l, src := readLedger(t, at)
	if len(l.Skills) != 3 || l.Theirs != "kept" || !strings.HasPrefix(src, "{\n  \"skills\": [") || !strings.Contains(src, `"<b>"`) || !strings.HasSuffix(src, "}\n") {
		t.Fatal(src)
	}
	one, two := l.Skills[1], l.Skills[2]
	now := float64(1767323045000)
	for key, want := range map[string]any{"id": 3.0, "name": "one", "added": true, "created_at": 5.0, "use_count": 9.0, "updated_at": now, "source_type": 2.0, "description": "Does one things when asked.", "display_name": "one"} {
		if one[key] != want {
			t.Errorf("%s: %v, want %v", key, one[key], want)
		}
	}
	if content, _ := one["content"].(string); !strings.HasPrefix(content, "---\nname: one\n") {
		t.Errorf("content: %q", content)
	}
	if two["id"] != 8.0 || two["created_at"] != now || one["source_url"] == two["source_url"] || l.Installed["two"] != int64(now) || l.Installed["theirs"] != 1 {
		t.Errorf("%v\n%v", two, l.Installed)
	}
	if _, err := os.Stat(filepath.Join(m.scope.Skills, "two", "SKILL.md")); err != nil || !strings.HasSuffix(filepath.ToSlash(m.scope.Skills), ".minimax-code/skills") {
		t.Error(err, m.scope.Skills)
	}
	i := m.installer()
	list, err := i.PlanRemove(t.Context(), m.scope, nil, []string{"one"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.Remove(t.Context(), m.scope, nil, list); err != nil {
		t.Fatal(err)
	}
	l, _ = readLedger(t, at)
	if _, there := l.Installed["one"]; there || l.Skills[1]["added"] != false || l.Skills[2]["added"] != true || l.Skills[1]["use_count"] != 9.0 {
		t.Errorf("%v %v", l.Skills, l.Installed)
	}
}

func TestALedgerThatCannotBeReadIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{", "[]", "null", `{"skills":{}}`, `{"skills":[1]}`, `{"installed":[]}`} {
		m, at := newHub(t, "mavis")
		m.write("home/.minimax-code/skill-hub.json", text)
		if err := m.add(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(at); err != nil || string(b) != text {
			t.Errorf("%s became %s, %v", text, b, err)
		}
		if _, err := os.Stat(filepath.Join(m.dir, "home", ".minimax-code", "agents", "mavis", "skills", "one", "SKILL.md")); err != nil {
			t.Error(err)
		}
	}
}
