package toolrule

import (
	"encoding/json"
	"errors"
	"testing"
)

// shellCall is what Describe makes of a shell command.
func shellCall(line string) Call {
	args, _ := json.Marshal(map[string]string{"command": line})
	return Describe("bash", args, "/w", "/h", nil)
}

func TestPatternsCoverAndDeny(t *testing.T) {
	t.Parallel()
	bash := shellCall
	file := func(tool, path string) Call { return Call{Tool: tool, Paths: []string{path}, Dir: "/w", Home: "/h"} }
	for _, c := range []struct {
		pattern       string
		call          Call
		covers, denys bool
	}{
		{"Read", Call{Tool: "read"}, true, true},
		{"read", Call{Tool: "read"}, true, true},
		{"read_file", Call{Tool: "read"}, true, true},
		{"READ", Call{Tool: "read"}, false, false},
		{"Read", Call{Tool: "grep"}, false, false},
		{"Write", Call{Tool: "edit"}, true, true},
		{"Edit(src/**)", file("write", "/w/src/a.go"), true, true},
		{"*", Call{Tool: "anything"}, false, true},
		{"mcp__gh__*", Call{Tool: "mcp__gh__list"}, true, true},
		{"mcp__gh__*", Call{Tool: "mcp__ghx__list"}, false, false},
		{"mcp__gh__get*x", Call{Tool: "mcp__gh__get_a_x"}, true, true},
		{"glassnode_*", Call{Tool: "glassnode_price"}, true, true},
		{"Bash", bash("rm -rf /; ls"), true, true},
		{"Bash(*)", bash("rm -rf /"), true, true},
		{"Bash(git add *)", bash("git add a b"), true, true},
		{"Bash(git add *)", bash("git add"), true, true},
		{"Bash(git add *)", bash("git addx"), false, false},
		{"Bash(git add:*)", bash("git add -p"), true, true},
		{"Bash(git add*)", bash("git addx y"), true, true},
		{"Bash(git * main)", bash("git push origin main"), true, true},
		{"Bash(git status)", bash("git status"), true, true},
		{"Bash(git status)", bash("git status -s"), false, false},
		{"Bash(git add *)", bash("git add a; rm b"), false, true},
		{"Bash(rm *)", bash("git add a; rm b"), false, true},
		{"Bash(rm *)", bash("git add $(rm b)"), false, true},
		{"Bash(rm *)", bash("X=1 rm b"), false, true},
		{"Bash(git add *)", bash("git add $HOME"), false, true},
		{"Bash(git add *)", bash("git add 'a b'"), true, true},
		{"Bash(git add *)", bash("git add 'a"), false, true},
		{`Bash(echo "a b" *)`, bash("echo 'a b' c"), true, true},
		{`Bash(echo "*")`, bash("echo x"), false, false},
		{"Bash(ls *)", Call{Tool: "bash", Commands: [][]string{{"ls", "a"}, {"rm"}}}, false, true},
		{"Read(docs/**)", file("read", "/w/docs/a/b.md"), true, true},
		{"Read(docs/)", file("read", "/w/docs/a.md"), true, true},
		{"Read(docs/**)", file("read", "/w/x/docs/b.md"), false, false},
		{"Read(~/notes/*)", file("read", "/h/notes/a"), true, true},
		{"Read(//etc/*)", file("read", "/etc/hosts"), true, true},
		{"Read(/etc/*)", file("read", "/w/etc/hosts"), true, true},
		{"Read(*.md)", Call{Tool: "read", Paths: []string{"/w/a.md", "/etc/passwd"}, Dir: "/w"}, false, true},
		{"WebFetch(domain:example.org)", Call{Tool: "web_fetch", Host: "example.org"}, true, true},
		{"WebFetch(domain:*.example.org)", Call{Tool: "web_fetch", Host: "example.org"}, false, false},
		{"WebFetch(domain:*.example.org)", Call{Tool: "web_fetch", Host: "a.example.org"}, true, true},
		{"WebFetch(domain:example.org)", Call{Tool: "web_fetch", Host: "evilexample.org"}, false, false},
		{"mystery(x)", Call{Tool: "mystery"}, false, true},
	} {
		l := ParseList([]string{c.pattern})
		if l[0].Err != nil {
			t.Errorf("%s: %v", c.pattern, l[0].Err)
			continue
		}
		if _, ok := l.Covers(c.call); ok != c.covers {
			t.Errorf("%s covers %+v = %v", c.pattern, c.call, ok)
		}
		if _, ok := l.Denies(c.call); ok != c.denys {
			t.Errorf("%s denies %+v = %v", c.pattern, c.call, ok)
		}
	}
}

func TestInvalidPatternFailsClosed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "Bash(git", "Bash()", "a*b", "Re ad", "*(x)", "(x)", "Bash(a\nb)", "**"} {
		_, err := Parse(text)
		if !errors.Is(err, ErrPattern) {
			t.Errorf("Parse(%q) = %v", text, err)
		}
		l := ParseList([]string{text})
		if _, ok := l.Covers(Call{Tool: "read"}); ok {
			t.Errorf("%q in an allow list covers", text)
		}
		if _, ok := l.Denies(Call{Tool: "read"}); !ok || !l.DeniesTool("read") {
			t.Errorf("%q in a deny list lets through", text)
		}
	}
}

func TestExpandedDirectoryMatchesAsOneWord(t *testing.T) {
	t.Parallel()
	p, err := Parse(`Bash(sh "${CLAUDE_SKILL_DIR}/scripts/stamp.sh" *)`)
	if err != nil {
		t.Fatal(err)
	}
	dir := "/home/skills of jo's/st*mper (1)"
	e := p.Expand(map[string]string{"CLAUDE_SKILL_DIR": dir})
	again := ParseList([]string{e.String()})
	if again[0].Err != nil {
		t.Fatalf("%s: %v", e, again[0].Err)
	}
	command := `sh "` + dir + `/scripts/stamp.sh" in.txt`
	call := shellCall(command)
	for _, l := range []List{{{Pattern: e}}, again} {
		if _, ok := l.Covers(call); !ok {
			t.Errorf("%s does not cover %s", l[0], command)
		}
		if _, ok := l.Covers(shellCall(`sh "/home/skills of jo's/stXmper (1)/scripts/stamp.sh"`)); ok {
			t.Error("a star of the directory became a wildcard")
		}
	}
	if p.String() != `Bash(sh "${CLAUDE_SKILL_DIR}/scripts/stamp.sh" *)` {
		t.Error("Expand changed its receiver")
	}
}

func TestDescribeFindsTheSubject(t *testing.T) {
	t.Parallel()
	resolve := func(p string) string {
		if p == "/w/link" {
			return "/etc/passwd"
		}
		return p
	}
	c := Describe("read", json.RawMessage(`{"path":"link"}`), "/w", "/h", resolve)
	if _, ok := ParseList([]string{"Read(*)"}).Covers(c); !ok {
		t.Error("Read(*) covers any path")
	}
	if _, ok := ParseList([]string{"Read(./*)"}).Covers(c); ok {
		t.Error("an allow must cover the resolved form too")
	}
	if _, ok := ParseList([]string{"Read(//etc/*)"}).Denies(c); !ok {
		t.Error("a deny of the resolved form must match")
	}
	if c := Describe("web_fetch", json.RawMessage(`{"url":"https://A.example.org:8/x"}`), "", "", nil); c.Host != "a.example.org" {
		t.Error(c.Host)
	}
	if c := Describe("bash", json.RawMessage(`{"command":7}`), "", "", nil); len(c.Commands) > 0 || !c.Unproved {
		t.Error(c.Commands)
	}
}

func TestExposureFollowsNamesAlone(t *testing.T) {
	t.Parallel()
	l := ParseList([]string{"Read", "Bash(git *)", "mcp__a__*", "*"})
	for tool, want := range map[string]bool{"read": true, "bash": true, "mcp__a__x": true, "mcp__b__x": false, "write": false} {
		if l.Mentions(tool) != want {
			t.Errorf("Mentions(%s) = %v", tool, !want)
		}
	}
	deny := ParseList([]string{"Write", "Bash(git *)"})
	for tool, want := range map[string]bool{"write": true, "edit": true, "bash": false, "read": false} {
		if deny.DeniesTool(tool) != want {
			t.Errorf("DeniesTool(%s) = %v", tool, !want)
		}
	}
	for tool, want := range map[string]bool{"skill": true, "skill_read": true, "activate_skills": true, "deactivate_skill": true, "skill_search": false, "bash": false} {
		if AlwaysCallable(tool) != want {
			t.Errorf("AlwaysCallable(%s) = %v", tool, !want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"Read", "Bash(git *)", "Bash(a \"b\\", "mcp__a__*", "*", "X(${SKILL_DIR}/*)", "Read(//[)"} {
		f.Add(s, "git add 'x y'")
	}
	f.Fuzz(func(t *testing.T, pattern, line string) {
		l := ParseList([]string{pattern})
		call := shellCall(line)
		_, allow := l.Covers(call)
		_, deny := l.Denies(call)
		if allow && !deny {
			t.Errorf("%q covers %q and does not deny it", pattern, line)
		}
		if l[0].Err != nil {
			return
		}
		e := l[0].Expand(map[string]string{"SKILL_DIR": "/a b'\"*"})
		again, err := Parse(e.String())
		if err != nil && len(e.String()) <= maxPattern {
			t.Errorf("%q expands to %q: %v", pattern, e, err)
		}
		_ = again
	})
}
