package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// rootChecks tells of every folder that is searched.
func (r *run) rootChecks(snap *registry.Snapshot) []check {
	var list []check
	for _, root := range snap.Roots() {
		there, skills, took := root.Path == "" || exists(root.Path), root.Skills, root.Took.Milliseconds()
		c := check{
			ID: "root", Level: skill.LevelInfo, File: root.Path, Exists: &there, Skills: &skills, TookMS: &took,
			Message: r.words.Say("doctor.root", root.ID, r.short(root.Path), root.Skills, string(root.Trust)) + ", " + r.words.Say("doctor.took", took),
		}
		switch {
		case !there && root.Skills == 0:
			c.ID, c.Message = "root_absent", r.words.Say("doctor.absent", root.ID, r.short(root.Path))
		case !root.Complete:
			c.ID, c.Level, c.Message, c.Fix = "incomplete", skill.LevelWarning, r.words.Say("doctor.incomplete", root.ID, r.short(root.Path)), r.words.Say("doctor.incomplete_fix")
		}
		list = append(list, c)
	}
	return list
}

// pendingChecks names the folders whose skills wait for trust, and what else is
// withheld.
func (r *run) pendingChecks(snap *registry.Snapshot) []check {
	waiting, others := map[string]int{}, 0
	for _, rec := range snap.All {
		switch {
		case rec.State != registry.Untrusted:
		case rec.Source.Trust == source.Pending && len(rec.Reasons) > 0:
			waiting[rec.Reasons[0].Path]++
		default:
			others++
		}
	}
	var list []check
	for _, root := range sortedKeys(waiting) {
		list = append(list, check{
			ID: "pending", Level: skill.LevelWarning, File: root,
			Message: r.words.Say("doctor.pending", waiting[root], root), Fix: r.words.Say("doctor.pending_fix", root),
		})
	}
	if others > 0 {
		list = append(list, check{ID: "withheld", Level: skill.LevelWarning, Message: r.words.Say("doctor.withheld", others), Fix: r.words.Say("hint.trust")})
	}
	return list
}

// collisions tells which names mean other skills once the folders of every known agent
// are counted: the same home is seen by all of them. What the snapshot knows already
// is not said again.
func (r *run) collisions(ctx context.Context, snap *registry.Snapshot) ([]check, error) {
	if r.globals.onlySources {
		return nil, nil
	}
	o := r.options()
	o.Clients = nil
	for _, c := range source.ClientDirs() {
		if !slices.Contains(o.Clients, c.Client) {
			o.Clients = append(o.Clients, c.Client)
		}
	}
	o.NoExternal, o.QuietCopies = false, false
	all, err := deft.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	known := map[[2]string]bool{}
	for _, d := range snap.Diagnostics {
		known[[2]string{d.Code, d.File}] = true
	}
	var list []check
	for _, d := range all.Snapshot().Diagnostics {
		if d.Code != "copies_differ" && d.Code != "handle_collision" || known[[2]string{d.Code, d.File}] {
			continue
		}
		c := r.diagnosed(d)
		c.Message = r.words.Say("doctor.everywhere", c.Message)
		list = append(list, c)
	}
	return list, nil
}

// lookalikes names skills whose names a person would take for one another.
func (r *run) lookalikes(snap *registry.Snapshot) []check {
	var list []check
	for _, pair := range snap.Lookalikes() {
		d := skill.Finding("name_lookalike", pair[1].Location, "%s",
			r.words.Say("doctor.lookalike", orElse(pair[0].Dir, pair[0].Location), orElse(pair[1].Dir, pair[1].Location)))
		list = append(list, check{ID: d.Code, Level: d.Level, Message: d.Message, Fix: d.Fix, File: orElse(pair[1].Dir, pair[1].Location)})
	}
	return list
}

// typedOnly names skills that no model may start and no menu shows: who does not know the
// name never meets them.
func (r *run) typedOnly(snap *registry.Snapshot) []check {
	var list []check
	for _, rec := range snap.All {
		if m := &rec.Skill.Meta; rec.State == registry.Available && m.DisableModelInvocation && !m.UserInvocable {
			d := skill.Finding("typed_only", rec.Location, "%s", r.words.Say("doctor.typed_only", rec.Skill.Name, rec.Skill.Handle))
			list = append(list, check{ID: d.Code, Level: d.Level, Message: d.Message, Fix: d.Fix, File: rec.Location})
		}
	}
	return list
}

// linkChecks names links that lead nowhere. Those that lead into deft's own folder are
// deft's, and --fix removes them.
func (r *run) linkChecks(snap *registry.Snapshot, fix bool) ([]check, error) {
	var list []check
	for _, sk := range snap.Skipped {
		if sk.Code != "dangling" {
			continue
		}
		target, err := os.Readlink(sk.Path)
		if err != nil {
			target = "?"
		} else if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(sk.Path), target)
		}
		rel, err := filepath.Rel(r.dirs.Data, target)
		own := err == nil && filepath.IsLocal(rel)
		d := skill.Finding("dangling", sk.Path, "%s", r.words.Say("doctor.link_foreign", sk.Path, target))
		c := check{ID: d.Code, Level: d.Level, Message: d.Message, Fix: d.Fix, File: sk.Path}
		if own {
			c.Message, c.Fix = r.words.Say("doctor.link_own", sk.Path, target), r.words.Say("doctor.link_own_fix")
		}
		if own && fix {
			if err := r.files().RemoveLink(sk.Path); err != nil {
				return nil, err
			}
			if !r.writing.dryRun {
				c = check{ID: "link_removed", Level: skill.LevelInfo, Message: r.words.Say("doctor.link_removed", sk.Path), File: sk.Path}
			}
		}
		list = append(list, c)
	}
	return list, nil
}

// needs names the skills that lack something which a person could install or set, with
// what their authors say of installing it.
func (r *run) needs(snap *registry.Snapshot) []check {
	var list []check
	for _, rec := range snap.Winners {
		for _, why := range rec.Reasons {
			if why.Code != "unmet" {
				continue
			}
			level := skill.LevelWarning
			for _, wanted := range []string{"platforms", "fallback_for"} {
				if strings.HasPrefix(why.By, wanted) {
					level = skill.LevelInfo // nothing is missing: it is for another place
				}
			}
			fix := strings.Join(installs(rec.Skill), "; ")
			if fix == "" || !strings.Contains(why.By, "bins") && !strings.HasPrefix(why.By, "dependencies") {
				fix = orElse(r.remedy(why), why.Fix)
			}
			list = append(list, check{
				ID: "needs", Level: level, File: orElse(rec.Dir, rec.Location), Fix: fix,
				Message: r.words.Say("doctor.needs", rec.Address, why.By),
			})
		}
	}
	return list
}

// installs returns how the author says that a skill's programs are installed, as text
// for a person; nothing of it is ever run.
func installs(s *skill.Skill) []string {
	node := s.Raw().Path("metadata", "openclaw")
	if text, ok := node.Text(); ok {
		var form struct {
			Install []map[string]any `json:"install"`
		}
		if json.Unmarshal([]byte(text), &form) != nil {
			return nil
		}
		var out []string
		for _, step := range form.Install {
			out = append(out, installText(func(key string) string { s, _ := step[key].(string); return s }))
		}
		return slices.DeleteFunc(out, func(s string) bool { return s == "" })
	}
	list := node.Get("install")
	if list == nil || list.Kind != skill.SequenceNode {
		return nil
	}
	var out []string
	for _, step := range list.Content {
		out = append(out, installText(func(key string) string { s, _ := step.Get(key).Text(); return s }))
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// installText is one step of an author's list as a command, else its label.
func installText(of func(key string) string) string {
	for _, known := range []struct{ kind, key, command string }{
		{"brew", "formula", "brew install "}, {"node", "package", "npm install -g "}, {"npm", "package", "npm install -g "},
		{"go", "module", "go install "}, {"uv", "package", "uv tool install "}, {"pip", "package", "pip install "},
		{"apt", "package", "apt-get install "}, {"download", "url", "download "},
	} {
		if of("kind") == known.kind && of(known.key) != "" {
			return known.command + of(known.key)
		}
	}
	return of("label")
}

// stateChecks examines what was decided: the file, the profile in use, and grants of
// skills that are not any more what was granted.
func (r *run) stateChecks(ctx context.Context, snap *registry.Snapshot) []check {
	var list []check
	s, err := r.openStore(ctx)
	if err != nil {
		return append(list, r.diagnosed(stateTrouble(r.storeName(), err)))
	}
	for _, d := range s.Check(ctx) {
		list = append(list, r.diagnosed(d))
	}
	if !slices.ContainsFunc(list, func(c check) bool { return c.Level != skill.LevelInfo }) {
		list = append(list, check{ID: "state", Level: skill.LevelInfo, File: s.Path(), Message: r.words.Say("doctor.state_ok", r.short(s.Path()))})
	}
	st, err := r.load(ctx)
	if err != nil {
		return list // Check has said it
	}
	if active := r.activeProfile(st); active.name != "" {
		list = append(list, check{ID: "profile", Level: skill.LevelInfo, File: active.from.File, Line: active.from.Line, Message: r.words.Say("doctor.profile", active.name, place(active.from))})
	}
	for _, rec := range snap.All {
		granted, same := false, false
		for _, g := range st.Grants {
			if g.Name != rec.Skill.Name || g.Source != rec.Source.ID {
				continue
			}
			tree, _, err := source.Tree(ctx, rec.Entry)
			granted, same = true, same || err == nil && tree == g.Tree
		}
		if granted && !same {
			list = append(list, check{
				ID: "grant_changed", Level: skill.LevelWarning, File: orElse(rec.Dir, rec.Location),
				Message: r.words.Say("doctor.grown", rec.Skill.Name), Fix: r.words.Say("doctor.grown_fix", rec.Skill.Name),
			})
		}
	}
	return list
}
