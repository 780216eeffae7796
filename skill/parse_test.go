package skill

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// codesOf returns the diagnostics as "code@line:column", in order.
func codesOf(s *Skill) string {
	var out []string
	for _, d := range s.Diagnostics {
		out = append(out, fmt.Sprintf("%s@%d:%d", d.Code, d.Line, d.Column))
	}
	return strings.Join(out, " ")
}

// header wraps lines into a file with a body.
func header(lines string) string { return "---\n" + lines + "\n---\nDo it.\n" }

const good = "name: a\ndescription: d\n"

// fixture is a file and a diagnostic that it has.
type fixture struct {
	src      string
	want     string // code@line:column, the column in code points
	level    Level
	message  string // part of it
	fix      string // part of it
	options  ParseOptions
	sidecars map[string]string
}

func (f fixture) parse() *Skill {
	o := f.options
	o.Path = "skills/a/SKILL.md"
	if o.DirName == "" {
		o.DirName = "a"
	}
	for name, text := range f.sidecars {
		if o.Sidecars == nil {
			o.Sidecars = map[string][]byte{}
		}
		o.Sidecars[name] = []byte(text)
	}
	return Parse([]byte(f.src), o)
}

// fixtures holds at least one file for every code that reading a file can give.
func fixtures() []fixture {
	long := func(n int) string { return strings.Repeat("é", n) }
	config := func(text string) map[string]string { return map[string]string{SidecarConfig: text} }
	minimax := ParseOptions{Dialect: MiniMax}
	return []fixture{
		{src: "", want: "file_empty@1:1", level: LevelError},
		{src: " \n\t\n", want: "file_empty@1:1", level: LevelError},
		{src: "---\nname: \xe9\n---\n", want: "not_utf8@2:7", level: LevelError, message: "offset 10"},
		{src: "\xff\xfe-\x00", want: "not_utf8@1:1", level: LevelError, message: "UTF-16"},
		{src: "---\n" + good + "---\né\x00", want: "nul_byte@5:2", level: LevelError, message: "offset"},
		{src: "\ufeff" + header(good), want: "bom@1:1", level: LevelInfo},
		{src: header("d: " + strings.Repeat("x", 64<<10)), want: "limit_header@2:65537", level: LevelError, message: "65536"},
		{src: header("d: [" + strings.Repeat("a, ", 1000) + "b]"), want: "limit_nodes@2:2997", level: LevelError, message: "1000"},
		{src: header("d: " + strings.Repeat("[", 17) + strings.Repeat("]", 17)), want: "limit_depth@2:19", level: LevelError, message: "16"},
		{src: "Just text.\n", want: "header_missing@1:1", level: LevelWarning},
		{src: "---\nname: a\n", want: "header_unclosed@1:1", level: LevelError},
		{src: "---\n" + good + "---\n \n", want: "body_empty@4:1", level: LevelWarning},
		{src: "---\n" + good + "---", want: "body_empty@4:1", level: LevelWarning},
		{src: "Just text.\n", want: "frontmatter_missing@1:1", level: LevelInfo, options: minimax},
		{src: "---\nname: a\n", want: "frontmatter_unclosed@1:1", level: LevelError, options: minimax},
		{src: header("description: a: b"), want: "frontmatter_invalid_yaml@2:15", level: LevelWarning, options: minimax},
		{src: header("- a"), want: "frontmatter_not_mapping@2:1", level: LevelWarning, options: minimax},
		{src: header("name: a") + "## x\n", want: "missing_title@1:1", level: LevelWarning, options: minimax},
		{src: "---\nname: a\n---\n# x\n", want: "missing_description@1:1", level: LevelWarning, options: minimax},
		{src: header("title: t"), want: "missing_name@1:1", level: LevelError, options: ParseOptions{Dialect: MiniMax, DirName: " "}},
		{src: "---js\n---\n", want: "header_language@1:1", level: LevelError, options: ParseOptions{Dialect: Mastra}},

		{src: header(good + "x: [a"), want: "yaml_syntax@4:1", level: LevelError},
		{src: header(good + "x: {a: \x01}"), want: "yaml_syntax@4:8", level: LevelError, message: "control"},
		{src: header(good + "x:\n\ty: 1"), want: "yaml_tab@5:1", level: LevelError},
		{src: header(good + "name: b"), want: "yaml_duplicate_key@4:1", level: LevelError, message: "line 2"},
		{src: header(good + "x:\n  y: 1\n  y: 2"), want: "yaml_duplicate_key@6:3", level: LevelError, message: "line 5"},
		{src: header("- a\n- b"), want: "yaml_not_mapping@2:1", level: LevelError},
		{src: header("just text"), want: "yaml_not_mapping@2:1", level: LevelError},
		{src: header(good + "...\nb: c"), want: "yaml_documents@5:1", level: LevelError},
		{src: header(good + "x: &a b\ny: *a"), want: "yaml_alias@4:4", level: LevelError, message: "&a"},
		{src: header(good + "y: *a"), want: "yaml_alias@4:4", level: LevelError, message: "*a"},
		{src: header(good + "<<: {x: y}"), want: "yaml_merge@4:1", level: LevelError},
		{src: header(good + "x: !!str y"), want: "yaml_tag@4:4", level: LevelError, message: "!!str"},
		{src: header(good + "x: ! y"), want: "yaml_tag@4:4", level: LevelError},

		{src: header("name: a\ndescription: é: b"), want: "recovered_colon@3:14", level: LevelWarning, fix: "quote the value"},
		{src: header(good + "argument-hint: [--fast] [--deep]"), want: "recovered_brackets@4:16", level: LevelWarning},
		{src: header("name: a\ndescription: **bold** text"), want: "recovered_indicator@3:14", level: LevelWarning},
		{src: header("name: a\ndescription: \"Deploy\" the app"), want: "recovered_quotes@3:14", level: LevelWarning},
		{src: header("name: a\ndescription: é x # lost"), want: "comment_in_value@3:18", level: LevelWarning, message: "# lost"},
		{src: header(good + "colour: red"), want: "key_unknown@4:1", level: LevelInfo},
		{src: header(good + "metadata:\n  minara:\n    colour: red"), want: "key_unknown@6:5", level: LevelWarning},
		{src: header(good + "descriptoin: x"), want: "key_typo@4:1", level: LevelWarning, fix: "did you mean description"},
		{src: header(good + "allowed-tools: A\nallowed_tools: B"), want: "key_alias_conflict@5:1", level: LevelWarning},
		{src: header(good + "scope: turn\nmetadata:\n  deft:\n    scope: session"), want: "block_conflict@4:1", level: LevelWarning, message: "metadata.deft.scope"},
		{src: header(good + "metadata:\n  minara:\n    priority: 1"), sidecars: config(`{"priority": 2}`), want: "sidecar_conflict@6:5", level: LevelWarning, message: "2"},
		{src: header(good + "license: [a]"), want: "type_mismatch@4:10", level: LevelWarning, fix: "write text"},
		{src: header(good + "disable-model-invocation: ture"), want: "bool_invalid@4:27", level: LevelWarning, message: "read as true", fix: "write true"},
		{src: header(good + "scope: forever"), want: "value_enum@4:8", level: LevelWarning, fix: "one of turn, session"},
		{src: header(good + "compatibility: " + long(501)), want: "value_range@4:16", level: LevelWarning, message: "501", fix: "between 1 and 500"},
		{src: header("name: a\ndescription:"), want: "value_empty@3:1", level: LevelWarning},
		{src: header("name: ~\ndescription: d"), want: "value_empty@2:1", level: LevelWarning},
		{src: header(good + "argument-hint: [query]"), want: "hint_brackets@4:16", level: LevelInfo},
		{src: header(good + "metadata:\n  a: {b: c}"), want: "metadata_not_string@5:6", level: LevelInfo},
		{src: header(good + "descriptions:\n  zh: [x]"), want: "locale_value@5:7", level: LevelInfo},
		{src: header(good + "allowed-tools: Read, Bash(git add *"), want: "tool_pattern_unbalanced@4:16", level: LevelWarning, message: "Bash(git add *"},
		{src: header(good + "metadata:\n  minara:\n    id: A.b"), want: "id_invalid@6:9", level: LevelWarning},
		{src: header(good + "metadata:\n  minara:\n    routing:\n      keywords: [a, ' ']"), want: "keyword_empty@7:21", level: LevelWarning},
		{src: header(good), sidecars: config("{\n  \"priority\": }"), want: "sidecar_invalid@2:15", level: LevelWarning},

		{src: header("description: d"), want: "name_missing@1:1", level: LevelWarning, fix: "add name: a"},
		{src: header("name: " + strings.Repeat("a", 65) + "\ndescription: d"), want: "name_length@2:7", level: LevelWarning, message: "65"},
		{src: header("name: Mailer\ndescription: d"), want: "name_case@2:7", level: LevelWarning, fix: "rename to mailer"},
		{src: header("name: a b!\ndescription: d"), want: "name_chars@2:7", level: LevelWarning, fix: "rename to a-b"},
		{src: header("name: a--b\ndescription: d"), want: "name_hyphens@2:7", level: LevelWarning, fix: "rename to a-b"},
		{src: header("name: हिन्दी\ndescription: d"), want: "name_mark@2:7", level: LevelInfo},
		{src: header("name: b\ndescription: d"), want: "name_directory@2:7", level: LevelWarning, message: `"a"`},
		{src: header("name: ../b\ndescription: d"), want: "name_unsafe@2:7", level: LevelWarning},
		{src: "---\nname: a\n---\n# x\n", want: "description_missing@1:1", level: LevelWarning},
		{src: "---\nname: a\n---\n# x\n\nProse here.\n", want: "description_derived@6:1", level: LevelInfo},
		{src: header("name: a\ndescription: " + long(1025)), want: "description_long@3:14", level: LevelWarning, message: "1025 characters, the limit is 1024"},
	}
}

func TestDiagnosticsAreLocated(t *testing.T) {
	t.Parallel()
	for _, f := range fixtures() {
		s := f.parse()
		found := false
		for _, d := range s.Diagnostics {
			if fmt.Sprintf("%s@%d:%d", d.Code, d.Line, d.Column) != f.want {
				continue
			}
			found = true
			if d.Level != f.level || !strings.Contains(d.Message, f.message) || !strings.Contains(d.Fix, f.fix) {
				t.Errorf("%s: %+v", f.want, d)
			}
			if !strings.HasPrefix(d.File, "skills/a/") || strings.HasSuffix(d.Message, ".") || d.Message == "" {
				t.Errorf("%s: file %q, message %q", f.want, d.File, d.Message)
			}
		}
		if !found {
			t.Errorf("%q: want %s, have %s: %+v", clip(f.src, 80), f.want, codesOf(s), s.Diagnostics)
		}
	}
}

func TestErrorsMakeASkillInvalidAndKeepItsEntry(t *testing.T) {
	t.Parallel()
	for _, f := range fixtures() {
		s := f.parse()
		errors := 0
		for _, d := range s.Diagnostics {
			if d.Level == LevelError {
				errors++
			}
		}
		if minimax := f.options.Dialect == MiniMax; s.Valid != (errors == 0 || minimax) {
			t.Errorf("%s: valid %v with %d errors", f.want, s.Valid, errors)
		}
		if !s.Valid && (s.Name != "a" || s.Key != "a" || s.Description != "" || !s.Meta.DisableModelInvocation || s.Raw() != nil && s.header == "" && s.Raw().Len() > 0) {
			t.Errorf("%s: an invalid skill says %+v", f.want, s)
		}
	}
}

func TestFileOverTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	s := Parse(make([]byte, 1<<20+1), ParseOptions{DirName: "a"})
	if s.Valid || len(s.Diagnostics) != 1 || s.Diagnostics[0].Code != "limit_file" || !strings.Contains(s.Diagnostics[0].Message, "1048577 bytes, the limit is 1048576") {
		t.Errorf("%+v", s.Diagnostics)
	}
}

func TestHostileHeadersEndWithTheirLimit(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	for _, c := range []struct {
		name, src string
		dialect   Dialect
		want      string
	}{
		{"alias bomb", header(bomb), Deft, "yaml_alias"},
		{"alias bomb where aliases are read", header(bomb), MiniMax, "frontmatter_invalid_yaml"},
		{"alias that holds itself", header("a: &a [*a]"), MiniMax, "frontmatter_invalid_yaml"},
		{"20,000 brackets", header("a: " + strings.Repeat("[", 20_000)), Deft, "limit_depth"},
		{"20,000 braces", header("a: " + strings.Repeat("{", 20_000)), Deft, "limit_depth"},
		{"20,000 dashes", header(strings.Repeat("- ", 20_000)), Deft, "limit_depth"},
		{"20,000 question marks", header(strings.Repeat("? ", 20_000)), Deft, "limit_depth"},
		{"20,000 keys", header(strings.Repeat("k: v\n", 10_000)), Deft, "limit_nodes"},
		{"8 MiB scalar", header("a: " + strings.Repeat("x", 8<<20)), Deft, "limit_file"},
		{"deep indentation", header(stairs(200)), Deft, "limit_depth"},
	} {
		s := Parse([]byte(c.src), ParseOptions{DirName: "a", Dialect: c.dialect})
		if !strings.Contains(codesOf(s), c.want) {
			t.Errorf("%s: %s", c.name, clip(codesOf(s), 200))
		}
	}
}

func stairs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%sk:\n", strings.Repeat(" ", i))
	}
	return b.String()
}

func TestDiagnosticsOfAFileAreLimited(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 150 {
		fmt.Fprintf(&b, "zzunknown%d: x\n", i)
	}
	s := Parse([]byte(header(good+b.String())), ParseOptions{DirName: "a"})
	if len(s.Diagnostics) != 100 || !strings.HasSuffix(s.Diagnostics[99].Message, "; 50 more findings") {
		t.Errorf("%d diagnostics, last %+v", len(s.Diagnostics), s.Diagnostics[len(s.Diagnostics)-1])
	}
}

func TestDialectsStopALoadWhereTheySay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, src string
		valid     map[Dialect]bool // others: false
	}{
		{"no header", "# T\n\nProse.\n", map[Dialect]bool{Deft: true, Minara: true, MiniMax: true, ClaudeCode: true}},
		{"broken header", header("name: [a"), map[Dialect]bool{MiniMax: true, ClaudeCode: true}},
		{"unclosed header", "---\nname: a\n", map[Dialect]bool{MiniMax: true}},
		{"no description", "---\nname: a\n---\nProse.\n", map[Dialect]bool{Deft: true, Minara: true, MiniMax: true, ClaudeCode: true}},
		{"long description", header("name: a\ndescription: " + strings.Repeat("x", 1025)), map[Dialect]bool{Deft: true, Minara: true, MiniMax: true, ClaudeCode: true, AgentSkills: true}},
		{"good", header(good), map[Dialect]bool{Deft: true, Minara: true, MiniMax: true, ClaudeCode: true, AgentSkills: true, Codex: true, Blade: true, Mastra: true}},
		{"no name", header("description: d"), map[Dialect]bool{Deft: true, Minara: true, MiniMax: true, ClaudeCode: true, AgentSkills: true, Codex: true}},
	} {
		for _, d := range Dialects() {
			s := Parse([]byte(c.src), ParseOptions{Dialect: d, DirName: "a"})
			if s.Valid != c.valid[d] {
				t.Errorf("%s in %s: valid %v (%s)", c.name, d, s.Valid, codesOf(s))
			}
			if s.Name == "" {
				t.Errorf("%s in %s: no name", c.name, d)
			}
		}
	}
}

func TestMiniMaxReadsAnchors(t *testing.T) {
	t.Parallel()
	s := Parse([]byte(header("name: &n abc\ntitle: *n\ndescription: &d [x]\nz: *d")), ParseOptions{Dialect: MiniMax, DirName: "a"})
	if s.Name != "abc" || s.Title != "abc" || s.Raw().Get("z").Content[0].Value != "x" {
		t.Errorf("name %q, title %q, %+v", s.Name, s.Title, s.Raw().Get("z"))
	}
}

func TestPartsHaveDigestsOfTheirOwn(t *testing.T) {
	t.Parallel()
	src := []byte("---\r\na: b\r\n---\nbody\r\n")
	p := Split(src)
	if p.HeaderDigest(src) != FileDigest([]byte("a: b\r\n")) || p.BodyDigest(src) != FileDigest([]byte("body\r\n")) {
		t.Error("digests are not over the raw bytes")
	}
}

func TestASkillWithoutAnyNameHasOne(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"text", header("name: [a"), ""} {
		if s := Parse([]byte(src), ParseOptions{}); s.Name == "" || s.Name != s.Handle || s.Key != s.Name {
			t.Errorf("%q: name %q, handle %q", src, s.Name, s.Handle)
		}
	}
}

func TestRecoveryIsOfDeftAndMinaraOnly(t *testing.T) {
	t.Parallel()
	src := []byte(header("name: a\ndescription: a: b"))
	for _, d := range Dialects() {
		s := Parse(src, ParseOptions{Dialect: d, DirName: "a"})
		if got, want := s.Description == "a: b", d == Deft || d == Minara; got != want {
			t.Errorf("%s: recovered %v", d, got)
		}
	}
}

func TestCRLFAndLFGiveTheSameSkill(t *testing.T) {
	t.Parallel()
	lf := "---\nname: crlf-note\ndescription: |\n  Summarise\n  a note.\nallowed-tools:\n  - Read\n  - Grep\n---\n# Note\n\ntext\n"
	crlf := strings.ReplaceAll(lf, "\n", "\r\n")
	a := Parse([]byte(lf), ParseOptions{DirName: "crlf-note"})
	b := Parse([]byte(crlf), ParseOptions{DirName: "crlf-note"})
	if a.Description != b.Description || a.Title != b.Title || codesOf(a) != codesOf(b) || !a.Raw().Equal(b.Raw()) {
		t.Errorf("LF %+v, CRLF %+v", a, b)
	}
	if a.File == b.File {
		t.Error("digests are over raw bytes")
	}
}

func TestParseKeepsNoBytesOfTheCaller(t *testing.T) {
	t.Parallel()
	src := []byte(header("name: a\ndescription: \"kept\"\nallowed-tools: [Read]") + "# Title\n")
	s := Parse(src, ParseOptions{DirName: "a"})
	for i := range src {
		src[i] = 'x'
	}
	if s.Name != "a" || s.Description != "kept" || s.Title != "Title" || s.Meta.AllowedTools.Entries[0] != "Read" || s.Raw().Get("description").Source != `"kept"` {
		t.Errorf("%+v", s)
	}
}

func TestDigestCoversSidecars(t *testing.T) {
	t.Parallel()
	src := []byte(header(good))
	plain := Parse(src, ParseOptions{})
	one := Parse(src, ParseOptions{Sidecars: map[string][]byte{SidecarConfig: []byte("{}")}})
	two := Parse(src, ParseOptions{Sidecars: map[string][]byte{SidecarConfig: []byte("{ }")}})
	if plain.Digest != FileDigest(src) || plain.File != one.File || one.Digest == plain.Digest || one.Digest == two.Digest {
		t.Errorf("digests %s, %s, %s", plain.Digest, one.Digest, two.Digest)
	}
}

func TestDataDirPlaceholder(t *testing.T) {
	t.Parallel()
	src := []byte("---\nname: a\ntitle: T {{DATA_DIR}}\ndescription: Reads {{DATA_DIR}}/x.\n---\nb\n")
	for _, d := range Dialects() {
		s := Parse(src, ParseOptions{Dialect: d, DataDir: `C:\data`})
		replaced := s.Description == "Reads C:/data/x."
		if want := d == Deft || d == MiniMax; replaced != want || s.Title != "T {{DATA_DIR}}" {
			t.Errorf("%s: %q, %q", d, s.Description, s.Title)
		}
	}
	if s := Parse(src, ParseOptions{}); s.Description != "Reads {{DATA_DIR}}/x." {
		t.Errorf("without a data directory: %q", s.Description)
	}
}

func TestOriginNamesKeyAndLine(t *testing.T) {
	t.Parallel()
	src := []byte(header(good + "allowedTools: Read\nmetadata:\n  deft:\n    priority: 3\n    conditions:\n      requires_env: [A]"))
	s := Parse(src, ParseOptions{DirName: "a", Sidecars: map[string][]byte{SidecarConfig: []byte("{\n \"kind\": \"external\"}")}})
	for field, want := range map[string]Origin{
		"allowed-tools":           {skillFile, "allowedTools", 4},
		"priority":                {skillFile, "metadata.deft.priority", 7},
		"conditions.requires_env": {skillFile, "metadata.deft.conditions.requires_env", 9},
		"kind":                    {SidecarConfig, "kind", 2},
		"model":                   {},
	} {
		if got := s.Origin(field); got != want {
			t.Errorf("Origin(%q) = %+v, want %+v", field, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, x := range fixtures() {
		f.Add([]byte(x.src), uint8(0))
	}
	for i, file := range corpus(f, "skills-oddities.tar.gz") {
		if len(file.src) < 4000 {
			f.Add(file.src, uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, n uint8) {
		d := Dialects()[int(n)%len(Dialects())]
		s := Parse(src, ParseOptions{Dialect: d, DirName: "dir", Path: "dir/SKILL.md"})
		if s.Name == "" || s.Handle == "" || !utf8.ValidString(s.Name+s.Title+s.Description) {
			t.Fatalf("name %q, handle %q, title %q, description %q", s.Name, s.Handle, s.Title, s.Description)
		}
		if !s.Valid && len(s.Diagnostics) == 0 {
			t.Fatal("invalid without a reason")
		}
		for _, g := range s.Diagnostics {
			if _, ok := LookupCode(g.Code); !ok || g.Line < 1 || g.Column < 1 || !utf8.ValidString(g.Message) {
				t.Fatalf("diagnostic %+v", g)
			}
		}
		if s.Body.Start < 0 || s.Body.End > int64(len(src)) || s.Body.Start > s.Body.End {
			t.Fatalf("body %v of %d", s.Body, len(src))
		}
	})
}
