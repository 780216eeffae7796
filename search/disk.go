package search

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/deftskills/deft/internal/atomicfile"
	"github.com/deftskills/deft/internal/packed"
	"github.com/deftskills/deft/skill"
)

// An index is kept as one file for each part, in a folder for each scope. A part on
// disk is only a store of work done: it says nothing about which skills there are, so
// files of several programs lie side by side, in any order, and a lost one costs time.
// It begins with fileMagic and the digest of the parameters; a checksum ends it.
const (
	fileMagic  = "deft search 2\n"
	anyMagic   = "deft search "
	fileBegin  = "gen-"
	fileEnding = ".seg"
	damagedEnd = ".damaged"
	// fileLeast is how many skills make a file worth writing: bringing one to disk takes
	// longer than reading fewer skills.
	fileLeast = 64
	fileBytes = 1 << 30 // of one file; 80,000 skills take about 120 MB
)

// folder is where a scope is kept.
func (x *Index) folder(s *scope) string {
	sum := sha256.Sum256([]byte(s.name))
	return filepath.Join(x.opt.Dir, hex.EncodeToString(sum[:12]))
}

// head is how the files of this program with these parameters begin.
func (o *Options) head() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %v %v %q\n", o.Stamp, o.K1, o.NoStem, o.Stop)
	fmt.Fprintln(h, o.Embedder != nil, o.FullVectors)
	for f := range fieldCount {
		fmt.Fprintf(h, "%v %v\n", f, o.Fields[f])
	}
	return fileMagic + hex.EncodeToString(h.Sum(nil)[:16]) + "\n"
}

// load reads what the disk holds of a scope, once. Files of other programs are passed
// over, damaged ones set aside with a note. The scope's write lock is held.
func (x *Index) load(s *scope) {
	if s.loaded || x.opt.Dir == "" {
		return
	}
	s.loaded = true
	dir, head := x.folder(s), x.opt.head()
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), fileBegin) || !strings.HasSuffix(e.Name(), fileEnding) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		raw, err := readFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process has tidied up
		}
		p, ok := part{}, false
		if err == nil {
			if strings.HasPrefix(raw, anyMagic) && !strings.HasPrefix(raw, head) {
				continue
			}
			p, ok = decode(head, raw)
		}
		if !ok {
			_ = os.Rename(path, filepath.Join(dir, fileBegin+"set-aside"+damagedEnd)) // the next save removes it otherwise
			g := s.gen.Load().next()
			g.notes = append(g.notes, skill.Diagnostic{
				Code: "index_rebuilt", Level: skill.LevelInfo, File: path, Offset: -1,
				Message: "search index is damaged and is made again",
			})
			s.gen.Store(g)
			continue
		}
		s.stored = append(s.stored, p)
		s.saved[p.segment] = e.Name()
	}
}

// readFile returns a regular file's contents, which nobody may change.
func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() || st.Size() > fileBytes || st.Size() == 0 {
		return "", errors.New("no index")
	}
	raw := make([]byte, st.Size())
	if _, err := io.ReadFull(f, raw); err != nil {
		return "", err
	}
	return unsafe.String(&raw[0], len(raw)), nil // raw is not written to any more
}

// save writes in the background.
func (x *Index) save(s *scope) {
	if x.opt.Dir != "" && !s.forked {
		x.background(func(context.Context) { x.write(s) })
	}
}

// write brings the parts that are worth it to disk and removes the files of others.
// That it fails costs the next start time, nothing else.
func (x *Index) write(s *scope) {
	dir, head := x.folder(s), x.opt.head()
	if x.opt.Dir == "" || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	kept, wrote := map[string]bool{}, false
	for _, p := range s.gen.Load().parts {
		s.write.Lock()
		name := s.saved[p.segment]
		s.write.Unlock()
		if name == "" && p.living() < fileLeast {
			continue
		}
		if name == "" {
			raw := encode(head, p)
			sum := sha256.Sum256(raw)
			name = fileBegin + hex.EncodeToString(sum[:12]) + fileEnding
			if atomicfile.Write(filepath.Join(dir, name), raw, 0o600) != nil {
				return
			}
			s.write.Lock()
			s.saved[p.segment] = name
			s.write.Unlock()
			wrote = true
		}
		kept[name] = true
	}
	if !wrote {
		return
	}
	s.write.Lock()
	maps.DeleteFunc(s.saved, func(_ *segment, name string) bool { return !kept[name] })
	s.write.Unlock()
	tidy(dir, kept)
}

// tidy removes index files that are not kept.
func tidy(dir string, kept map[string]bool) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), fileBegin) && !kept[e.Name()] && !strings.HasSuffix(e.Name(), damagedEnd) {
			_ = os.Remove(filepath.Join(dir, e.Name())) // the next save tries again
		}
	}
}

func encode(head string, p part) []byte {
	c := packed.Writer(append(make([]byte, 0, len(head)+len(p.data)+len(p.blob)+len(p.docs)*300+16*p.terms()+1024), head...))
	p.walk(&c)
	return sealed(c.Bytes())
}

// sealed ends a file with its checksum.
func sealed(raw []byte) []byte {
	return binary.LittleEndian.AppendUint32(raw, crc32.Checksum(raw, castagnoli))
}

// unsealed returns what stands between a file's head and its checksum, if both are
// right.
func unsealed(head, raw string) (body string, ok bool) {
	n := len(raw) - 4
	if n < len(head) || raw[:len(head)] != head {
		return "", false
	}
	sum := binary.LittleEndian.Uint32([]byte(raw[n:]))
	return raw[len(head):n], crc32.Checksum(unsafe.Slice(unsafe.StringData(raw), n), castagnoli) == sum
}

// decode reads a file whose head is right. It refuses whatever no encode has written.
func decode(head, raw string) (part, bool) {
	body, ok := unsealed(head, raw)
	if !ok {
		return part{}, false
	}
	return decodeBody(body)
}

func decodeBody(raw string) (part, bool) {
	p := part{segment: &segment{}}
	c := packed.Reader(raw)
	p.walk(&c)
	if c.Bad || c.Rest() != "" || !p.sound() {
		return part{}, false
	}
	for i := range p.lens {
		p.own.add(&p.lens[i], 1)
	}
	p.address = make(map[string]uint32, len(p.docs))
	for i, d := range p.docs {
		if d != nil {
			p.address[d.Address] = uint32(i)
		}
	}
	return p.replace(p.docs), true
}

// sound reports whether the lists of a part that was read fit each other, so that
// nothing later looks outside them.
func (p *part) sound() bool {
	n := p.terms()
	if len(p.termAt) != n+1 || len(p.listAt) != n+1 || len(p.most) != n || len(p.lens) != len(p.docs) {
		return false
	}
	for i := range n {
		if p.termAt[i] > p.termAt[i+1] || p.listAt[i] > p.listAt[i+1] {
			return false
		}
	}
	for _, k := range p.names {
		if int(k.doc) >= len(p.docs) {
			return false
		}
	}
	return int(p.termAt[n]) == len(p.blob) && int(p.listAt[n]) == len(p.data)
}

// walk writes or reads everything of a part.
func (p *part) walk(c *packed.Codec) {
	packed.List(c, &p.docs, func(d **document) { walkDocument(c, d) })
	c.Text(&p.blob)
	c.Text(&p.data)
	words(c, &p.termAt)
	words(c, &p.listAt)
	words(c, &p.df)
	bits := make([]uint32, len(p.most))
	for i, v := range p.most {
		bits[i] = math.Float32bits(v)
	}
	words(c, &bits)
	flat := make([]uint32, 0, len(p.lens)*int(fieldCount)+2*len(p.names))
	for i := range p.lens {
		flat = append(flat, p.lens[i][:]...)
	}
	for _, k := range p.names {
		flat = append(flat, k.hash, k.doc)
	}
	words(c, &flat)
	if !c.Reading() {
		return
	}
	p.most = make([]float32, len(bits))
	for i, v := range bits {
		p.most[i] = math.Float32frombits(v)
	}
	if c.Bad || len(flat) < len(p.docs)*int(fieldCount) {
		c.Bad = true
		return
	}
	p.lens = make([][fieldCount]uint32, len(p.docs))
	for i := range p.lens {
		flat = flat[copy(p.lens[i][:], flat):]
	}
	p.names = make([]nameKey, len(flat)/2)
	for i := range p.names {
		p.names[i] = nameKey{flat[2*i], flat[2*i+1]}
	}
}

// walkDocument writes or reads what the disk keeps of a document: enough to tell
// whether it is still the same, and what indexing it found out.
func walkDocument(c *packed.Codec, at **document) {
	there := *at != nil
	if c.Flag(&there); !there {
		return
	}
	d := *at
	if c.Reading() {
		d = new(document)
		*at = d
	}
	c.Text(&d.Address)
	digest, meta := string(d.Digest), int64(d.meta)
	if d.torn {
		digest = ""
	}
	c.Text(&digest)
	c.Number(&meta)
	if c.Reading() {
		d.Digest, d.meta = skill.Digest(digest), uint64(meta)
	}
	packed.List(c, &d.refs, func(r *indexed) {
		c.Text(&r.Path)
		c.Number(&r.Size)
		c.Number(&r.Time)
		walkDigest(c, &r.sum)
	})
	packed.List(c, &d.vectors, func(sum *digest16) { walkDigest(c, sum) })
	packed.List(c, &d.notes, func(n *skill.Diagnostic) {
		level := string(n.Level)
		for _, s := range []*string{&n.Code, &level, &n.File, &n.Message} {
			c.Text(s)
		}
		if c.Reading() {
			n.Level, n.Offset = skill.Level(level), -1
		}
	})
}

// walkDigest writes or reads a digest. What is written is others' too: nothing may be
// stored in it then, not even the same.
func walkDigest(c *packed.Codec, d *digest16) {
	text := string(d[:])
	if c.Text(&text); c.Reading() {
		copy(d[:], text)
	}
}

// words writes or reads numbers of 32 bits, four bytes each.
func words(c *packed.Codec, l *[]uint32) {
	var text string
	if !c.Reading() {
		raw := make([]byte, 0, 4*len(*l))
		for _, v := range *l {
			raw = binary.LittleEndian.AppendUint32(raw, v)
		}
		text = string(raw)
	}
	if c.Text(&text); !c.Reading() {
		return
	}
	*l = make([]uint32, len(text)/4)
	for i := range *l {
		s := text[4*i : 4*i+4]
		(*l)[i] = uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
	}
}
