package fetch

import (
	"bytes"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// maxObjects is more than a repository with the greatest number of files that are read
// has, folders counted.
const maxObjects = 500_000

// pack is the objects that a server sent, by name. Each name was computed from the
// contents: an object that is not what it is called can't be in it.
type pack struct {
	objects map[plumbing.Hash]packed
	left    int64 // bytes that may still come
	most    int64
}

type packed struct {
	kind plumbing.ObjectType
	data []byte
}

// readPack reads the objects of an answer. Lengths are looked at before anything is made
// of them.
func readPack(in io.Reader, l Limits) (*pack, error) {
	p := &pack{objects: map[plumbing.Hash]packed{}, left: l.bytes(gitBytes), most: l.bytes(gitBytes)}
	scan := packfile.NewScanner(in)
	_, n, err := scan.Header()
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	if n > maxObjects {
		return nil, fmt.Errorf("%w: the repository has %d objects, at most %d", ErrLimit, n, maxObjects)
	}
	waiting := map[plumbing.Hash][][]byte{} // changes, by what they are changes of
	for range n {
		h, err := scan.NextObjectHeader()
		if err != nil {
			return nil, fmt.Errorf("pack: %w", err)
		}
		if err := p.room(h.Length); err != nil {
			return nil, err
		}
		data := bytes.NewBuffer([]byte{})
		if _, _, err := scan.NextObject(data); err != nil {
			return nil, fmt.Errorf("pack: %w", err)
		}
		switch h.Type {
		case plumbing.REFDeltaObject:
			waiting[h.Reference] = append(waiting[h.Reference], data.Bytes())
		case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
			p.add(h.Type, data.Bytes())
		default: // changes of what lies so many bytes before were not asked for
			return nil, fmt.Errorf("%w: the server sends objects of kind %s", ErrUnreachable, h.Type)
		}
	}
	if _, err := scan.Checksum(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return p, p.resolve(waiting)
}

// room takes from what may still come.
func (p *pack) room(n int64) error {
	if n < 0 || n > p.left {
		return fmt.Errorf("%w: the repository is larger than %d bytes", ErrLimit, p.most)
	}
	p.left -= n
	return nil
}

func (p *pack) add(kind plumbing.ObjectType, data []byte) plumbing.Hash {
	id := plumbing.ComputeHash(kind, data)
	p.objects[id] = packed{kind, data}
	return id
}

// resolve makes objects of changes, from those that are there outwards.
func (p *pack) resolve(waiting map[plumbing.Hash][][]byte) error {
	var ready []plumbing.Hash
	for id := range waiting {
		if _, ok := p.objects[id]; ok {
			ready = append(ready, id)
		}
	}
	for len(ready) > 0 {
		id := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		base, changes := p.objects[id], waiting[id]
		delete(waiting, id)
		for _, change := range changes {
			if err := p.room(grows(change)); err != nil {
				return err
			}
			data, err := packfile.PatchDelta(base.data, change)
			if err != nil {
				return fmt.Errorf("pack: %w", err)
			}
			if next := p.add(base.kind, data); waiting[next] != nil {
				ready = append(ready, next)
			}
		}
	}
	if len(waiting) > 0 {
		return fmt.Errorf("%w: the server left out what its objects are changes of", ErrUnreachable)
	}
	return nil
}

// grows is how many bytes a change announces to give: the second of the two numbers that
// it begins with. -1 = it announces none.
func grows(change []byte) int64 {
	_, rest := number(change)
	n, _ := number(rest)
	return n
}

// number reads one that is written seven bits a byte, the least first; -1 = none is there.
func number(b []byte) (n int64, rest []byte) {
	for shift := 0; len(b) > 0 && shift <= 49; shift += 7 {
		n |= int64(b[0]&0x7f) << shift
		if b[0] < 0x80 {
			return n, b[1:]
		}
		b = b[1:]
	}
	return -1, nil
}

func (p *pack) kind(id string) (plumbing.ObjectType, int64, error) {
	o, ok := p.objects[plumbing.NewHash(id)]
	if !ok {
		return 0, 0, fmt.Errorf("%w: the server left out object %s", ErrUnreachable, id)
	}
	return o.kind, int64(len(o.data)), nil
}

func (p *pack) read(id string) ([]byte, error) {
	o, ok := p.objects[plumbing.NewHash(id)]
	if !ok {
		return nil, fmt.Errorf("%w: the server left out object %s", ErrUnreachable, id)
	}
	return o.data, nil
}
