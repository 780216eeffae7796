package skill

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// argumentValues is what a session hands over for raw arguments.
func argumentValues(raw string, names ...string) map[string]string {
	values := map[string]string{"SKILL_DIR": "/s", "SKILL_NAME": "n", "PROJECT_DIR": "/p"}
	if raw == "" {
		return values
	}
	values["ARGUMENTS"] = raw
	for i, w := range quotedWords(raw) {
		values[itoa(i)] = w
		if i < len(names) {
			values[names[i]] = w
		}
	}
	return values
}

// quotedWords cuts at blanks outside quotes: enough of a shell for these tests.
func quotedWords(raw string) (out []string) {
	var open rune
	word := ""
	for _, r := range raw + " " {
		switch {
		case r == open:
			open = 0
		case open == 0 && (r == '"' || r == '\''):
			open = r
		case open == 0 && r == ' ':
			if word != "" {
				out = append(out, word)
			}
			word = ""
		default:
			word += string(r)
		}
	}
	return out
}

func itoa(i int) string {
	if i < 10 {
		return string(rune('0' + i))
	}
	return itoa(i/10) + itoa(i%10)
}

func TestSubstitute(t *testing.T) {
	t.Parallel()
	declared := SubstituteOptions{Declares: true, SkipCode: true, Names: []string{"from", "to"}}
	bare := SubstituteOptions{SkipCode: true}
	claude := SubstituteOptions{Dialect: ClaudeCode, Names: []string{"from"}}
	blade := SubstituteOptions{Dialect: Blade}
	for _, c := range []struct {
		name, text, raw string
		o               SubstituteOptions
		want            string
	}{
		{"raw text", "do $ARGUMENTS now", `A "B C" D`, declared, `do A "B C" D now`},
		{"raw text in code", "`$ARGUMENTS` {{args}} {{ args.raw }}", "x", bare, "`x` x x"},
		{"raw text, none given", "[$ARGUMENTS]", "", bare, "[]"},
		{"word by index", "$ARGUMENTS[0] $ARGUMENTS[1] $ARGUMENTS[9]", `A "B C"`, bare, "A B C $ARGUMENTS[9]"},
		{"word by index in code", "`$ARGUMENTS[0]`", "A", bare, "`A`"},
		{"index that is no number", "$ARGUMENTS[x]", "A", bare, "A[x]"},
		{"longer name", "$ARGUMENTS_DIR", "A", bare, "$ARGUMENTS_DIR"},
		{"positions", "$0 $1 $2", `A "B C" D`, declared, "A B C D"},
		{"missing positions stay", "$0 $1 $2.", "A", declared, "A $1 $2."},
		{"ten is ten", "$10", "a b c d e f g h i j k", declared, "k"},
		{"three digits stay", "$100", "a b", declared, "$100"},
		{"positions need a declaration", "$0 $1", "A B", bare, "$0 $1"},
		{"amounts", "$0,5 $1.07 $0M $1,500 $0_x $$1", "A B", declared, "$0,5 $1.07 $0M $1,500 $0_x $$1"},
		{"position at the end of a sentence", "$0. $0, $0!", "A", declared, "A. A, A!"},
		{"code is left alone", "`$0` and\n\n```\nawk '{print $1}'\n```\n\n    $0\n\n$0", "A B", declared, "`$0` and\n\n```\nawk '{print $1}'\n```\n\n    $0\n\nA"},
		{"code in lists and quotes", "- `$0`\n> `$1`\n", "A B", declared, "- `$0`\n> `$1`\n"},
		{"names", "$from to $to; ${from} ${to}", "A B", declared, "A to B; A B"},
		{"missing names are empty", "[$from][$to][${to}]", "A", declared, "[A][][]"},
		{"names end at a word", "$fromage $from_x $from.", "A", declared, "$fromage $from_x A."},
		{"names in code", "`$from` `${from}`", "A", declared, "`$from` `A`"},
		{"names need a declaration", "$from ${from}", "A", bare, "$from ${from}"},
		{"facts", "${SKILL_DIR} ${CLAUDE_SKILL_DIR} ${DEFT_SKILL_DIR} ${SKILL_NAME} ${CLAUDE_PROJECT_DIR}", "", bare, "/s /s /s n /p"},
		{"facts in code", "`${SKILL_DIR}`", "", bare, "`/s`"},
		{"unset facts stay", "${EFFORT} ${PLUGIN_ROOT} ${user_config.KEY}", "", bare, "${EFFORT} ${PLUGIN_ROOT} ${user_config.KEY}"},
		{"unknown forms stay", "$HOME ${PATH} ${1} ${} $ {{x}} {{", "A", declared, "$HOME ${PATH} ${1} ${} $ {{x}} {{"},
		{"escapes", `\$0 \$ARGUMENTS \${SKILL_DIR} \{{args}}`, "A", declared, `$0 $ARGUMENTS ${SKILL_DIR} {{args}}`},
		{"escapes without arguments", `\$ARGUMENTS`, "", declared, `$ARGUMENTS`},
		{"escaped missing position", `\$7`, "A", declared, `$7`},
		{"doubled backslash", `\\$0`, "A", declared, `\A`},
		{"three backslashes", `\\\$0`, "A", declared, `\\A`},
		{"other backslashes stay", `\a \$HOME \\ $0\`, "A", declared, `\a \$HOME \\ A\`},
		{"escape where nothing is recognised", `\$0`, "A", bare, `\$0`},
		{"values are not looked at again", "$0 $1", `'$1' '${SKILL_DIR} $ARGUMENTS'`, declared, "$1 ${SKILL_DIR} $ARGUMENTS"},
		{"neighbours", "$0$1", "A B", declared, "AB"},
		{"prices", "It costs $5, $2,500, $0.07 or $5M; $99 is too much.", "ZULU YANKEE XRAY", bare, "It costs $5, $2,500, $0.07 or $5M; $99 is too much."},

		{"claude-code: positions always, in code too", "`$0` $1 $7 $2,500", "A B C", claude, "`A` B $7 C,500"},
		{"claude-code: any digits", "$10", "a b", claude, "$10"},
		{"claude-code: no neutral names", "{{args}} ${SKILL_DIR} ${CLAUDE_SKILL_DIR}", "A", claude, "{{args}} ${SKILL_DIR} /s"},
		{"claude-code: names and escapes", `$from \$0`, "A", claude, `A $0`},
		{"claude-code: raw text", "$ARGUMENTSX", "A", claude, "AX"},

		{"blade: args only", "{{args}} {{ args.raw }} $ARGUMENTS $0", "A", blade, "A A $ARGUMENTS $0"},
		{"blade: none given", "{{args}}", "", blade, "{{args}}"},
		{"blade: no escapes", `\{{args}}`, "A", blade, `\A`},

		{"minimax has no forms", "$ARGUMENTS {{args}}", "A", SubstituteOptions{Dialect: MiniMax, Declares: true}, "$ARGUMENTS {{args}}"},
		{"codex has no forms", "$ARGUMENTS {{args}}", "A", SubstituteOptions{Dialect: Codex, Declares: true}, "$ARGUMENTS {{args}}"},
	} {
		got, _ := Substitute(c.text, argumentValues(c.raw, c.o.Names...), c.o)
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSubstituteReportsWhatItMet(t *testing.T) {
	t.Parallel()
	_, used := Substitute("$0 ${SKILL_DIR} ${EFFORT} ${PATH} $7", argumentValues("A"), SubstituteOptions{Declares: true})
	want := []Used{
		{"$0", "0", 0, true, true},
		{"${SKILL_DIR}", "SKILL_DIR", 3, true, false},
		{"${EFFORT}", "EFFORT", 16, false, false},
		{"${PATH}", "PATH", 26, false, false},
		{"$7", "7", 34, false, false},
	}
	if diff := cmp.Diff(want, used); diff != "" {
		t.Error(diff)
	}
}

func TestSubstituteQuotes(t *testing.T) {
	t.Parallel()
	quote := func(s string) string { return "'" + s + "'" }
	got, _ := Substitute("git log $ARGUMENTS $7", argumentValues("a b"), SubstituteOptions{Declares: true, Quote: quote})
	if got != "git log 'a b' $7" {
		t.Errorf("%q", got)
	}
}

func TestTextWithoutFormsIsUntouched(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("ab `\\\n~>- é{}[]0"))).Draw(t, "text")
		if strings.Contains(text, "{{") {
			return
		}
		o := SubstituteOptions{Declares: true, SkipCode: true, Names: []string{"a"}}
		if got, used := Substitute(text, argumentValues("x y", "a"), o); got != text || len(used) > 0 {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func FuzzSubstitute(f *testing.F) {
	f.Add("do $0 `$1` ${SKILL_DIR} \\$ARGUMENTS {{args}} $from", "A B", uint8(0))
	f.Add("\\\\$0 $ARGUMENTS[1] $$1 ${x}", "$0 $1", uint8(6))
	f.Fuzz(func(t *testing.T, text, raw string, n uint8) {
		if !utf8.ValidString(text) || !utf8.ValidString(raw) {
			return
		}
		o := SubstituteOptions{Dialect: Dialects()[int(n)%len(Dialects())], Declares: n&1 == 0, SkipCode: n&2 == 0, Names: []string{"from", "to"}}
		values := argumentValues(raw, o.Names...)
		// A value that holds marks of its own must come out as it went in.
		const mark = "\ue000$0${SKILL_DIR}{{args}}\ue000"
		marked := map[string]string{}
		for k := range values {
			marked[k] = mark
		}
		got, used := Substitute(text, marked, o)
		if strings.Contains(text, "\ue000") {
			return
		}
		filled := 0
		for _, u := range used {
			if !strings.HasPrefix(text[u.Offset:], u.Form) {
				t.Fatalf("used %+v is not in the text", u)
			}
			if _, ok := marked[u.Name]; ok && u.Known {
				filled++
			}
		}
		if n := strings.Count(got, mark); n != filled {
			t.Fatalf("%d values inserted, %d found in %q", filled, n, got)
		}
		if len(used) == 0 && !strings.Contains(text, `\`) && got != text {
			t.Fatalf("%q became %q without a form", text, got)
		}
		for i, r := range CodeRegions([]byte(text)) {
			if r.Start < 0 || r.End > len(text) || r.Start >= r.End {
				t.Fatalf("region %d is %+v", i, r)
			}
		}
		if !slices.IsSortedFunc(used, func(a, b Used) int { return a.Offset - b.Offset }) {
			t.Fatal("used is not in the order of the text")
		}
	})
}
