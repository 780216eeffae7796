package command

import (
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/deftskills/deft/internal/shellcmd"
	"github.com/deftskills/deft/skill"
)

// given are arguments as a skill that declares them gets them.
func given(words ...string) Arguments {
	a := Arguments{Declares: true, Values: map[string]string{"ARGUMENTS": strings.Join(words, " "), "SKILL_DIR": "/skills/a b", "SKILL_NAME": "x"}}
	for i, w := range words {
		a.Values[string(rune('0'+i))] = w
	}
	return a
}

// filled is what insertion makes of a command for a shell, or why it does not.
func filled(text string, a Arguments) string {
	out, why := mark(text, "", a).shell()
	if why != "" {
		return "(" + string(why) + ")"
	}
	return out
}

func TestArgumentsAreQuotedForTheirPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"stub $0", `stub 'it'\''s'`},
		{`stub "$0"`, `stub ""'it'\''s'""`},
		{`stub '$0'`, `stub '''it'\''s'''`},
		{`stub a$0-b`, `stub a'it'\''s'-b`},
		{`stub "a $0 b"`, `stub "a "'it'\''s'" b"`},
		{"stub $7", "stub ''"},
		{"stub $0 | wc -l > $0", `stub 'it'\''s' | wc -l > 'it'\''s'`},
		{"stub $(stub2 $0)", `stub $(stub2 'it'\''s')`},
		{`stub "$(stub2 "$0")"`, `stub "$(stub2 ""'it'\''s'"")"`},
		{"x=$0 stub", `x='it'\''s' stub`},
		{"for f in $0; do stub $f; done", `for f in 'it'\''s'; do stub $f; done`},
		{"timeout 5 stub $0", `timeout 5 stub 'it'\''s'`},
		{"stub $HOME$0", `stub $HOME'it'\''s'`},
		{"${SKILL_DIR}/run.sh $0", `'/skills/a b'/run.sh 'it'\''s'`},
		{"stub ${SKILL_NAME}", "stub 'x'"},
		{"stub no placeholder", "stub no placeholder"},
		{"stub $99 $HOME", "stub '' $HOME"},

		{"awk '{print}' $0", `awk '{print}' 'it'\''s'`},
		{"python3.11 x.py $0", `python3.11 x.py 'it'\''s'`},
		{"find . -name $0", `find . -name 'it'\''s'`},
		{"grep -e $0 f", `grep -e 'it'\''s' f`},

		{"$0", "(argument)"},
		{"$0 x", "(argument)"},
		{"a$0 x", "(argument)"},
		{"x; $0", "(argument)"},
		{"PATH=$0 stub", "(argument)"},
		{"sh -c $0", "(argument)"},
		{`sh -c "echo $0"`, "(argument)"},
		{`/bin/bash -c 'echo $0'`, "(argument)"},
		{"eval $0", "(argument)"},
		{"awk $0 f", "(argument)"},
		{"awk '{print $0}' f", "(argument)"},
		{"awk -F , $0", "(argument)"},
		{"sed -n $0 f", "(argument)"},
		{"sed p x$0", "(argument)"},
		{"python3 -c $0", "(argument)"},
		{"python3 $0", "(argument)"},
		{"find . -exec $0 ;", "(argument)"},
		{"find $0", "(argument)"},
		{"xargs $0", "(argument)"},
		{"env $0", "(argument)"},
		{"env X=1 stub $0", "(argument)"},
		{"timeout 5 $0", "(argument)"},
		{"timeout -s KILL 5 $0", "(argument)"},
		{"timeout 5 sh -c $0", "(argument)"},
		{"nohup $0", "(argument)"},
		{"exec -a x $0", "(argument)"},
		{"sudo stub $0", "(argument)"},
		{"git -c core.pager=$0 log", "(argument)"},
		{"printf -v $0 x", "(argument)"},
		{"$X $0", "(argument)"},
		{"stub `stub2 $0`", "(argument)"},
		{"stub $((1+$0))", "(argument)"},
		{"stub ${x:-$0}", "(argument)"},
		{"stub # $0", "(argument)"},
		{"cat <<X\n$0\nX", "(argument)"},
		{"stub $'$0'", "(argument)"},
		{`stub \\$0`, `stub \'it'\''s'`},
		{"[[ -v $0 ]]", "(argument)"},
		{"export X=$0", "(argument)"},
		{"f() { stub $0; }; f", "(argument)"},
		{"stub 'open", "(parse)"},
		{"stub )", "(parse)"},
	} {
		got := filled(tt.text, given("it's"))
		if tt.text == `stub \\$0` { // one backslash in front of the value: nothing may be cut loose
			if strings.HasSuffix(got, `stub \'it'\''s'`) {
				t.Errorf("%s: %s", tt.text, got)
			}
			continue
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.text, got, tt.want)
		}
	}
}

func TestOptionsInPlaceOfFilesAreRefusedWhereTheyRunPrograms(t *testing.T) {
	t.Parallel()
	for text, value := range map[string]string{"find . $0": "-delete", "sed p $0": "-es/x/id/e", "find . -newer $0": "-exec"} {
		if got := filled(text, given(value)); got != "(argument)" {
			t.Errorf("%s with %s: %s", text, value, got)
		}
	}
	if got := filled("stub $0", given("--flag")); got != "stub '--flag'" {
		t.Errorf("a flag for another program: %s", got)
	}
}

func TestListModePutsEachValueIntoItsWord(t *testing.T) {
	t.Parallel()
	l := Prefixes("stub", "git log", "/skills/a", "python3")
	for text, want := range map[string]string{
		"stub $0": "stub|; id", `stub "$0" x`: "stub|; id|x", "stub a$0-b": "stub|a; id-b", "stub '$0'": "stub|; id",
		"git $0": "(policy)", "$0 x": "(policy)", "python3 -c $0": "(argument)", "stub $0; id": "(policy)",
	} {
		words, why := mark(text, "", given("; id")).words(l)
		got := strings.Join(words, "|")
		if why != "" {
			got = "(" + string(why) + ")"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	a := given("x")
	a.Values["SKILL_DIR"] = "/skills/a"
	if words, why := mark("${SKILL_DIR} $0", "", a).words(l); !slices.Equal(words, []string{"/skills/a", "x"}) {
		t.Errorf("a fact of the host: %q %s", words, why)
	}
}

// places are commands with one placeholder that a value may be put into.
var places = []string{
	"stub $0", `stub "$0"`, "stub '$0'", "stub x$0/y", `stub "x $0 y" z`, "stub 'x $0 y' z", "a | stub $0 && b", "v=$0 stub", "stub < $0",
	"stub $(stub $0)", `stub "$(stub "$0")"`, "if stub $0; then a; fi", "stub $HOME $0 *.go",
}

// FuzzArgumentsStayOneWord reads the filled command again and compares it, word by word,
// with the command that holds a plain word in place of the value.
func FuzzArgumentsStayOneWord(f *testing.F) {
	for _, v := range []string{"two words", "it's", "$(id)", "`id`", "; id", "\n", `\`, "'", `"`, "'; id; '", "%deft0Z", "$0", "!`x`", "--flag", "", "~", "{a,b}", "*", "#", "\\\n"} {
		for i := range places {
			f.Add(i, v)
		}
	}
	f.Fuzz(func(t *testing.T, place int, value string) {
		text := places[(place%len(places)+len(places))%len(places)]
		in := mark(text, skill.Deft, given(value))
		out, why := in.shell()
		if why != "" || !readable(out) {
			return
		}
		const plain = "plainWORD"
		want, _ := mark(text, skill.Deft, given(plain)).shell()
		a, b := wordsOf(t, out), wordsOf(t, want)
		for i := range b {
			b[i] = strings.ReplaceAll(b[i], plain, value)
		}
		if !slices.Equal(a, b) {
			t.Fatalf("%s with %q: %s\nwords %q\nwant  %q", text, value, out, a, b)
		}
	})
}

// wordsOf are the texts of all words of a command.
func wordsOf(t *testing.T, text string) []string {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var out []string
	syntax.Walk(file, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			read, _ := shellcmd.ReadWord(w)
			out = append(out, read.Text)
		}
		return true
	})
	return out
}
