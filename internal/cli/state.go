package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/config"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store"
)

// database is where what a person decided is kept: by flag, environment or the person's
// settings, else a file of the state directory. It may hold a password.
func (r *run) database() string {
	if r.config != nil && r.config.DB != "" {
		return r.config.DB
	}
	return "sqlite:" + filepath.Join(r.dirs.State, "deft.db")
}

// storeName is database for people.
func (r *run) storeName() string {
	name, _ := strings.CutPrefix(store.Masked(r.database()), "sqlite:")
	return name
}

// openStore opens the state, once a run. A verb that declares neither writes nor that it
// runs code, which is recorded, and a dry run, cannot change it.
func (r *run) openStore(ctx context.Context) (*store.Store, error) {
	r.opening.Lock() // a conversation's watcher asks beside its turns
	defer r.opening.Unlock()
	if r.store != nil {
		return r.store, nil
	}
	s, err := store.Open(ctx, store.Options{
		DB: r.database(), ReadOnly: !r.verb.effects.writes && !r.verb.effects.runsCode || r.writing.dryRun, NoMigrate: r.replica(),
		Release: build().Version, Verb: r.verb.name, Now: r.proc.Now,
	})
	if err != nil {
		return nil, err
	}
	r.store = s
	return s, nil
}

// load reads the state. With an error it holds what is sound still, and no trust.
func (r *run) load(ctx context.Context) (store.State, error) {
	s, err := r.openStore(ctx)
	if err != nil {
		return store.State{}, err
	}
	return s.Load(ctx)
}

// projectRoot is the folder that trust and the choice of a profile are bound to.
func (r *run) projectRoot() string {
	return source.TrustRoot(source.Env{Workspace: r.cwd, Home: r.dirs.Home}, r.cwd)
}

// folderTrusted says whether a person trusts exactly the project's folder. Settings of
// a folder whose trust cannot be read are not.
func (r *run) folderTrusted(ctx context.Context) bool {
	s, err := r.openStore(ctx)
	if err != nil {
		return false
	}
	trusted, _, err := s.FolderTrust(ctx, r.projectRoot())
	return trusted && err == nil
}

// decisions gives the registry what the state and the settings say, anew at each
// refresh.
type decisions struct{ r *run }

// Version implements registry.Versioned: of the state and of the files of settings.
func (d decisions) Version(ctx context.Context) string {
	s, err := d.r.openStore(ctx)
	if err != nil {
		return ""
	}
	n, err := s.Version(ctx)
	if err != nil {
		return ""
	}
	return fmt.Sprint(n, d.r.settingsStamp())
}

// state reads the state. A server that is away for a while takes nothing from a
// conversation that goes on: what was read before counts, and is safe to, because no call
// is allowed that cannot be recorded.
func (d decisions) state(ctx context.Context) (store.State, *skill.Diagnostic) {
	st, err := d.r.load(ctx)
	d.r.reading.Lock()
	defer d.r.reading.Unlock()
	if err == nil {
		d.r.standing = &st
		return st, nil
	}
	trouble := stateTrouble(d.r.storeName(), err)
	if (errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrBusy)) && d.r.standing != nil {
		trouble.Message = err.Error() + "; what was decided before counts, and no call is allowed that needs it"
		return *d.r.standing, &trouble
	}
	return st, &trouble
}

// Decide implements registry.Decider.
func (d decisions) Decide(ctx context.Context) registry.Decisions {
	var out registry.Decisions
	st, trouble := d.state(ctx)
	if trouble != nil {
		out.Diagnostics = append(out.Diagnostics, *trouble)
	}
	c, diags := d.r.settingsNow(st)
	out.Diagnostics = append(out.Diagnostics, diags...)
	out.Switches = registry.Switches{
		Deny: rulesOf(c.User.Deny), Enable: rulesOf(c.User.Enable), DefaultOff: rulesOf(c.User.DefaultOff), UserAllowOnly: rulesOf(c.User.AllowOnly),
		ProjectDeny: rulesOf(c.Project.Deny), ProjectEnable: rulesOf(c.Project.Enable), ProjectDefaultOff: rulesOf(c.Project.DefaultOff),
		AllowOnly: rulesOf(c.Project.AllowOnly),
	}
	for _, s := range d.r.heeded(st.Switches) {
		out.Switches.Saved = append(out.Switches.Saved, registry.Saved{Name: s.Name, Source: s.Source, Switch: registry.Switch(s.Switch)})
	}
	active := d.r.profileOf(c, st)
	chain, err := registry.Chain(active.name, profilesIn(c, st))
	if err != nil {
		out.Diagnostics = append(out.Diagnostics, profileTrouble(active, err))
	}
	out.Switches.Profile = chain
	for _, f := range st.Folders {
		if f.Refused && d.r.globals.trustProject {
			continue // for this run the person says otherwise
		}
		out.Folders = append(out.Folders, registry.Folder{Root: f.Root, Refused: f.Refused})
	}
	out.Bound, out.Network = boundBy(c), c.Network
	out.Installed, diags = d.r.installedDirs()
	out.Diagnostics = append(out.Diagnostics, diags...)
	for _, g := range st.Grants {
		out.Grants = append(out.Grants, registry.Grant{Name: g.Name, Source: g.Source, Tree: g.Tree, Tools: g.AllowedTools, Hooks: g.Hooks != ""})
	}
	return out
}

// heeded keeps what was saved for follow, and returns it with what was handed on.
func (r *run) heeded(saved []store.SkillState) []store.SkillState {
	r.reading.Lock()
	defer r.reading.Unlock()
	r.saved = saved
	out := slices.Clone(saved)
	for i, s := range out {
		if next, ok := r.followed[s.Key]; ok {
			out[i] = next
		}
	}
	return out
}

// DisabledLocations implements registry.Deactivator, for dialect minimax. What cannot
// be read turns nothing off; Decide says so.
func (d decisions) DisabledLocations(ctx context.Context) []string {
	st, _ := d.state(ctx)
	return st.Locations
}

func rulesOf(list []config.Entry) []registry.Rule {
	if list == nil {
		return nil
	}
	out := make([]registry.Rule, 0, len(list))
	for _, e := range list {
		out = append(out, registry.Rule{Pattern: e.Pattern, File: e.From.File, Line: e.From.Line})
	}
	return out
}

// profiles are those of the settings and the saved ones; the settings win.
func (r *run) profiles(st store.State) map[string]registry.Profile { return profilesIn(r.config, st) }

func profilesIn(c *config.Config, st store.State) map[string]registry.Profile {
	all := map[string]registry.Profile{}
	for _, p := range st.Profiles {
		saved := func(list []string) []registry.Rule {
			var out []registry.Rule
			for _, pattern := range list {
				out = append(out, registry.Rule{Pattern: pattern, File: "saved profile " + p.Name})
			}
			return out
		}
		all[p.Name] = registry.Profile{Name: p.Name, Extends: p.Extends, Include: saved(p.Include), Exclude: saved(p.Exclude)}
	}
	for name, p := range c.Profiles {
		all[name] = registry.Profile{Name: name, Extends: p.Extends, Include: rulesOf(p.Include), Exclude: rulesOf(p.Exclude)}
	}
	return all
}

// chosen is the active profile and who chose it.
type chosen struct {
	name string // "" = none
	from config.From
}

// activeProfile returns the profile of this run: by flag or environment, else what
// the person chose for the project, the project's own file, the user's.
func (r *run) activeProfile(st store.State) chosen { return r.profileOf(r.config, st) }

func (r *run) profileOf(c *config.Config, st store.State) chosen {
	root := r.projectRoot()
	for _, choice := range st.Choices {
		if choice.Root == root && r.globals.profile == "" {
			return chosen{choice.Profile, config.From{Level: config.User, File: "deft profile use"}}
		}
	}
	switch {
	case r.globals.profile != "":
		return chosen{r.globals.profile, r.globals.profileFrom}
	case c.Project.Profile != "":
		return chosen{c.Project.Profile, c.From("skills.profile")}
	}
	return chosen{c.User.Profile, c.From("skills.profile")}
}

// profileTrouble says that the active profile cannot be used; then none is.
func profileTrouble(active chosen, err error) skill.Diagnostic {
	var p *registry.ProfileError
	if errors.As(err, &p) && p.Cycle {
		d := skill.Finding("profile_cycle", active.from.File, "%v: no profile is used", err)
		d.Line = active.from.Line
		return d
	}
	d := skill.Finding("profile_unknown", active.from.File, "%v: no profile is used", err)
	d.Line = active.from.Line
	return d
}

// stateTrouble says that the state cannot be read, for verbs that go on without it.
func stateTrouble(file string, err error) skill.Diagnostic {
	code := store.Code(err)
	if _, known := skill.LookupCode(code); !known {
		code = "store_unreadable"
	}
	return skill.Finding(code, file, "%v; nothing is trusted by it", err)
}

// storeFailure ends a verb that needs the state and cannot have it.
func storeFailure(err error) *failure {
	for _, known := range []struct {
		err  error
		exit Exit
		hint string
	}{
		{store.ErrDamaged, Damaged, "hint.state_damaged"},
		{store.ErrBusy, Busy, "hint.state_busy"},
		{store.ErrReadOnly, Refused, ""},
		{store.ErrNewerSchema, Refused, "hint.state_newer"},
		{store.ErrDirOpen, Refused, ""},
		{store.ErrFull, Negative, ""},
		{store.ErrCycle, Usage, ""},
		{store.ErrInvalid, Usage, ""},
		{store.ErrDSN, Usage, ""},
		{store.ErrConflict, Busy, ""},
		{store.ErrUnknownVersion, Negative, ""},
		{store.ErrTransition, Negative, ""},
		{store.ErrLabelTaken, Negative, ""},
		{store.ErrUnavailable, Network, "hint.state_away"},
	} {
		if errors.Is(err, known.err) {
			code := store.Code(err)
			if code == "" {
				code = "usage"
			}
			return fail(known.exit, code, "%v", err).hinted(known.hint)
		}
	}
	return nil
}
