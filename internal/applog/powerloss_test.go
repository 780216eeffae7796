package applog

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"testing"
)

// powerloss is a disk that may lose its power: what was not synced is kept in part, by
// chance.
type powerloss struct {
	kept  map[string]*inode // names as they are on the disk
	steps []step            // of the folder, not yet on the disk
	left  int               // calls until the power is gone
}

type inode struct{ kept, now []byte }

// step is a name that came to stand for a file, and one that stands for none any more.
type step struct {
	name string
	file *inode
	gone string
}

var errDark = errors.New("no power")

func (p *powerloss) powered() error {
	if p.left--; p.left < 0 {
		return errDark
	}
	return nil
}

func set(names map[string]*inode, s step) {
	names[s.name] = s.file
	delete(names, s.gone)
}

func (p *powerloss) names() map[string]*inode {
	now := maps.Clone(p.kept)
	for _, s := range p.steps {
		set(now, s)
	}
	return now
}

// crash is the disk when the power is back: names changed in order up to some point, of
// bytes that were not synced some whole sectors, or zeros where the rest was to be.
func (p *powerloss) crash(r *rand.Rand) *powerloss {
	names := maps.Clone(p.kept)
	for _, s := range p.steps[:r.IntN(len(p.steps)+1)] {
		set(names, s)
	}
	out := &powerloss{kept: map[string]*inode{}, left: 1 << 30}
	for name, f := range names {
		data := bytes.Clone(f.kept)
		if len(f.now) > len(data) && bytes.HasPrefix(f.now, data) {
			const sector = 512
			n := min(len(f.now), len(data)+r.IntN(sector)+sector*r.IntN(len(f.now)/sector+2))
			data = append(data, f.now[len(data):n]...)
			if r.IntN(2) == 0 {
				data = append(data, make([]byte, len(f.now)-n)...)
			}
		} else if len(f.now) < len(data) && r.IntN(2) == 0 {
			data = bytes.Clone(f.now)
		}
		out.kept[name] = &inode{kept: data, now: bytes.Clone(data)}
	}
	return out
}

func (p *powerloss) mkdir(string) error { return p.powered() }

func (p *powerloss) open(path string) (file, error) {
	if err := p.powered(); err != nil {
		return nil, err
	}
	f := p.names()[path]
	if f == nil {
		f = &inode{}
		p.steps = append(p.steps, step{path, f, ""})
	}
	return &handle{p, f}, nil
}

func (p *powerloss) read(path string) ([]byte, error) {
	f := p.names()[path]
	if f == nil {
		return nil, fs.ErrNotExist
	}
	return bytes.Clone(f.now), nil
}

func (p *powerloss) size(path string) (int64, error) {
	f := p.names()[path]
	if f == nil {
		return 0, fs.ErrNotExist
	}
	return int64(len(f.now)), nil
}

// save brings a file to disk before it has its name, which is nothing that a log reads.
func (p *powerloss) save(string, []byte) error { return p.powered() }

func (p *powerloss) rename(from, to string) error {
	if err := p.powered(); err != nil {
		return err
	}
	p.steps = append(p.steps, step{to, p.names()[from], from})
	return nil
}

func (p *powerloss) sync(string) error {
	if err := p.powered(); err != nil {
		return err
	}
	p.kept, p.steps = p.names(), nil
	return nil
}

type handle struct {
	p *powerloss
	f *inode
}

func (h *handle) Write(b []byte) (int, error) {
	if err := h.p.powered(); err != nil {
		return 0, err
	}
	h.f.now = append(h.f.now, b...)
	return len(b), nil
}

func (h *handle) Truncate(n int64) error {
	if err := h.p.powered(); err != nil {
		return err
	}
	h.f.now = bytes.Clone(h.f.now[:n])
	return nil
}

func (h *handle) Sync() error {
	if err := h.p.powered(); err != nil {
		return err
	}
	h.f.kept = bytes.Clone(h.f.now)
	return nil
}

func (h *handle) Close() error { return nil }

// Whenever the power goes, the log is a beginning of what was appended, with all of it
// that Sync said was on disk, and it can be written again.
func TestR03PowerLoss(t *testing.T) {
	t.Parallel()
	const path = "s/one.jsonl"
	lost, kept := 0, 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 3))
		p := &powerloss{kept: map[string]*inode{}, left: r.IntN(60)}
		o := options()
		o.Part = int64(300 + r.IntN(900))
		o.lock = func(context.Context, string) (func() error, error) { return func() error { return nil }, nil }
		o.disk = p
		said, safe := 0, 0
		if l, err := Open(t.Context(), path, o); err == nil {
			for i := range 30 {
				if l.Append(record(i)) != nil {
					break
				}
				if said = i + 1; r.IntN(3) == 0 && l.Sync() == nil {
					safe = said
				}
			}
		}
		o.disk = p.crash(r)
		l, err := Open(t.Context(), path, o)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := all(path, o)
		if err != nil || len(got) < safe || len(got) > said+1 {
			t.Errorf("seed %d: %d records of %d, %d of them safe: %v", seed, len(got), said, safe, err)
		}
		same(t, got, records(len(got)))
		if len(got) < said {
			lost++
		} else {
			kept++
		}
		if err := l.Append(record(len(got))); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if again, err := all(path, o); err != nil || len(again) != len(got)+1 {
			t.Errorf("seed %d: %d records after %d, %v", seed, len(again), len(got), err)
		}
	}
	if lost < 20 || kept < 20 {
		t.Errorf("%d crashes lost something, %d nothing", lost, kept)
	}
}
