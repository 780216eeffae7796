package install

import (
	"context"
	"fmt"
	"time"

	"github.com/deftskills/deft/skill"
)

// What a change of an installed skill is called where it is recorded.
const (
	DidInstall  = "install"
	DidUpdate   = "update"
	DidRemove   = "remove"
	DidRollback = "rollback"
	DidRepair   = "repair"
	DidPin      = "pin"
)

// Change is one change of what is installed, as it is recorded.
type Change struct {
	ID       string       `json:"id"`     // of the change; a recorded one is not recorded again
	Action   string       `json:"action"` // one of the words above
	At       time.Time    `json:"at"`     // when it began
	Scope    string       `json:"scope"`
	Root     string       `json:"root"` // of the scope
	Name     string       `json:"name"`
	From     skill.Digest `json:"from,omitempty"` // the tree before; "" = none that deft put there
	To       skill.Digest `json:"to,omitempty"`   // the tree after; "" = none
	Source   Origin       `json:"source"`
	Licence  string       `json:"licence,omitempty"`
	Pin      string       `json:"pin,omitempty"`
	Accepted []string     `json:"accepted,omitempty"` // rules of the scanner whose findings were taken
	// Again says that a process which ended in the middle may have recorded it already.
	Again bool `json:"-"`
}

// Recorder keeps what was changed, for whoever asks later. Its methods are called by one
// goroutine.
type Recorder interface {
	// Ready says why nothing could be recorded now: then nothing is changed.
	Ready(ctx context.Context) error
	// Record keeps a change that is made. Where it can't, it tells: there is nothing left
	// to refuse.
	Record(ctx context.Context, c Change)
}

// ready asks before a change whether it could be recorded.
func (i *Installer) ready(ctx context.Context) error {
	if i.o.Recorder == nil {
		return nil
	}
	if err := i.o.Recorder.Ready(ctx); err != nil {
		return fmt.Errorf("install: the change could not be recorded, and is not made: %w", err)
	}
	return nil
}

func (i *Installer) record(ctx context.Context, c Change) {
	if i.o.Recorder != nil && c.ID != "" {
		// What is done is recorded, though whoever asked for it has left.
		i.o.Recorder.Record(context.WithoutCancel(ctx), c)
	}
}

// change begins the record of one.
func (i *Installer) change(action string, s Scope, name string, from, to skill.Digest, source Origin) Change {
	return Change{ID: id(), Action: action, At: i.o.Now().UTC(), Scope: s.Name, Root: s.Root, Name: s.key(name), From: from, To: to, Source: source}
}
