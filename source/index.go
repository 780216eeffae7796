package source

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/packed"
	"github.com/deftskills/deft/skill"
)

// IndexKey identifies what a listing of src depends on beside the disk: two sources
// with one key list alike. ok is false for a source whose listing cannot be kept.
func IndexKey(src Source) (key string, ok bool) {
	d, ok := src.(*dirSource)
	if !ok {
		return "", false
	}
	o := &d.o
	return fmt.Sprintf("%q %v %q %v %+v", o.Info.Path, o.One, o.Format.Dialect, o.Format.Limits, o.Format.DataDir), true
}

// WriteIndex writes the skills of a listing with their stamps, in the form that
// ReadIndex reads, piece by piece. Findings about the root are left out: each scan makes
// them anew.
func WriteIndex(w io.Writer, l *Listing) error {
	const piece = 64 << 10
	c := packed.Writer(make([]byte, 0, piece+4<<10))
	n := len(l.Entries)
	c.Integer(&n)
	var copied Entry // writing changes nothing, but takes pointers
	for _, e := range l.Entries {
		copied = *e
		pack(&c, &copied)
		b := skill.AppendBinary(c.Bytes(), e.Skill)
		if len(b) >= piece {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
		c = packed.Writer(b)
	}
	packFolders(&c, &l.folders)
	_, err := w.Write(c.Bytes())
	return err
}

// IndexEqual says whether two listings make the same index.
func IndexEqual(a, b *Listing) bool {
	return slices.EqualFunc(a.Entries, b.Entries, func(x, y *Entry) bool {
		return x == y || x.Skill == y.Skill && x.Location == y.Location &&
			x.Stamp.File == y.Stamp.File && x.Stamp.Dir == y.Stamp.Dir && x.Stamp.Racy == y.Stamp.Racy
	}) && maps.EqualFunc(a.folders, b.folders, func(x, y names) bool { return x.stamp == y.stamp })
}

// leastPacked is what an entry takes at least: its two stamps.
const leastPacked = 80

// ReadIndex returns a listing that src may take as the previous one, so that it reads
// no file whose stamp is still the same. Texts are cut out of data. ok is false for
// bytes that WriteIndex did not write.
func ReadIndex(src Source, data string) (l *Listing, ok bool) {
	c := packed.Reader(data)
	var n int
	if c.Integer(&n); c.Bad || n < 0 || n > len(data)/leastPacked {
		return nil, false
	}
	l = &Listing{Entries: make([]*Entry, n)}
	slab := make([]struct { // one block, each skill beside its entry
		Entry
		skill skill.Skill
	}, n)
	info := src.Info()
	for i := range slab {
		e := &slab[i].Entry
		e.Source, e.From, e.Skill = info, src, &slab[i].skill
		pack(&c, e)
		var rest string
		if rest, ok = skill.DecodeInto(e.Skill, c.Rest()); !ok || c.Bad {
			return nil, false
		}
		c = packed.Reader(rest)
		l.Entries[i] = e
	}
	packFolders(&c, &l.folders)
	return l, !c.Bad && c.Rest() == ""
}

// pack walks what an entry holds beside its skill and its source.
func pack(c *packed.Codec, e *Entry) {
	c.Text(&e.Location)
	cut := strings.HasPrefix(e.Location, fileScheme+e.Dir)
	if c.Flag(&cut); cut { // one text for both, as in a scan
		n := len(e.Dir)
		c.Integer(&n)
		if c.Bad || n < 0 || n > len(e.Location)-len(fileScheme) {
			c.Bad = true
			return
		}
		e.Dir = e.Location[len(fileScheme) : len(fileScheme)+n]
	} else {
		c.Text(&e.Dir)
	}
	c.Like(&e.RealDir, e.Dir)
	c.Like(&e.File, SkillFile)
	c.Text(&e.RealFile)
	c.Text(&e.Group)
	c.Texts(&e.Aliases)
	c.Flag(&e.Stamp.Racy)
	stamp(c, &e.Stamp.File)
	stamp(c, &e.Stamp.Dir)
	packed.Optional(c, &e.Stamp.Sidecars, func(s *[2]FileStamp) {
		stamp(c, &s[0])
		stamp(c, &s[1])
	})
}

func stamp(c *packed.Codec, s *FileStamp) {
	dev, ino := int64(s.Dev), int64(s.Ino)
	c.Words(&dev, &ino, &s.Size, &s.MtimeNS, &s.CtimeNS)
	s.Dev, s.Ino = uint64(dev), uint64(ino)
}
