package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// fixture is a session over skills that live in a map.
type fixture struct {
	*Session
	t      testing.TB
	bodies map[string]Body
	snap   *registry.Snapshot
	events []Event
	broken error // what Audit answers
	loadEr error
}

func (f *fixture) Snapshot() *registry.Snapshot { return f.snap }

func (f *fixture) Load(_ context.Context, r *registry.Record) (Body, error) {
	b, ok := f.bodies[r.Address]
	if !ok || f.loadEr != nil {
		return Body{}, errors.Join(errors.New("gone"), f.loadEr)
	}
	if b.Skill == nil {
		b.Skill = r.Skill
	}
	return b, nil
}

// def describes one skill of a fixture.
type def struct {
	name, text string
	trust      source.Trust // "" = trusted
	state      registry.State
	meta       skill.Meta
	files      []File
}

func record(d def) *registry.Record {
	if d.trust == "" {
		d.trust = source.Trusted
	}
	d.meta.Listed, d.meta.DefaultEnabled = true, true
	id := "user"
	if d.trust != source.Trusted {
		id += "-" + string(d.trust)
	}
	s := &skill.Skill{
		Name: d.name, Key: strings.ToLower(d.name), Handle: strings.ToLower(d.name), Meta: d.meta, Valid: true,
		File: skill.FileDigest([]byte(d.text)), Digest: skill.FileDigest([]byte(d.text)),
	}
	return &registry.Record{
		Entry: &source.Entry{
			Skill: s, Dir: "/skills/" + d.name, RealDir: "/skills/" + d.name, Location: "file:///skills/" + d.name + "/SKILL.md",
			Source: source.Info{ID: id, Kind: source.User, Trust: d.trust},
		},
		Address: d.name,
	}
}

// listing is a source that yields what it is made of.
type listing []*source.Entry

// sources returns one source for each trust, since trust is a source's.
func (l listing) sources() (out []source.Source) {
	byID := map[string]*fixed{}
	for _, e := range l {
		f := byID[e.Source.ID]
		if f == nil {
			f = &fixed{info: e.Source}
			byID[e.Source.ID] = f
			out = append(out, f)
		}
		e.From = f
		f.entries = append(f.entries, e)
	}
	return out
}

type fixed struct {
	info    source.Info
	entries []*source.Entry
}

func (f *fixed) Info() source.Info { return f.info }
func (f *fixed) Scan(context.Context, *source.Listing) (*source.Listing, error) {
	slices.SortFunc(f.entries, func(a, b *source.Entry) int { return strings.Compare(a.Location, b.Location) })
	return &source.Listing{Entries: f.entries, Complete: true}, nil
}
func (f *fixed) Open(context.Context, *source.Entry, string) (fs.File, error) {
	return nil, fs.ErrNotExist
}

func newFixture(t testing.TB, change func(*Options), defs ...def) *fixture {
	t.Helper()
	f := &fixture{t: t, bodies: map[string]Body{}}
	src := listing{}
	for _, d := range defs {
		src = append(src, record(d).Entry)
		f.bodies[d.name] = Body{Text: d.text, Line: 5, Lines: 5 + strings.Count(d.text, "\n"), Files: d.files}
	}
	reg, err := registry.Open(t.Context(), registry.Config{Sources: src.sources()})
	if err != nil {
		t.Fatal(err)
	}
	f.snap = reg.Snapshot()
	for _, d := range defs {
		if rec, err := f.snap.Lookup(d.name); err != nil {
			t.Fatal(err)
		} else if d.state != "" {
			rec.State = d.state
		}
	}
	clock := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	o := Options{
		ID: "s1", Snapshots: f, Bodies: f, ProjectDir: "/src/project",
		Clock: func() time.Time { return clock },
		Rand:  &counter{},
		Audit: func(_ context.Context, e Event) error { f.events = append(f.events, e); return f.broken },
	}
	if change != nil {
		change(&o)
	}
	s, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	f.Session = s
	return f
}

func (f *fixture) begin(text string) *Turn {
	f.t.Helper()
	turn, err := f.Begin(f.t.Context(), TurnInput{Text: text})
	if err != nil {
		f.t.Fatal(err)
	}
	return turn
}

// load starts one skill as the model does.
func load(t testing.TB, turn *Turn, name string, args ...string) Result {
	t.Helper()
	r := Request{Names: []string{name}, Actor: ActorModel}
	if len(args) > 0 {
		r.Args, r.HasArgs = args[0], true
	}
	return must(turn.Activate(t.Context(), r))
}

func set(t testing.TB, turn *Turn, names ...string) Result {
	t.Helper()
	return must(turn.Activate(t.Context(), Request{Names: names, Replace: true, Actor: ActorModel}))
}

func must(r Result, err error) Result {
	if err != nil {
		panic(err)
	}
	return r
}

func names(s *Session) string {
	var out []string
	for _, a := range s.Active() {
		out = append(out, a.Name)
	}
	return strings.Join(out, " ")
}

// counter is a random source that gives 1, 2, 3, … as the last byte of eight.
type counter struct{ n byte }

func (c *counter) Read(p []byte) (int, error) {
	c.n++
	clear(p)
	p[len(p)-1] = c.n
	return len(p), nil
}

// constant is a random source that gives one value for ever.
type constant struct{ b []byte }

func (s constant) Read(p []byte) (int, error) { return io.ReadFull(bytes.NewReader(s.b), p) }
