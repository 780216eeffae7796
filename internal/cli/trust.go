package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store"
)

func trustVerb() verb {
	return verb{
		name: "trust", args: "DIR|NAME", min: 1, max: 1, group: groupSkill, effects: effects{reads: true, writes: true}, names: true,
		short: "offer the skills of a folder, or let the code of a skill count", brief: "trust a folder or a skill's code, or no longer",
		long: "DIR is a folder, as ./repo: the skills of its repository are offered and may win\n" +
			"names. NAME is a skill: its tools, hooks, commands and scripts count, exactly as they\n" +
			"are now. What is granted is shown first, and asked about.",
		run: func(ctx context.Context, r *run, args []string) error {
			dir, sure := r.folderArg(args[0])
			if sure {
				return r.trustFolder(ctx, dir)
			}
			err := r.trustSkill(ctx, args[0])
			var unknown *registry.UnknownError
			if dir != "" && errors.As(err, &unknown) {
				return r.trustFolder(ctx, dir)
			}
			return err
		},
	}
}

// trustJSON is what trust and untrust tell.
type trustJSON struct {
	Kind    string      `json:"kind"`   // folder or skill
	Root    string      `json:"root"`   // of a folder: what the decision is bound to
	Skills  []skillJSON `json:"skills"` // whom it is about
	Code    *codeJSON   `json:"code"`   // of a skill
	Trusted bool        `json:"trusted"`
	Changed bool        `json:"changed"`
	Written bool        `json:"written"`
}

type codeJSON struct {
	Tree    skill.Digest `json:"tree"`
	Files   int          `json:"files"`
	Tools   []string     `json:"tools"`
	Hooks   bool         `json:"hooks"`
	List    []hookShown  `json:"hook_list"`
	Inline  []string     `json:"inline"`
	Scripts []string     `json:"scripts"`
	Wants   []string     `json:"variables"`
	Drift   []string     `json:"drift"` // since it was granted last
}

// folderArg returns the folder that an argument names: one that is there and is no skill,
// written as a path unless no skill could be meant.
func (r *run) folderArg(arg string) (string, bool) {
	path := arg
	if rest, ok := strings.CutPrefix(arg, "~"); ok && (rest == "" || rest[0] == '/') {
		path = r.dirs.Home + rest
	}
	dir := r.abs(path)
	st, err := os.Stat(dir)
	if err != nil || !st.IsDir() || exists(filepath.Join(dir, source.SkillFile)) {
		return "", false
	}
	return dir, strings.ContainsAny(path, `/\`) || arg == "." || arg == ".."
}

func (r *run) trustFolder(ctx context.Context, dir string) error {
	root := source.TrustRoot(source.Env{Workspace: dir, Home: r.dirs.Home}, dir)
	st, err := r.load(ctx)
	if err != nil {
		return err
	}
	doc := trustJSON{Kind: "folder", Root: root, Skills: []skillJSON{}, Trusted: true}
	if slices.ContainsFunc(st.Folders, func(f store.Folder) bool { return f.Root == root && !f.Refused }) {
		return r.trustDone(doc, "trust.already", root)
	}
	if err := r.folderSkills(ctx, root, &doc); err != nil {
		return err
	}
	if err := r.askTrust("trust.ask_folder", root); err != nil {
		return err
	}
	doc.Changed = true
	if !r.writing.dryRun {
		s, err := r.openStore(ctx)
		if err != nil {
			return err
		}
		// The row comes first: what can't be recorded is not done.
		if err := r.recordAction(ctx, "trust", root, nil); err != nil {
			return err
		}
		if _, err := s.TrustFolder(ctx, root, "cli", ""); err != nil {
			return err
		}
		doc.Written = true
	}
	return r.trustDone(doc, r.orDry("trust.folder", "trust.folder_dry"), root)
}

// folderSkills tells which skills a folder would offer, and what they ask for.
func (r *run) folderSkills(ctx context.Context, root string, doc *trustJSON) error {
	o := r.options()
	o.Workspace, o.Sources, o.OnlySources, o.Project, o.State = root, nil, false, registry.ProjectAsk, nil
	e, err := deft.Open(ctx, o)
	if err != nil {
		return err
	}
	defer e.Close()
	p := r.err
	if !r.globals.json {
		p.Printf("%s\n", p.Paint(safetext.Bold, r.words.Say("trust.head_folder", root)))
	}
	for _, rec := range e.Snapshot().All {
		if rec.Source.Trust != source.Pending {
			continue
		}
		doc.Skills = append(doc.Skills, recordJSON(rec))
		if r.globals.json {
			continue
		}
		p.Printf("  %-24s %s\n", rec.Skill.Name, safetext.Clip(safetext.Line(rec.Skill.Description), 80))
		if tools := rec.Skill.Meta.AllowedTools.Entries; len(tools) > 0 {
			p.Printf("    %s\n", r.words.Say("trust.tools", strings.Join(tools, ", ")))
		}
		if rec.Skill.Meta.HasHooks {
			p.Printf("    %s\n", r.words.Say("trust.hooks"))
		}
	}
	if file := filepath.Join(root, ".deft", "config.yaml"); exists(file) && !r.globals.json {
		p.Printf("  %s\n", r.words.Say("trust.settings", file))
	}
	return nil
}

func (r *run) trustSkill(ctx context.Context, selector string) error {
	e, err := r.open(ctx)
	if err != nil {
		return err
	}
	rec, err := find(e.Snapshot(), selector)
	if err != nil {
		return err
	}
	st, err := r.load(ctx)
	if err != nil {
		return err
	}
	doc := trustJSON{Kind: "skill", Skills: []skillJSON{recordJSON(rec)}, Trusted: true}
	switch {
	case !rec.Skill.Valid:
		return fail(Negative, "skill_invalid", "skill %q cannot be used", rec.Skill.Name).hinted("hint.explain", rec.Address)
	case rec.Source.Trust == source.Pending || rec.Source.Trust == source.Denied:
		root := source.TrustRoot(source.Env{Workspace: r.cwd, Home: r.dirs.Home}, rec.RealDir)
		return fail(Refused, "skill_untrusted", "skill %q is withheld: its folder is not trusted", rec.Skill.Name).hinted("hint.trust_folder", root)
	case rec.Source.Trust == source.Trusted:
		return r.trustDone(doc, "trust.by_kind", rec.Skill.Name, string(rec.Source.Kind))
	}
	code, err := e.Code(ctx, rec)
	if err != nil {
		return err
	}
	doc.Code = &codeJSON{code.Tree, code.Files, orEmptyList(code.Tools), code.Hooks != "", hooksShown(code), orEmptyList(code.Inline), orEmptyList(code.Scripts), orEmptyList(code.Wants), []string{}}
	if slices.ContainsFunc(st.Grants, func(g store.Grant) bool {
		return g.Tree == code.Tree && g.Name == rec.Skill.Name && g.Source == rec.Source.ID
	}) {
		// Whoever granted it may have been killed before the list was kept.
		if err := r.grant(ctx, rec, code, true); err != nil {
			return err
		}
		return r.trustDone(doc, "trust.already", rec.Skill.Name)
	}
	doc.Code.Drift = orEmptyList(e.Drift(ctx, rec))
	r.showCode(rec, code)
	r.scanOfCode(ctx, rec.Skill.Name, rec.RealDir)
	r.showDrift(doc.Code.Drift)
	if err := r.askTrust("trust.ask_skill", rec.Skill.Name); err != nil {
		return err
	}
	doc.Changed = true
	if err := r.grant(ctx, rec, code, false); err != nil {
		return err
	}
	doc.Written = !r.writing.dryRun
	return r.trustDone(doc, r.orDry("trust.skill", "trust.skill_dry"), rec.Skill.Name)
}

// grant saves a grant, unless it stands, and the list of the files that it is for.
func (r *run) grant(ctx context.Context, rec *registry.Record, code deft.Code, stands bool) error {
	if r.writing.dryRun {
		return nil
	}
	s, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	if !stands {
		err = r.recordAction(ctx, "trust", rec.Skill.Name, map[string]string{rec.Address: string(code.Tree)})
		if err == nil {
			_, err = s.GrantSkill(ctx, store.Grant{
				Name: rec.Skill.Name, Source: rec.Source.ID, Tree: code.Tree, AllowedTools: code.Tools,
				Hooks: code.Hooks, Inline: code.InlineDigest(), By: "cli",
			})
		}
	}
	if err == nil {
		r.keepTree(ctx, s, code.Listing)
	}
	return err
}

// showCode shows all that a grant of the skill would let count.
func (r *run) showCode(rec *registry.Record, code deft.Code) {
	if r.globals.json {
		return
	}
	p := r.err
	p.Printf("%s\n", p.Paint(safetext.Bold, r.words.Say("trust.head_skill", rec.Skill.Name, orElse(rec.Dir, rec.Location))))
	p.Printf("  %s\n", r.words.Say("trust.tree", string(code.Tree), code.Files))
	if code.Nothing() {
		p.Printf("  %s\n", r.words.Say("trust.text_only"))
	}
	if len(code.Tools) > 0 {
		p.Printf("  %s\n", r.words.Say("trust.tools", strings.Join(code.Tools, ", ")))
	}
	if code.Hooks != "" && len(code.HookList) == 0 {
		p.Printf("  %s\n", r.words.Say("trust.hooks"))
	}
	for _, h := range code.HookList {
		p.Printf("  %s\n", r.words.Say("trust.hook", h.Event, h.Type, safetext.Line(h.Value+h.Command)))
	}
	for _, command := range code.Inline {
		p.Printf("  %s\n", r.words.Say("trust.inline", command))
	}
	if len(code.Wants) > 0 {
		p.Printf("  %s\n", r.words.Say("trust.variables", strings.Join(code.Wants, ", ")))
	}
	for _, path := range code.Scripts {
		p.Printf("  %s\n", r.words.Say("trust.script", path))
	}
}

// askTrust puts a question of trust; its words may hold names of strangers.
func (r *run) askTrust(key, name string) error {
	return r.confirm(r.words.Say(key, safetext.Line(name)))
}

// orDry chooses the words for what was done, or would be.
func (r *run) orDry(done, would string) string {
	if r.writing.dryRun {
		return would
	}
	return done
}

// trustDone tells the outcome.
func (r *run) trustDone(doc trustJSON, key string, args ...any) error {
	if r.globals.json {
		r.printJSON(doc)
		return nil
	}
	r.out.Printf("%s\n", r.words.Say(key, args...))
	return nil
}
