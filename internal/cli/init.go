package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/internal/safetext"
)

// agentsFile is the file that agents read about a project.
const agentsFile = "AGENTS.md"

func initVerb() verb {
	var o askOptions
	return verb{
		name: "init", args: "[DIR]", max: 1, group: groupWrite, joins: true, effects: effects{reads: true, writes: true, network: true},
		short: "writes AGENTS.md from what the project is",
		long: "With a model, a turn of the skill \"init\" looks at the project and writes. Without one,\n" +
			"or with --offline, a template is filled from the build files. Text that is there stays.",
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&o.offline, "offline", false, "no model: the template")
			f.StringVar(&o.model, "model", "", "the model that writes, as `PROVIDER/NAME`")
			f.StringVar(&o.auto, "auto", "", "answer the gate's questions up to this `TIER` with yes")
		},
		run: func(ctx context.Context, r *run, args []string) error {
			if len(args) == 1 {
				r.cwd = r.abs(args[0])
			}
			return r.initProject(ctx, o)
		},
	}
}

// initProject has the skill "init" write AGENTS.md where there is a model, else the
// template.
func (r *run) initProject(ctx context.Context, o askOptions) error {
	if st, err := os.Stat(r.cwd); err != nil || !st.IsDir() {
		return usage("project %q is no directory", r.cwd).hinted("hint.see_help", "init")
	}
	m, err := r.chooseModel(ctx, o)
	switch {
	case err != nil:
		return err
	case m == nil:
		return r.initFile(r.cwd)
	}
	return r.askModel(ctx, m, o, "/init")
}

// section is one part of AGENTS.md: its heading and its lines.
type section struct{ heading, body string }

// initFile writes the template, or adds what the present file lacks.
func (r *run) initFile(dir string) error {
	path, old, err := agentsText(dir)
	if err != nil {
		return err
	}
	p := inspect(dir)
	now := merge(old, p.title(), p.sections())
	added := strings.TrimPrefix(now, old)
	switch {
	case now == old:
		r.hintf("%s", r.words.Say("init.same", path))
	case old != "":
		r.err.Printf("%s\n", r.words.Say("init.adds", path))
		for line := range strings.Lines(added) {
			r.err.Printf("%s\n", r.err.Paint(safetext.Green, "+ "+strings.TrimRight(line, "\n")))
		}
		if err := r.confirm("init.ask"); err != nil {
			return err
		}
		fallthrough
	default:
		if err := r.files().Write(path, []byte(now), 0o644); err != nil {
			return fmt.Errorf("%s: %w", agentsFile, err)
		}
	}
	if r.globals.json {
		r.printJSON(map[string]any{"path": path, "mode": "template", "written": now != old && !r.writing.dryRun, "added": added})
		return nil
	}
	if r.writing.dryRun {
		r.out.Text(now)
		return nil
	}
	r.out.Printf("%s\n", path)
	r.hintf("%s", r.words.Say("init.template"))
	return nil
}

// agentsText returns where AGENTS.md is and what it holds, "" when it is not there.
// A link is followed only inside the project.
func agentsText(dir string) (path, text string, err error) {
	path = filepath.Join(dir, agentsFile)
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, "", nil
	}
	if err == nil && st.Mode()&fs.ModeSymlink != 0 {
		root, rootErr := filepath.EvalSymlinks(dir)
		target, linkErr := filepath.EvalSymlinks(path)
		rel, relErr := filepath.Rel(root, target)
		if rootErr != nil || linkErr != nil || relErr != nil || !filepath.IsLocal(rel) {
			return "", "", fail(Refused, "link_outside", "%s is a link out of the project", path).hinted("hint.agents_link")
		}
		path = target
	}
	f, err := openRegular(path)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	data := make([]byte, 0, 4096)
	data, err = readAllUpTo(f, data, maxBuildFile*4)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", path, err)
	}
	return path, string(data), nil
}

func (p project) title() string { return p.name }

// sections makes the text from what is known; what is not known is left out.
func (p project) sections() []section {
	about := "Say in two sentences what this project does and for whom.\n"
	if len(p.kinds) > 0 {
		about = "Say in two sentences what this project does and for whom. It is built as: " + strings.Join(p.kinds, ", ") + ".\n"
	}
	list := []section{{"About", about}}
	if len(p.commands) > 0 {
		var b strings.Builder
		for _, c := range p.commands {
			fmt.Fprintf(&b, "- %s: `%s`\n", c.what, c.line)
		}
		list = append(list, section{"Commands", b.String()})
	}
	if len(p.dirs) > 0 {
		var b strings.Builder
		for _, d := range p.dirs {
			fmt.Fprintf(&b, "- `%s/`\n", d)
		}
		list = append(list, section{"Layout", b.String()})
	}
	return append(list, section{"Rules", "- Run the tests before you say that a change works.\n- Keep a change to what was asked.\n"})
}

// merge returns old with the sections whose heading it lacks added at its end. Old
// text never changes.
func merge(old, title string, sections []section) string {
	var b strings.Builder
	b.WriteString(old)
	if strings.TrimSpace(old) == "" {
		fmt.Fprintf(&b, "# %s\n", title)
	} else if !strings.HasSuffix(old, "\n") {
		b.WriteString("\n")
	}
	have := headings(old)
	n := 0
	for _, s := range sections {
		if !have[strings.ToLower(s.heading)] && (old == "" || s.heading == "Commands" || s.heading == "Layout") {
			fmt.Fprintf(&b, "\n## %s\n\n%s", s.heading, s.body)
			n++
		}
	}
	if n == 0 {
		return old
	}
	return b.String()
}

// headings lists the headings of a Markdown text in lower case, fences left out.
func headings(text string) map[string]bool {
	have := map[string]bool{}
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n ")
		trimmed := strings.TrimLeft(line, " ")
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			fence = trimmed[:3]
		case strings.HasPrefix(trimmed, "#"):
			have[strings.ToLower(strings.Trim(trimmed, "# "))] = true
		}
	}
	return have
}
