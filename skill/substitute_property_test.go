package skill

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// same are pieces of text that come out as they went in, whatever a skill declares:
// amounts, fields of awk, variables of shells, code.
var same = []string{
	"$2,500", "$0.07", "$1.5", "$5M", "$3k", "$9x", "US$ 5", "$$1", "$$from", "$HOME", "${PATH}", "${1}", "$(date +%F)", "$", "{{x}}", "{{", "$fromage", "${fro}",
	`\n`, "\\", "`awk '{print $1}'`", "``a ` $0 $from``", "`$1`",
}

// blocks are paragraphs of their own that come out as they went in.
var blocks = []string{
	"```sh\nawk '!seen[$0]++ {print $2}' a.log\necho $from\n```", "~~~\n$0 $1\n~~~", "  ```\n  $0 \\$1\n  ```", "    awk '{print $1, $from}'\n    $0",
	"> ```\n> $0\n> ```", "- item\n\n  ```\n  $1 $to\n  ```", "````\n```\n$0\n```\n````",
}

// Placeholders with the key of the value that they take: bound ones count outside code of
// a skill that declares arguments, free ones everywhere.
var (
	bound = map[string]string{"$0": "0", "$1": "1", "$7": "7", "$12": "12", "$from": "from", "$to": "to"}
	free  = map[string]string{
		"$ARGUMENTS": "ARGUMENTS", "{{args}}": "ARGUMENTS", "{{ args.raw }}": "ARGUMENTS", "$ARGUMENTS[0]": "0", "$ARGUMENTS[7]": "7",
		"${SKILL_DIR}": "SKILL_DIR", "${CLAUDE_SKILL_DIR}": "SKILL_DIR", "${DEFT_SKILL_DIR}": "SKILL_DIR", "${PROJECT_DIR}": "PROJECT_DIR", "${EFFORT}": "EFFORT",
	}
)

// drawn is a text, and what has to become of it.
type drawn struct{ text, want string }

func (d *drawn) add(text, want string) {
	d.text += text
	d.want += want
}

// drawValues gives some of the keys a value, which may itself look like anything.
func drawValues(t *rapid.T) map[string]string {
	values := map[string]string{}
	for _, key := range []string{"ARGUMENTS", "0", "1", "7", "from", "to", "SKILL_DIR", "PROJECT_DIR"} {
		if rapid.Bool().Draw(t, key) {
			values[key] = rapid.SampledFrom([]string{"v", "", "$0", "$1 $from", "${SKILL_DIR}", "{{args}}", `\$0`, "`", "```\n", "\n    ", "$ARGUMENTS[1]", "é"}).Draw(t, "value")
		}
	}
	return values
}

// drawText makes a text of pieces of which each is known.
func drawText(t *rapid.T, values map[string]string, declares bool) drawn {
	var d drawn
	value := func(key, missing string) string {
		if v, ok := values[key]; ok {
			return v
		}
		return missing
	}
	for range rapid.IntRange(0, 8).Draw(t, "paragraphs") {
		if rapid.Bool().Draw(t, "block") {
			b := rapid.SampledFrom(blocks).Draw(t, "block")
			d.add("Text.\n\n"+b+"\n\nText.\n\n", "Text.\n\n"+b+"\n\nText.\n\n")
			continue
		}
		for range rapid.IntRange(1, 6).Draw(t, "words") {
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				p := rapid.SampledFrom(same).Draw(t, "same")
				d.add(p, p)
			case 1:
				form := rapid.SampledFrom(slices.Sorted(maps.Keys(free))).Draw(t, "free")
				missing := form
				if free[form] == "ARGUMENTS" {
					missing = ""
				}
				v := value(free[form], missing)
				if rapid.Bool().Draw(t, "in code") {
					form, v = "`"+form+"`", "`"+v+"`"
				}
				d.add(form, v)
			case 2:
				form := rapid.SampledFrom(slices.Sorted(maps.Keys(bound))).Draw(t, "bound")
				v := form
				if declares {
					v = value(bound[form], map[bool]string{true: "", false: form}[form == "$from" || form == "$to"])
				}
				d.add(form, v)
			}
			d.add(" ; ", " ; ")
		}
		d.add("\n\n", "\n\n")
	}
	return d
}

// Code, amounts and fields of awk are the bytes that they were, placeholders are their
// values and nothing else is, no value is read again, and the order of the declared names
// makes no difference.
func TestSubstitutionChangesPlaceholdersAndNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := drawValues(t)
		o := SubstituteOptions{Declares: rapid.Bool().Draw(t, "declares"), SkipCode: true}
		if o.Declares {
			o.Names = rapid.Permutation([]string{"from", "to", "f", "fr"}).Draw(t, "names")
		}
		d := drawText(t, values, o.Declares)
		got, used := Substitute(d.text, values, o)
		if got != d.want {
			t.Fatalf("%q\nwith %q\ngot  %q\nwant %q", d.text, values, got, d.want)
		}
		slices.Reverse(o.Names)
		again, _ := Substitute(d.text, values, o)
		if again != got {
			t.Fatalf("another order of names: %q, was %q", again, got)
		}
		for _, u := range used {
			if !strings.HasPrefix(d.text[u.Offset:], u.Form) {
				t.Fatalf("used %+v is not in the text", u)
			}
		}
	})
}

// In a skill that declares nothing only the forms that count everywhere change anything.
func TestASkillThatDeclaresNothingKeepsItsDollars(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("$$$$012,.kM `\n\\~>-{}[] afromtz("))).Draw(t, "text")
		if strings.Contains(text, "{{") || strings.Contains(text, "${") {
			return
		}
		values := map[string]string{"ARGUMENTS": "A", "0": "B", "1": "C", "2": "D", "from": "E"}
		if got, used := Substitute(text, values, SubstituteOptions{SkipCode: true}); got != text || len(used) > 0 {
			t.Fatalf("%q became %q by %+v", text, got, used)
		}
	})
}

// FuzzToolList holds that a list of tools is split where people part them and nowhere
// else: no character is lost but what parts, no pattern is cut in its brackets.
func FuzzToolList(f *testing.F) {
	for _, s := range []string{"Read, Grep", "Bash(git commit:*), Read", "Bash(git commit:*) Read", "Bash (git *)", "a(b(c d) e) f", "a(b", "a)b c", ",,", "(x)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		entries := splitTools(text)
		parting := func(s string) string { return strings.NewReplacer(",", "", " ", "", "\t", "", "\n", "").Replace(s) }
		if a, b := strings.Join(strings.Fields(parting(text)), ""), strings.Join(strings.Fields(parting(strings.Join(entries, ""))), ""); a != b {
			t.Fatalf("%q gives %q", text, entries)
		}
		for i, e := range entries {
			if strings.TrimSpace(e) != e || e == "" {
				t.Fatalf("entry %d of %q is %q", i, text, e)
			}
			if parensBalanced(text) && !parensBalanced(e) {
				t.Fatalf("%q is cut inside brackets: %q", text, entries)
			}
		}
		if again := splitTools(strings.Join(entries, ", ")); parensBalanced(text) && !slices.Equal(again, entries) {
			t.Fatalf("%q gives %q, and these %q", text, entries, again)
		}
	})
}
