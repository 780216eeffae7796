package agentskills

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/deftskills/deft/internal/suitetest"
	"github.com/deftskills/deft/skill"
)

// lines are the lines of the suite, by group: 40 of the reference's own tests, 55
// further edges and 7 of discovery.
var lines = map[string]string{
	"Parser": `valid-header-and-body no-header header-never-closed invalid-yaml header-is-a-list
		reads-full-directory metadata-values-are-strings directory-without-skill-file name-missing
		description-missing uppercase-file-preferred lowercase-file-accepted neither-file
		properties-from-lowercase-file allowed-tools-kept-whole`,
	"Prompt": `empty-list one-skill two-skills special-characters-escaped`,
	"Validator": `valid-skill path-missing path-is-a-file skill-file-missing uppercase-name name-too-long
		leading-hyphen doubled-hyphen underscore directory-differs unknown-field all-optional-fields
		allowed-tools-accepted chinese-name cyrillic-name-with-hyphen cyrillic-lowercase
		cyrillic-uppercase description-too-long compatibility-accepted compatibility-too-long
		nfkc-on-both-sides`,
	"Edge": `bom-refused crlf-accepted dashes-in-value-cut-header blanks-after-opening-fence
		text-before-fence closing-fence-at-eof duplicate-key flow-mapping flow-sequence
		anchor-and-alias tag merge-key colon-in-plain-value header-is-a-scalar header-empty
		numeric-name boolean-looking-description octal-metadata nested-metadata-stringified
		block-list-allowed-tools empty-compatibility blank-description empty-name
		both-required-missing errors-accumulate name-64-passes-65-fails
		description-1024-passes-1025-fails compatibility-500-passes-501-fails
		description-untrimmed-length name-trimmed fullwidth-name combining-mark titlecase-digraph
		dotted-capital-i sharp-s-and-final-sigma emoji-and-zero-width blank-and-dot-and-slash
		lone-hyphen trailing-hyphen single-letter-and-leading-digit linked-skill-file
		mixed-case-file unreadable-directory not-utf8 nul-byte fifo-named-skill-file
		prompt-escapes-quotes prompt-location-not-escaped prompt-one-line-a-tag
		properties-absent-stay-absent path-to-file-means-parent exit-codes each-key-alone
		strict-never-stops-a-load huge-file`,
	"Discovery": `project-and-user-roots skips-git-and-node-modules bounded-walk name-mismatch-loads
		description-missing-skipped no-skills-no-block disabled-is-absent`,
}

func TestEveryLineIsATest(t *testing.T) {
	t.Parallel()
	found := suitetest.Functions(t)
	counts := map[string]int{}
	for group, names := range lines {
		for _, line := range strings.Fields(names) {
			counts[group]++
			if test := "Test" + group + camel(line); found[test] == 0 {
				t.Errorf("no test %s for line %q", test, line)
			}
		}
	}
	if reference := counts["Parser"] + counts["Prompt"] + counts["Validator"]; reference != 40 ||
		counts["Edge"] != 55 || counts["Discovery"] != 7 {
		t.Errorf("the suite has %v lines", counts)
	}
}

func camel(line string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(line, "-") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// header returns a SKILL.md with these header lines and a body.
func header(lines ...string) string {
	return "---\n" + strings.Join(lines, "\n") + "\n---\n# Title\n\nText.\n"
}

// named returns a valid SKILL.md of that name.
func named(name string) string { return header("name: "+name, "description: Says what it does.") }

// verdict judges text as the SKILL.md of a directory.
func verdict(dir, text string) skill.Report {
	return skill.Validate(skill.Input{Source: []byte(text), DirName: dir}, skill.ProfileAgentskills)
}

// folder judges a directory of that name with these files.
func folder(dir string, files fstest.MapFS) skill.Report {
	fsys := fstest.MapFS{dir: {Mode: fs.ModeDir | 0o755}}
	for name, f := range files {
		fsys[dir+"/"+name] = f
	}
	return skill.ValidateDir(fsys, dir, "", skill.ProfileAgentskills)
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func errorsOf(r skill.Report) []string {
	var texts []string
	for _, d := range r.Diagnostics {
		if d.Level == skill.LevelError {
			texts = append(texts, d.Message)
		}
	}
	return texts
}

func passes(t *testing.T, r skill.Report) {
	t.Helper()
	if !r.OK || len(errorsOf(r)) > 0 {
		t.Errorf("want no errors, got %q", errorsOf(r))
	}
}

// fails wants errors whose texts hold each of parts.
func fails(t *testing.T, r skill.Report, parts ...string) {
	t.Helper()
	all := strings.Join(errorsOf(r), "\n")
	if r.OK {
		t.Error("want an error, got none")
	}
	for _, p := range parts {
		if !strings.Contains(all, p) {
			t.Errorf("no error holds %q: %q", p, all)
		}
	}
	for _, d := range r.Diagnostics {
		if d.Code == "" || d.File == "" {
			t.Errorf("diagnostic without code or place: %+v", d)
		}
	}
}

// failsOnce wants exactly one error, holding part.
func failsOnce(t *testing.T, r skill.Report, part string) {
	t.Helper()
	fails(t, r, part)
	if texts := errorsOf(r); len(texts) != 1 {
		t.Errorf("want one error, got %q", texts)
	}
}

// lenient loads text as deft does.
func lenient(dir, text string) *skill.Skill {
	return skill.Parse([]byte(text), skill.ParseOptions{Dialect: skill.Deft, Path: "SKILL.md", DirName: dir})
}
