package toolset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

const (
	maxPath      = 1024     // bytes of a path argument
	maxReadFile  = 16 << 20 // bytes of a file that is opened at all
	maxListed    = 200      // entries of a folder
	maxSuggested = 50       // names after an unknown one
	maxImage     = 5 << 20  // bytes of an image handed to the host
)

// readTool reads the files of a skill, wherever the skill lies and nothing beside it.
type readTool struct{ shape }

const skillReadSchema = `{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":512},"path":{"type":"string","maxLength":1024},"startLine":{"type":"integer"},"endLine":{"type":"integer"}},"required":["name","path"],"additionalProperties":false}`

// reading is one call on its way.
type reading struct {
	t     *readTool
	c     Call
	rec   *registry.Record
	asked string // the path as given
	path  string // cleaned, relative to the skill
	from  int    // first line wanted; 0 = not given
	to    int

	bounded bool // lines were asked for
}

func (t *readTool) Call(ctx context.Context, c Call) (Result, error) {
	in := t.input(c)
	name, _ := in.text("name", maxName, true)
	p, _ := in.text("path", maxPath, true)
	r := reading{t: t, c: c, asked: p, from: in.whole("startLine", 0), to: in.whole("endLine", 0)}
	_, from := in.take("startLine")
	_, to := in.take("endLine")
	r.bounded = from || to
	if in.fault != nil {
		return *in.fault, nil
	}
	rec, refusal, err := c.Turn.Resolve(ctx, name, session.ActorModel, t.o.names(c))
	if err != nil {
		return Result{}, err
	}
	if refusal != nil {
		out := Result{Text: in.note() + refusal.Message}
		out.refused(*refusal)
		return out, nil
	}
	r.rec = rec
	out, err := r.run(ctx)
	out.Meta.ReadOf, out.Meta.Read = rec.Address, r.path
	if c.Turn.Drifted(rec.Address) {
		out.Text = "untrusted: the files of this skill changed after it was trusted.\n" + out.Text
	}
	out.Text = in.note() + out.Text
	return out, err
}

func (r *reading) run(ctx context.Context) (Result, error) {
	var ok bool
	r.path, ok = inside(r.asked, r.rec)
	switch {
	case !ok, r.assets() && slices.Contains(strings.Split(slashed(r.asked), "/"), ".."):
		return r.outside(), nil
	case hidden(r.path) && !r.assets():
		return r.unknown(ctx), nil
	}
	f, err := r.open(ctx)
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	switch {
	case err == nil:
	case r.assets() && !errors.Is(err, source.ErrOutside):
		return r.unknown(ctx), nil
	case errors.Is(err, source.ErrSpecial):
		return r.fail("not_a_file", fmt.Sprintf("%s in %s is not a regular file.", quote(r.asked), r.skill())), nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrPermission):
		return r.unknown(ctx), nil
	default:
		// A link that leaves the skill, or anything that cannot be shown to stay: the
		// answer is the same whether or not something is there.
		return r.outside(), nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return r.unknown(ctx), nil
	}
	switch {
	case st.IsDir() && r.assets():
		return r.unknown(ctx), nil
	case st.IsDir():
		return r.folder(f), nil
	}
	return r.content(f, st)
}

func (r *reading) open(ctx context.Context) (fs.File, error) {
	if r.path == "SKILL.md" {
		return r.rec.From.Open(ctx, r.rec.Entry, "")
	}
	return r.rec.From.Open(ctx, r.rec.Entry, r.path)
}

// inside cleans a path argument as text; placeholders and the directory of the skill
// before it are taken off. It is false for everything that does not stay below the
// skill: a leading slash, a drive, a share, NUL, too many "..".
func inside(asked string, rec *registry.Record) (string, bool) {
	p := slashed(asked)
	for _, v := range []string{"${SKILL_DIR}", "${CLAUDE_SKILL_DIR}", "${DEFT_SKILL_DIR}", slashed(rec.Dir)} {
		if rest, ok := strings.CutPrefix(p, v); ok && v != "" && (rest == "" || rest[0] == '/') {
			p = strings.TrimPrefix(rest, "/")
		}
	}
	if strings.HasPrefix(p, "/") || strings.ContainsRune(p, 0) || drive(p) {
		return "", false
	}
	p = path.Clean(p)
	if p == ".." || strings.HasPrefix(p, "../") {
		return "", false
	}
	return p, true
}

// slashed writes a path with forward slashes, and its drive, if it has one, in lower case.
func slashed(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	if drive(p) {
		p = strings.ToLower(p[:1]) + p[1:]
	}
	return p
}

func drive(p string) bool {
	return len(p) >= 2 && p[1] == ':' && (p[0]|0x20) >= 'a' && (p[0]|0x20) <= 'z'
}

// hidden reports whether a segment of the path is hidden: what an author or a tool
// put there is not for models.
func hidden(p string) bool {
	for _, seg := range strings.Split(p, "/") {
		if strings.HasPrefix(seg, ".") && seg != "." {
			return true
		}
	}
	return false
}

func (r *reading) skill() string { return quote(r.rec.Address) }

// assets reports whether files are read the way dialect mastra reads them: a refusal is
// an answer like any other, a whole file comes bare, nothing is hidden or cut.
func (r *reading) assets() bool { return r.t.o.Dialect == skill.Mastra }

func (r *reading) outside() Result {
	if r.assets() {
		return Result{Text: "Invalid asset path: " + show(r.asked), Code: "path_outside"}
	}
	return r.fail("path_outside", fmt.Sprintf("%s is not inside skill %s. Paths are relative to the skill folder.", quote(r.asked), r.skill()))
}

// fail counts one failed read of the skill; the third one of a turn is final.
func (r *reading) fail(code, text string) Result {
	out := refuse(code, text)
	if r.c.Turn.Failed(r.rec.Address) {
		out.Text += session.FinalText
		out.Retry = RetryFinal
	}
	return out
}

// unknown names the files that exist.
func (r *reading) unknown(ctx context.Context) Result {
	files := r.files(ctx)
	if r.assets() {
		text := fmt.Sprintf("File %q not found in skill %q.", show(r.asked), show(r.rec.Skill.Name))
		if len(files) > 0 {
			text += "\nAvailable files: " + strings.Join(files, ", ")
		}
		return Result{Text: text, Code: "file_unknown"}
	}
	text := fmt.Sprintf("No file %s in %s.", quote(r.asked), r.skill())
	if near := closePath(r.path, files); near != "" {
		text += fmt.Sprintf(" Close: %s.", show(near))
	}
	if len(files) > 0 {
		shown := files[:min(maxSuggested, len(files))]
		list := make([]string, len(shown))
		for i, f := range shown {
			list[i] = show(f)
		}
		text += " Files: " + strings.Join(list, ", ")
		if n := len(files) - len(shown); n > 0 {
			text += fmt.Sprintf(", … %d more", n)
		}
		text += "."
	}
	return r.fail("file_unknown", text)
}

// assetFolders are the folders whose files dialect mastra names, in this order.
var assetFolders = [...]string{"references/", "scripts/", "assets/"}

// files are those that may be read. A list that cannot be made names none.
func (r *reading) files(ctx context.Context) (paths []string) {
	list, err := source.Resources(ctx, r.rec.Entry)
	if err != nil {
		return nil
	}
	if r.assets() {
		for _, dir := range assetFolders {
			for _, f := range list {
				if strings.HasPrefix(f.Path, dir) {
					paths = append(paths, show(f.Path))
				}
			}
		}
		return paths
	}
	for _, f := range list {
		if !hidden(f.Path) {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// closePath finds the file that differs from p only in case or in its extension.
func closePath(p string, files []string) string {
	for _, f := range files {
		if strings.EqualFold(f, p) {
			return f
		}
	}
	stem := strings.TrimSuffix(p, path.Ext(p))
	for _, f := range files {
		if strings.EqualFold(strings.TrimSuffix(f, path.Ext(f)), stem) {
			return f
		}
	}
	return ""
}

// folder lists one level. It is not a failure to count: looking around is no guess.
func (r *reading) folder(f fs.File) Result {
	var names []string
	if d, ok := f.(fs.ReadDirFile); ok {
		entries, _ := d.ReadDir(-1) // what could be read before an error is still true
		for _, e := range entries {
			if hidden(e.Name()) {
				continue
			}
			name := show(e.Name())
			if e.IsDir() {
				name += "/"
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	text := fmt.Sprintf("%s is a folder of %s", quote(r.path), r.skill())
	if len(names) == 0 {
		return refuse("is_a_folder", text+"; it is empty.")
	}
	text += ":"
	for _, n := range names[:min(maxListed, len(names))] {
		text += "\n" + n
	}
	if n := len(names) - maxListed; n > 0 {
		text += fmt.Sprintf("\n… %d more", n)
	}
	return refuse("is_a_folder", text)
}

func (r *reading) content(f fs.File, st fs.FileInfo) (Result, error) {
	if st.Size() > maxReadFile {
		return r.binary(st.Size(), "", nil), nil
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxReadFile+1))
	if err != nil || len(raw) > maxReadFile {
		return r.fail("file_unreadable", fmt.Sprintf("%s in %s cannot be read.", quote(r.asked), r.skill())), nil
	}
	text, ok := decodeText(raw)
	if !ok {
		return r.binary(int64(len(raw)), mediaType(raw), raw), nil
	}
	if r.assets() && !r.bounded {
		return Result{Text: text}, nil
	}
	w := window{lines: splitLines(text), from: r.from, to: r.to, maxLines: 4000, maxBytes: 256 << 10}
	if r.assets() {
		w.maxLines, w.maxBytes = len(w.lines), len(text)+1
	}
	if why := w.empty(show(r.path)); why != "" {
		return Result{Text: why, Code: "range_empty"}, nil
	}
	body, first, last, truncated := w.cut("startLine")
	return Result{
		Text: fmt.Sprintf("%s (lines %d-%d of %d)\n%s", show(r.path), first, last, len(w.lines), body),
		Meta: Meta{Truncated: truncated},
	}, nil
}

// binary says what the file is; an image goes to the host beside the text.
func (r *reading) binary(size int64, media string, raw []byte) Result {
	at := r.path
	if dir := r.rec.Path(); dir != "" && (r.rec.Dir != "" || r.assets()) {
		at = dir + "/" + r.path
	}
	text := fmt.Sprintf("Binary file: %s (%d bytes)", show(at), size)
	if r.assets() {
		return Result{Text: text}
	}
	if media != "" {
		text += ", " + media
	}
	out := Result{Text: text + ". It cannot be shown as text."}
	if strings.HasPrefix(media, "image/") && size <= maxImage {
		out.Structured = Image{Media: media, Data: raw}
	}
	return out
}

// Image is the Structured content of a Result for hosts whose model takes images.
type Image struct {
	Media string `json:"media"`
	Data  []byte `json:"data"`
}
