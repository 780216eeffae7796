package atomicfile

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
)

// powerloss is one directory on a disk that may lose its power: what was not synced is
// kept in part, by chance.
type powerloss struct {
	kept  map[string]*inode // names as they are on the disk
	steps []step            // of the directory, not yet on the disk
	left  int               // calls until the power is gone
}

type inode struct{ kept, written []byte }

// step is a name that came to stand for a file, or for none.
type step struct {
	name string
	file *inode
}

var errDark = errors.New("no power")

func (p *powerloss) powered() error {
	if p.left--; p.left < 0 {
		return errDark
	}
	return nil
}

// names are as a process sees them.
func (p *powerloss) names() map[string]*inode {
	now := maps.Clone(p.kept)
	for _, s := range p.steps {
		set(now, s)
	}
	return now
}

func set(names map[string]*inode, s step) {
	if s.file == nil {
		delete(names, s.name)
	} else {
		names[s.name] = s.file
	}
}

// crash is what the disk holds when the power is back: of steps and bytes that were not
// synced some, bytes in whole sectors or with garbage where the rest was to be.
func (p *powerloss) crash(r *rand.Rand) map[string][]byte {
	names := maps.Clone(p.kept)
	for _, s := range p.steps {
		if r.IntN(2) == 0 {
			set(names, s)
		}
	}
	out := map[string][]byte{}
	for name, f := range names {
		data := bytes.Clone(f.kept)
		if len(f.written) > len(data) {
			const sector = 512
			n := min(len(f.written), len(data)+sector*r.IntN(len(f.written)/sector+2))
			data = append(data, f.written[len(data):n]...)
			if r.IntN(2) == 0 {
				data = append(data, make([]byte, len(f.written)-n)...)
			}
		}
		out[name] = data
	}
	return out
}

func (p *powerloss) create(name string) (file, error) {
	if err := p.powered(); err != nil {
		return nil, err
	}
	f := &inode{}
	p.steps = append(p.steps, step{name, f})
	return &handle{p, f}, nil
}

func (p *powerloss) open(string) (file, error) { return &handle{p, nil}, p.powered() }

func (p *powerloss) rename(from, to string) error {
	if err := p.powered(); err != nil {
		return err
	}
	p.steps = append(p.steps, step{to, p.names()[from]}, step{from, nil})
	return nil
}

func (p *powerloss) remove(name string) error {
	if err := p.powered(); err != nil {
		return err
	}
	p.steps = append(p.steps, step{name, nil})
	return nil
}

// handle is an open file, or the directory.
type handle struct {
	p *powerloss
	f *inode
}

func (h *handle) Write(b []byte) (int, error) {
	if err := h.p.powered(); err != nil {
		return 0, err
	}
	h.f.written = append(h.f.written, b...)
	return len(b), nil
}

func (h *handle) Chmod(fs.FileMode) error { return h.p.powered() }
func (h *handle) Close() error            { return h.p.powered() }

func (h *handle) Sync() error {
	if err := h.p.powered(); err != nil {
		return err
	}
	if h.f != nil {
		h.f.kept = bytes.Clone(h.f.written)
		return nil
	}
	h.p.kept, h.p.steps = h.p.names(), nil
	return nil
}

// Whenever the power goes, the file is the old one or the new one, and after a write
// that said it was done it is the new one.
func TestR03PowerLoss(t *testing.T) {
	t.Parallel()
	before, after := []byte("old contents"), []byte(strings.Repeat("new contents, and longer. ", 100))
	seen := map[string]int{}
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 3))
		p := &powerloss{kept: map[string]*inode{"f": {kept: before, written: before}}, left: r.IntN(12)}
		err := write(p, "f", after, 0o600)
		done := err == nil && p.left >= 0 // there was still power to say so
		got := p.crash(r)["f"]
		switch {
		case bytes.Equal(got, before) && !done:
			seen["old"]++
		case bytes.Equal(got, after):
			seen["new"]++
		default:
			t.Errorf("seed %d, error %v: %d bytes that are neither old nor new", seed, err, len(got))
		}
	}
	if seen["old"] < 100 || seen["new"] < 100 {
		t.Errorf("seen %v", seen)
	}
}
