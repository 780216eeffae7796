package session

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// Session is one conversation: a pinned Snapshot and what is active. It is safe for
// concurrent use; one turn runs at a time.
type Session struct {
	o     Options
	id    string
	own   manner // of the dialect
	state atomic.Pointer[state]
	reach reach
	hooks hookKeeper

	mu     sync.Mutex // guards what follows; readers of state never take it
	pinned *registry.Snapshot
	turn   *Turn
	turns  int
	seq    int
	used   time.Time // when the last turn began
	closed bool
}

// state is what readers see; it is replaced as a whole.
type state struct {
	layers    Layers
	effective Effective
	revision  uint64
}

// New opens a session.
func New(_ context.Context, o Options) (*Session, error) {
	if o.Snapshots == nil {
		return nil, errors.New("session options: no snapshots")
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Bodies == nil {
		o.Bodies = sourceBodies{}
	}
	if o.Pin == "" {
		o.Pin = PinTurn
	}
	o.Limits = o.Limits.WithDefaults()
	s := &Session{o: o, id: o.ID, own: manners[o.Dialect]}
	if s.id == "" {
		b := make([]byte, 16)
		if _, err := io.ReadFull(o.Rand, b); err != nil {
			return nil, fmt.Errorf("session id: %w", err)
		}
		s.id = strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
	}
	s.swap(Layers{})
	return s, nil
}

// ID returns the session's id.
func (s *Session) ID() string { return s.id }

// Begin starts a turn and pins the Snapshot for it. It returns ErrBusy while another
// turn runs, and ErrClosed after Close.
func (s *Session) Begin(ctx context.Context, in TurnInput) (*Turn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, ErrClosed
	case s.turn != nil:
		return nil, ErrBusy
	}
	now := s.o.Clock()
	if s.o.Idle > 0 && !s.used.IsZero() && now.Sub(s.used) > s.o.Idle {
		s.swap(Layers{})
	}
	s.used = now
	if s.pinned == nil || s.o.Pin == PinTurn {
		s.pinned = s.o.Snapshots.Snapshot()
	}
	if s.own.hears {
		s.Hear([]Said{{Text: in.Text}})
	} else {
		s.Touch(PathWords(in.Text)...)
	}
	s.turns++
	s.turn = &Turn{s: s, snap: s.pinned, number: s.turns, text: in.Text, door: in.Door, trace: in.Trace, failures: map[string]int{}, ready: map[string]bool{}}
	return s.turn, nil
}

// Refresh makes the next turn take the newest Snapshot, also in a session that is
// pinned to one. Active skills keep the text they were started with.
func (s *Session) Refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pinned = nil
}

// Effective returns what holds now. The caller must not change its slices.
func (s *Session) Effective() Effective { return s.state.Load().effective }

// Revision grows with each change of what State returns.
func (s *Session) Revision() uint64 {
	s.reach.mu.Lock()
	defer s.reach.mu.Unlock()
	return s.state.Load().revision + s.reach.changes
}

// Layers returns the patches in force, a value that is safe to keep.
func (s *Session) Layers() Layers { return s.state.Load().layers }

// Active returns the active skills: the session's, then the turn's, each in order of
// activation.
func (s *Session) Active() []Activation {
	var out []Activation
	s.Layers().each(func(a *Applied) {
		if now := a.active(); now != nil {
			out = append(out, *now)
		}
	})
	return out
}

// ActiveSkills returns the active skills and the host's policy as the gate takes them.
// What a skill approves in advance counts only while its files are those that were granted.
func (s *Session) ActiveSkills() []gate.ActiveSkill {
	out := slices.Clone(s.Effective().Skills)
	for i, k := range out {
		if k.Mode != gate.PreApprove || !k.Granted || k.Source == gate.HostSource {
			continue
		}
		for _, a := range s.Active() {
			if a.Name == k.Name && a.SourceID == k.Source && a.Trust != trustTrusted {
				out[i].Still = func() bool { return s.granted(a.Record) }
			}
		}
	}
	return out
}

// Clear ends everything that is active, as if the conversation began anew. The running
// turn goes on.
func (s *Session) Clear() { s.swap(Layers{}) }

// Close drops both layers. It is idempotent; a running turn is ended.
func (s *Session) Close() error {
	s.mu.Lock()
	t := s.turn
	s.closed = true
	s.mu.Unlock()
	if t != nil {
		t.End()
	}
	s.swap(Layers{})
	if s.o.Hooks != nil {
		_ = s.inForce(func(func(*Applied)) {}) // none: nothing can fail
	}
	s.mu.Lock()
	s.pinned = nil
	s.mu.Unlock()
	return nil
}

// swap makes l what readers see. Hooks that l has no more are out of force before.
func (s *Session) swap(l Layers) {
	_ = s.syncHooks(l) // lay told of hooks that cannot be registered
	next := &state{layers: l, effective: Derive(s.o.Base, l, s.o.Dialect)}
	if now := s.state.Load(); now != nil {
		next.revision = now.revision + 1
	}
	s.state.Store(next)
}

// nextSeq numbers patches and sets.
func (s *Session) nextSeq() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	return s.seq
}

func (s *Session) granted(r *registry.Record) bool {
	if s.o.Granted != nil {
		return s.o.Granted(r)
	}
	return string(r.Source.Trust) == trustTrusted
}

func (s *Session) unmet(r *registry.Record) []string {
	if s.o.Unmet != nil {
		return s.o.Unmet(r.Skill)
	}
	if r.State != registry.Unmet {
		return nil
	}
	var codes []string
	for _, why := range r.Reasons {
		if why.Code == "unmet" {
			codes = append(codes, why.Message)
		}
	}
	if len(codes) == 0 {
		codes = []string{"conditions"}
	}
	return codes
}

// digestOf is the digest of a text that was given to a model.
func digestOf(text string) skill.Digest { return skill.FileDigest([]byte(text)) }
