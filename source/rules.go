package source

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/deftskills/deft/skill"
)

// scanRule is how one dialect reads a root. The zero value is deft's: groups of
// folders, the ignore list, any spelling of the skill file.
type scanRule struct {
	flat     bool   // only children of the root are skills; what lies deeper is nothing
	nested   string // code of a skill one level too deep; "" = silent
	exact    bool   // the skill file is spelt SKILL.md
	all      bool   // no name is ignored
	dotless  bool   // directories whose names begin with a dot are skipped
	dirs     int    // directories a root; 0 = the limit of every scan
	noLinks  bool   // linked directories are skipped
	noFile   bool   // a linked SKILL.md is refused
	twins    bool   // a directory that is reached twice is two entries
	real     bool   // entries are addressed by the real path of their file, as files:///…
	absent   bool   // an absent root is told
	strayOK  bool   // a skill file in the root itself is not told
	faultOut bool   // a file that cannot be read is a finding of the root, not an entry
	codes    map[string]string
	missing  string // how a path form that is not there is told, with %s for the path; "" = deft's words
}

// scanRules holds the dialects that differ.
var scanRules = map[skill.Dialect]*scanRule{
	skill.MiniMax: {
		flat: true, exact: true, all: true, noFile: true, twins: true, real: true, absent: true,
		strayOK: true, faultOut: true, codes: minimaxCodes,
	},
	skill.Blade:      {flat: true, nested: "nested_ignored", exact: true, all: true, noLinks: true, missing: "File not found: %s"},
	skill.Mastra:     {flat: true, exact: true, all: true},
	skill.ClaudeCode: {flat: true, exact: true, all: true},
	skill.Minara:     {flat: true, nested: "nested_ignored", exact: true, all: true},
	skill.Codex:      {dotless: true, exact: true, all: true, dirs: 2000},
}

// minimaxCodes are the names under which dialect minimax knows our findings. A code
// with a stage goes before the bare one.
var minimaxCodes = map[string]string{
	"dangling":             "skill_directory_link_unreadable",
	"link_cycle":           "skill_directory_link_unreadable",
	"link_not_directory":   "skill_directory_link_not_directory",
	"link_outside":         "skill_outside_root",
	"link_file":            "skill_symlink_rejected",
	"file_special":         "skill_file_not_file",
	"file_unreadable stat": "skill_stat_failed",
	"file_unreadable open": "skill_file_unreadable",
	"file_unreadable read": "skill_read_failed",
	"changed_during_read":  "skill_changed_during_read",
}

var deftRule scanRule

func ruleOf(d skill.Dialect) *scanRule {
	if r := scanRules[d]; r != nil {
		return r
	}
	return &deftRule
}

func (w *walker) rule() *scanRule { return ruleOf(w.o.Format.Dialect) }

// code returns the dialect's name of a finding.
func (w *walker) code(code string) string {
	if own := w.rule().codes[code]; own != "" {
		return own
	}
	return code
}

// unreadable names a failed read by its stage where the dialect tells stages apart.
func (w *walker) unreadable(stage string, err error) string {
	var gone *blobMissing
	if errors.Is(err, ErrDamaged) || errors.As(err, &gone) {
		return "version_damaged_blob"
	}
	if stage == "read" && errors.Is(err, fs.ErrPermission) {
		stage = "open"
	}
	if own := w.rule().codes["file_unreadable "+stage]; own != "" {
		return own
	}
	return "file_unreadable"
}

// deeper tells of skills below a directory that is none, where the dialect says so.
func (w *walker) deeper(p place) {
	code := w.rule().nested
	if code == "" {
		return
	}
	items, _, err := p.t.list(p.rel, w.o.Limits.NameBytes)
	if err != nil {
		return
	}
	for _, it := range items {
		if it.typ != typeDir {
			continue
		}
		c := p.child(it.name)
		if _, typ, err := c.t.look(join(c.rel, SkillFile)); err == nil && typ == typeFile {
			w.skip(code, strings.Clone(it.name), c.dir+sep+SkillFile, "skill lies one level too deep and is not read")
		}
	}
}

// missingForm is the finding of a path form that names nothing.
func missingForm(path string, d skill.Dialect) skill.Diagnostic {
	if words := ruleOf(d).missing; words != "" {
		return finding("path_missing", path, words, path)
	}
	return finding("path_missing", path, "path %q does not exist", path)
}
