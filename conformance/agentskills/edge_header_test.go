package agentskills

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const valid = "name: x\ndescription: Says what it does.\n"

func TestEdgeBomRefused(t *testing.T) {
	t.Parallel()
	text := "\uFEFF" + named("x")
	failsOnce(t, verdict("x", text), "must start with YAML frontmatter")
	if s := lenient("x", text); !s.Valid || s.Name != "x" {
		t.Errorf("the lenient reader: %+v", s)
	}
}

func TestEdgeCrlfAccepted(t *testing.T) {
	t.Parallel()
	r := verdict("x", strings.ReplaceAll(header("name: x", "description: d", "license: MIT"), "\n", "\r\n"))
	passes(t, r)
	p := r.Properties
	if strings.Contains(p.Name+p.Description+*p.License+p.Body, "\r") || p.Body != "# Title\n\nText." {
		t.Errorf("%+v", p)
	}
}

func TestEdgeDashesInValueCutHeader(t *testing.T) {
	t.Parallel()
	text := header("name: x", "description: a --- b")
	r := verdict("x", text)
	passes(t, r)
	if p := r.Properties; p.Description != "a" || !strings.HasPrefix(p.Body, "b\n---\n") {
		t.Errorf("%+v", p)
	}
	if s := lenient("x", text); s.Description != "a --- b" {
		t.Errorf("the lenient reader: %q", s.Description)
	}
}

func TestEdgeBlanksAfterOpeningFence(t *testing.T) {
	t.Parallel()
	passes(t, verdict("x", "---  \n"+valid+"---\n"))
}

func TestEdgeTextBeforeFence(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("x", "\n"+named("x")), "must start with YAML frontmatter")
}

func TestEdgeClosingFenceAtEof(t *testing.T) {
	t.Parallel()
	r := verdict("x", "---\n"+valid+"---")
	passes(t, r)
	if r.Properties.Body != "" {
		t.Errorf("%q", r.Properties.Body)
	}
}

func TestEdgeDuplicateKey(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("x", header("name: x", "name: y", "description: d")), "Invalid YAML")
}

func TestEdgeFlowMapping(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("x", "---\n"+valid+"metadata: {a: b}\n---\n"), "Invalid YAML")
}

func TestEdgeFlowSequence(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("x", "---\n"+valid+"allowed-tools: [Read, Grep]\n---\n"), "Invalid YAML")
}

func TestEdgeAnchorAndAlias(t *testing.T) {
	t.Parallel()
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 8), i-1)
	}
	for _, text := range []string{"a: &x 1\nb: *x\n", bomb.String()} {
		start := time.Now()
		failsOnce(t, verdict("x", "---\n"+valid+text+"---\n"), "Invalid YAML")
		if d := time.Since(start); d > 50*time.Millisecond {
			t.Logf("took %v", d)
		}
	}
}

func TestEdgeTag(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("x", header("name: !!str x", "description: d")), "Invalid YAML")
}

func TestEdgeMergeKey(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("x", "---\n"+valid+"<<: *x\n---\n"), "Invalid YAML")
	failsOnce(t, verdict("x", "---\n"+valid+"<<:\n  a: b\n---\n"), "Invalid YAML")
}

func TestEdgeColonInPlainValue(t *testing.T) {
	t.Parallel()
	text := header("name: x", "description: Write notes: collect")
	r := verdict("x", text)
	failsOnce(t, r, "Invalid YAML")
	if line := r.Diagnostics[0].Line; line != 3 {
		t.Errorf("line %d", line)
	}
	if s := lenient("x", text); !s.Valid || s.Description != "Write notes: collect" {
		t.Errorf("the lenient reader: %q", s.Description)
	}
}

func TestEdgeHeaderIsAScalar(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("x", "---\njust text\n---\n"), "must be a YAML mapping")
}

func TestEdgeHeaderEmpty(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("x", "---\n---\n"), "")
}

func TestEdgeNumericName(t *testing.T) {
	t.Parallel()
	r := verdict("4711", named("4711"))
	passes(t, r)
	if r.Properties.Name != "4711" {
		t.Error(r.Properties.Name)
	}
}

func TestEdgeBooleanLookingDescription(t *testing.T) {
	t.Parallel()
	r := verdict("x", header("name: x", "description: yes"))
	passes(t, r)
	if r.Properties.Description != "yes" {
		t.Error(r.Properties.Description)
	}
}

func TestEdgeOctalMetadata(t *testing.T) {
	t.Parallel()
	r := verdict("x", "---\n"+valid+"metadata:\n  code: 007\n---\n")
	passes(t, r)
	if got := r.Properties.Metadata["code"]; got != "007" {
		t.Error(got)
	}
}

func TestEdgeNestedMetadataStringified(t *testing.T) {
	t.Parallel()
	r := verdict("x", "---\n"+valid+"metadata:\n  deft:\n    id: a\n    list:\n      - 1\n---\n")
	passes(t, r)
	if got := r.Properties.Metadata["deft"]; got != `{"id":"a","list":["1"]}` {
		t.Error(got)
	}
}

func TestEdgeBlockListAllowedTools(t *testing.T) {
	t.Parallel()
	text := "---\n" + valid + "allowed-tools:\n  - Read\n  - Bash(git add *)\n---\nText.\n"
	passes(t, verdict("x", text))
	got := lenient("x", text).Meta.AllowedTools
	if !got.Declared || strings.Join(got.Entries, "|") != "Read|Bash(git add *)" {
		t.Errorf("%+v", got)
	}
}

func TestEdgeEmptyCompatibility(t *testing.T) {
	t.Parallel()
	passes(t, verdict("x", "---\n"+valid+"compatibility: \"\"\n---\n"))
}

func TestEdgeBlankDescription(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("x", header("name: x", `description: "   "`)), "Field 'description' must be a non-empty string")
}

func TestEdgeEmptyName(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("x", header(`name: ""`, "description: d")), "Field 'name' must be a non-empty string")
}

func TestEdgeBothRequiredMissing(t *testing.T) {
	t.Parallel()
	got := errorsOf(verdict("x", header("license: MIT")))
	if len(got) != 2 || !strings.Contains(got[0], "name") || !strings.Contains(got[1], "description") {
		t.Errorf("%+v", got)
	}
}

func TestEdgeErrorsAccumulate(t *testing.T) {
	t.Parallel()
	got := errorsOf(verdict("X", header("odd: 1", "description: "+strings.Repeat("x", 1025), "name: X",
		"compatibility: "+strings.Repeat("x", 501))))
	want := []string{"Unexpected fields", "lowercase", "Description exceeds", "Compatibility exceeds"}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("error %d is %q, want %q", i, got[i], want[i])
		}
	}
}

func TestEdgeEachKeyAlone(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"license: MIT", "compatibility: git", "metadata:\n  a: b", "allowed-tools: Read"} {
		passes(t, verdict("x", "---\n"+valid+line+"\n---\n"))
	}
	passes(t, verdict("x", named("x")))
	for _, line := range []string{"model: opus", "hooks:\n  a: b", "user-invocable: true", "version: 1.0", "paths: src/**"} {
		failsOnce(t, verdict("x", "---\n"+valid+line+"\n---\n"), "Unexpected fields in frontmatter: "+strings.Split(line, ":")[0])
	}
}

// Every fixture here is refused by the strict verdict; deft loads each of them.
func TestEdgeStrictNeverStopsALoad(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"# No frontmatter here\n", "\uFEFF" + named("x"), "\n" + named("x"), "---\n---\nText.\n",
		"---\n" + valid + "metadata: {a: b}\n---\n", "---\n" + valid + "allowed-tools: [Read, Grep]\n---\n",
		header("name: x", "description: Write notes: collect"), header(`name: ""`, "description: d"),
		header("name: x", `description: "   "`), header("license: MIT"), header("odd: 1", "name: x", "description: d"),
		named("MySkill"), named(strings.Repeat("a", 70)), named("-my-skill"), named("my--skill"), named("my_skill"),
		named("other"), named("НАВЫК"), named("हिन्दी"), named("İstanbul"), named("a😀"), named("a b"), named("a.b"),
		header(`name: "-"`, "description: d"), header("name: x", "description: "+strings.Repeat("x", 1100)),
		"---\n" + valid + "compatibility: " + strings.Repeat("x", 501) + "\n---\n",
	} {
		if r := verdict("x", text); r.OK {
			t.Errorf("the strict verdict passes %.60q", text)
		}
		if s := lenient("x", text); !s.Valid || s.Name == "" {
			t.Errorf("not loaded: %.60q: %+v", text, s.Diagnostics)
		}
	}
}

func TestEdgeHugeFile(t *testing.T) {
	t.Parallel()
	deep := "d:\n"
	for i := 1; i <= 16; i++ {
		deep += strings.Repeat(" ", i) + "d:\n"
	}
	for limit, text := range map[string]string{
		"limit_file":   named("x") + strings.Repeat("x", 2<<20),
		"limit_header": "---\n" + valid + "license: " + strings.Repeat("x", 65<<10) + "\n---\n",
		"limit_nodes":  "---\n" + valid + "metadata:\n" + strings.Repeat("  - x\n", 1001) + "---\n",
		"limit_depth":  "---\n" + valid + deep + "---\n",
	} {
		start := time.Now()
		r := verdict("x", text)
		failsOnce(t, r, limit)
		if r.Diagnostics[0].Code != limit {
			t.Error(r.Diagnostics[0].Code)
		}
		if d := time.Since(start); d > 50*time.Millisecond {
			t.Logf("%s took %v", limit, d)
		}
	}
}
