package install

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/deftskills/deft/internal/lockfile"
)

// ErrNoVersion is a former version that is not there.
var ErrNoVersion = errors.New("versions_unknown_version")

// PlanRollback is the install of a version that was there before, out of the store: the
// last one, or the one whose digest begins with to. Local edits are kept aside.
func (i *Installer) PlanRollback(ctx context.Context, s Scope, agents []Agent, name, to string) (*Plan, error) {
	lock, err := ReadLock(s.Lock, s.Name == "project")
	if err != nil {
		return nil, err
	}
	e, ok := lock.Skills[name]
	if !ok {
		return nil, fmt.Errorf("%w: %q is not installed", ErrNoVersion, name)
	}
	prov, err := ReadProvenance(filepath.Join(s.Skills, name))
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", ErrNoVersion, name, err)
	}
	var was *Former
	var known []string
	for at := range prov.History {
		h := &prov.History[at]
		known = append(known, string(h.Tree)[:len("sha256:")+12])
		if to == "" || strings.HasPrefix(string(h.Tree), to) || strings.HasPrefix(string(h.Tree), "sha256:"+to) {
			was = h
		}
	}
	switch {
	case was != nil:
	case len(known) == 0:
		return nil, fmt.Errorf("%w: %q has no former version", ErrNoVersion, name)
	default:
		return nil, fmt.Errorf("%w: %q has no former version %s; there are: %s", ErrNoVersion, name, to, strings.Join(known, ", "))
	}
	base := e
	e.Source, e.Tree, e.Licence = was.Source, was.Tree, was.Licence
	f, err := i.FromStore(ctx, e)
	if err != nil {
		return nil, err
	}
	packs, err := Find(ctx, f, FindOptions{Nested: true})
	if err != nil {
		return nil, err
	}
	for _, p := range packs {
		if p.Dir == e.Source.Subpath {
			return i.Plan(ctx, f, []Package{p}, Choice{
				Scope: s, Agents: chosen(agents, e.Agents), Copy: e.Mode == "copy", Force: true, Unlicensed: true, Pin: string(e.Tree), action: DidRollback,
				base: &base,
			})
		}
	}
	return nil, fmt.Errorf("%w: the store has another skill where %q was", ErrNoVersion, name)
}

// chosen are the agents of a list of ids.
func chosen(agents []Agent, ids []string) (out []Agent) {
	for _, a := range agents {
		for _, id := range ids {
			if a.ID == id {
				out = append(out, a)
			}
		}
	}
	return out
}

// Pin has updates stay at what is installed; "" lets them go on. Ref, unless nil, is which
// version updates ask for then, of a skill that came from the store.
func (i *Installer) Pin(ctx context.Context, s Scope, name, pin string, ref *string) error {
	return i.locked(ctx, "pin", s, func() error {
		lock, err := ReadLock(s.Lock, s.Name == "project")
		if err != nil {
			return err
		}
		e, ok := lock.Skills[name]
		if !ok {
			return fmt.Errorf("%w: %q is not installed", ErrNoVersion, name)
		}
		if strings.HasPrefix(pin, "sha256:") && pin != string(e.Tree) {
			return fmt.Errorf("%w: %s: %q was changed meanwhile", lockfile.ErrBusy, CodeBusy, name)
		}
		e.Pin = pin
		if ref != nil && e.Source.Type == Published {
			e.Source.Ref = *ref
		}
		lock.Skills[name] = e
		if err := lock.Write(s.Lock); err != nil {
			return err
		}
		did := i.change(DidPin, s, name, e.Tree, e.Tree, e.Source)
		did.Pin = pin
		i.record(ctx, did)
		return nil
	})
}
