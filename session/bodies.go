package session

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/internal/tokens"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Bodies reads the text of a skill. Implementations are safe for concurrent use.
type Bodies interface {
	// Load reads SKILL.md and lists the other files of the skill.
	Load(ctx context.Context, r *registry.Record) (Body, error)
}

// Body is the present text of a skill with the names of its files.
type Body struct {
	Skill *skill.Skill // as parsed from this text
	Text  string       // the body, without the header
	File  string       // the whole file, for dialects that give it; places are put in as in Text
	Line  int          // line of SKILL.md at which Text begins, from 1
	Lines int          // lines of SKILL.md
	Drift bool         // the file is not the one that was discovered
	Files []File       // sorted bytewise by Path
}

// File is one file of a skill, for the list that follows its text.
type File struct {
	Path       string // slash-separated, relative to the skill
	Size       int64
	Executable bool
	Binary     bool
}

// sourceBodies reads through the source that yielded the record.
type sourceBodies struct{}

func (sourceBodies) Load(ctx context.Context, r *registry.Record) (Body, error) {
	l, err := source.Load(ctx, r.Entry)
	if err != nil {
		return Body{}, err
	}
	raw := string(l.Raw)
	head := raw[:min(int(l.Skill.Body.Start), len(raw))]
	b := Body{
		Skill: l.Skill, Text: l.Body, File: l.File, Drift: l.Drift,
		Line: 1 + strings.Count(head, "\n"), Lines: strings.Count(strings.TrimSuffix(raw, "\n"), "\n") + 1,
	}
	// A list that cannot be made loses no text: the skill loads without it.
	files, err := source.Resources(ctx, r.Entry)
	if ctx.Err() != nil {
		return Body{}, ctx.Err()
	}
	if err != nil {
		return b, nil
	}
	for _, f := range files {
		if !hidden(f.Path) {
			b.Files = append(b.Files, File{Path: f.Path, Size: f.Size, Executable: f.Exec, Binary: binary(f.Path)})
		}
	}
	return b, nil
}

// hidden reports whether a segment of a path is hidden.
func hidden(p string) bool { return strings.HasPrefix(p, ".") || strings.Contains(p, "/.") }

// binaryKinds are the extensions of files that no model can read as text. The list
// names files and does not open them.
var binaryKinds = [...]string{
	".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".bmp", ".tiff", ".pdf", ".zip", ".gz", ".tgz", ".bz2", ".xz", ".zst",
	".7z", ".jar", ".wasm", ".exe", ".dll", ".so", ".dylib", ".a", ".o", ".class", ".pyc", ".woff", ".woff2", ".ttf", ".otf",
	".mp3", ".mp4", ".wav", ".mov", ".avi", ".docx", ".xlsx", ".pptx", ".odt", ".sqlite", ".db", ".bin",
}

func binary(p string) bool {
	return slices.Contains(binaryKinds[:], strings.ToLower(path.Ext(p)))
}

// scriptKinds are the extensions of files below scripts/ that count as scripts without
// an execute bit.
var scriptKinds = [...]string{".sh", ".bash", ".py", ".js", ".mjs", ".ts", ".rb", ".pl", ".ps1", ".go"}

// scriptsOf returns the files that can be run.
func scriptsOf(files []File) []string {
	var out []string
	for _, f := range files {
		if strings.HasPrefix(f.Path, "scripts/") && len(out) < maxFiles && (f.Executable || slices.Contains(scriptKinds[:], strings.ToLower(path.Ext(f.Path)))) {
			out = append(out, f.Path)
		}
	}
	return out
}

// count returns the tokens of text in the encoding that budgets are given in.
func (s *Session) count(text string) int { return tokens.O200k().Count(text) }

// field makes a foreign text one clean line of at most maxField clusters.
func field(text string) string {
	clean, _ := safetext.Field(text)
	return safetext.Clip(clean, maxField)
}

// maxField keeps a name that somebody else chose from filling an answer.
const maxField = 200

func join(list []string) string { return strings.Join(list, ", ") }

// reason is the cause of a read that failed, without the path that a model has no
// business with.
func reason(err error) string {
	if err == nil {
		return "its header is invalid now"
	}
	return "unreadable"
}
