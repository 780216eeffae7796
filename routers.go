package deft

import (
	"slices"
	"sync"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/search"
	"github.com/deftskills/deft/skill"
)

// keptRouters is how many Snapshots are kept ready: sessions with views of their own
// take turns, and each has a Snapshot of its own.
const keptRouters = 4

// ready is what a turn needs of its Snapshot and what takes a look at every skill: it is
// made once.
type ready struct {
	snap   *registry.Snapshot
	router *route.Router
	view   *search.View      // a model's
	env    skill.Environment // of the conditions, with the skills of snap
}

// routers keeps the last Snapshots ready, the one that was asked for last first. The
// zero value is empty.
type routers struct {
	mu   sync.Mutex
	list []ready
}

// of makes snap ready, or finds it.
func (k *routers) of(snap *registry.Snapshot, o route.Options, env skill.Environment) ready {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.list, func(r ready) bool { return r.snap == snap })
	if i < 0 {
		now := ready{snap: snap, view: search.ModelView(snap), env: env}
		now.env.Skills = skill.NewVersionSet(available(snap))
		// Compile's findings are about headers; lint reports them with their lines.
		if len(k.list) == 0 {
			now.router, _ = route.Compile(snap, o)
		} else {
			now.router, _ = k.list[0].router.Next(snap)
		}
		i = len(k.list)
		k.list = append(k.list, now)
	}
	found := k.list[i]
	k.list = slices.Insert(slices.Delete(k.list, i, i+1), 0, found)
	if len(k.list) > keptRouters {
		k.list[keptRouters] = ready{}
		k.list = k.list[:keptRouters]
	}
	return found
}

// available are the skills that conditions may ask for, with their versions.
func available(snap *registry.Snapshot) map[string]string {
	names := map[string]string{}
	for _, r := range snap.Winners {
		if r.State == registry.Available {
			names[r.Skill.Name] = r.Skill.Meta.Version
		}
	}
	return names
}

func (e *Engine) ready(snap *registry.Snapshot) ready {
	env := e.env
	env.Vars = e.judge.decided().Bound.Also(env.Vars)
	return e.routers.of(snap, *e.o.Route, env)
}
