package registry

import (
	"bytes"
	"crypto/sha256"
	"io"
	"strconv"

	"github.com/deftskills/deft/skill"
)

// Dump returns everything that arbitration decided as text: equal sources, switches,
// trust and policy give equal bytes, whatever the order of directories or the time.
func (s *Snapshot) Dump() []byte {
	var b bytes.Buffer
	s.dump(&b)
	return b.Bytes()
}

// digest returns the SHA-256 of Dump without holding it.
func (s *Snapshot) digest() [32]byte {
	h := sha256.New()
	s.dump(h)
	return [32]byte(h.Sum(nil))
}

// dumper writes quoted fields into one reused line.
type dumper struct {
	w    io.Writer
	line []byte
}

// field appends a text in quotes. Most hold nothing to escape, and a registry of 10,000
// skills dumps 90,000 of them at every change.
func (d *dumper) field(s string) {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			d.line = append(strconv.AppendQuote(d.line, s), ' ')
			return
		}
	}
	d.line = append(d.line, '"')
	d.line = append(d.line, s...)
	d.line = append(d.line, '"', ' ')
}

func (d *dumper) end() {
	d.line[len(d.line)-1] = '\n'
	if len(d.line) >= dumpPiece {
		d.flush()
	}
}

// dumpPiece is how much is handed on at once: a hash works in large pieces.
const dumpPiece = 16 << 10

func (d *dumper) flush() {
	d.w.Write(d.line) // a buffer and a hash: neither fails
	d.line = d.line[:0]
}

func (s *Snapshot) dump(w io.Writer) {
	d := &dumper{w: w}
	d.field("complete")
	d.field(strconv.FormatBool(s.Complete))
	d.end()
	for _, r := range s.All {
		for _, f := range [...]string{
			"skill", r.Address, string(r.State), string(r.Source.Kind), r.Source.ID,
			string(r.Source.Trust), r.Location, string(r.Skill.Digest), r.Group,
		} {
			d.field(f)
		}
		d.end()
		d.details(r)
	}
	for _, w := range s.Winners {
		d.field("usable")
		d.field(w.Address)
		d.end()
	}
	d.diagnostics(s.Diagnostics)
	d.flush()
}

func (d *dumper) details(r *Record) {
	for _, a := range r.Aliases {
		d.field("alias")
		d.field(a)
		d.end()
	}
	if r.Winner != nil {
		d.field("winner")
		d.field(r.Winner.Address)
		d.end()
	}
	for _, why := range r.Reasons {
		for _, f := range [...]string{"reason", why.Code, why.Message, why.Fix} {
			d.field(f)
		}
		d.end()
	}
	d.diagnostics(r.Skill.Diagnostics)
}

func (d *dumper) diagnostics(ds []skill.Diagnostic) {
	for i := range ds {
		for _, f := range [...]string{
			"diagnostic", ds[i].Code, ds[i].File, strconv.Itoa(ds[i].Line), strconv.Itoa(ds[i].Column), ds[i].Message,
		} {
			d.field(f)
		}
		d.end()
	}
}
