package registry

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/deftskills/deft/internal/atomicfile"
	"github.com/deftskills/deft/source"
)

// diskIndex keeps listings over a restart: one file a directory source, so that
// workspaces share what they know of a home. A nil diskIndex keeps nothing.
type diskIndex struct {
	r      *Registry
	dir    string
	loaded []*source.Listing
}

const (
	indexMagic  = "deft index 3\n"
	indexEnding = ".idx"
	// indexLeast is how many skills make keeping an index worth its cost: bringing one to
	// disk takes longer than reading fewer files.
	indexLeast = 128
	indexBytes = 256 << 20 // of one file; 100,000 skills take about 80 MiB
	indexFiles = 64        // in one directory; the oldest go
	indexRests = time.Hour // how long nobody takes to write one: what is older was left by a killed process
)

// castagnoli is the polynomial that processors compute. The sum finds damage; it is no
// defence, and needs none: a body is compared with its digest when it is read.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func openIndex(r *Registry) *diskIndex {
	if r.c.Index == "" {
		return nil
	}
	return &diskIndex{r: r, dir: r.c.Index, loaded: make([]*source.Listing, len(r.sources))}
}

// file returns where the index of a source lies, and the texts that its contents must
// begin with.
func (x *diskIndex) file(i int) (path, head string, ok bool) {
	key, ok := source.IndexKey(x.r.sources[i])
	if !ok {
		return "", "", false
	}
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(x.dir, hex.EncodeToString(sum[:12])+indexEnding), fmt.Sprintf("%s%q\n%s\n", indexMagic, x.r.c.Stamp, key), true
}

// load returns what was known of a source, nil if nothing is or it cannot be used: an
// index of another build or of an older form is passed over in silence, a damaged one
// with a note. Each source is loaded once, by the scan that needs it.
func (x *diskIndex) load(i int) *source.Listing {
	if x == nil {
		return nil
	}
	path, head, ok := x.file(i)
	if !ok {
		return nil
	}
	raw, err := readIndex(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			x.damaged(path)
		}
		return nil
	}
	if !strings.HasPrefix(string(raw[:min(len(raw), len(head))]), head) {
		return nil
	}
	n := len(raw) - 4
	if n < len(head) || crc32.Checksum(raw[:n], castagnoli) != binary.LittleEndian.Uint32(raw[n:]) {
		x.damaged(path)
		return nil
	}
	data := unsafe.String(&raw[0], len(raw)) // nobody writes to raw any more: no second copy of megabytes
	l, ok := source.ReadIndex(x.r.sources[i], data[len(head):n])
	if !ok {
		x.damaged(path)
		return nil
	}
	x.loaded[i] = l
	return l
}

func (x *diskIndex) damaged(path string) {
	x.r.report(finding("index_rebuilt", path, "index is damaged and is made again"))
}

func readIndex(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > indexBytes {
		return nil, errors.New("no index")
	}
	raw := make([]byte, st.Size())
	_, err = io.ReadFull(f, raw)
	return raw, err
}

// save writes the index of each source that has read a file since it was loaded. What
// cannot be written costs time at the next start and nothing else.
func (x *diskIndex) save(listings []*source.Listing) {
	if x == nil {
		return
	}
	written := false
	for i, l := range listings {
		path, head, ok := x.file(i)
		if l == nil || !ok || len(l.Entries) < indexLeast || !x.news(i, l) {
			continue
		}
		if os.MkdirAll(x.dir, 0o700) != nil {
			continue
		}
		err := atomicfile.WriteFrom(path, 0o600, func(w io.Writer) error { return writeIndex(w, head, l) })
		written = err == nil || written
	}
	if written {
		x.prune()
	}
}

// writeIndex writes one index and the sum of all before it.
func writeIndex(w io.Writer, head string, l *source.Listing) error {
	s := &summed{w: w}
	if _, err := io.WriteString(s, head); err != nil {
		return err
	}
	if err := source.WriteIndex(s, l); err != nil {
		return err
	}
	_, err := w.Write(binary.LittleEndian.AppendUint32(nil, s.sum))
	return err
}

// summed sums what passes, up to the size of an index.
type summed struct {
	w   io.Writer
	n   int
	sum uint32
}

func (s *summed) Write(p []byte) (int, error) {
	if s.n += len(p); s.n > indexBytes-4 {
		return 0, errors.New("index is too large")
	}
	s.sum = crc32.Update(s.sum, castagnoli, p)
	return s.w.Write(p)
}

// news says whether a listing knows more than the index on disk.
func (x *diskIndex) news(i int, l *source.Listing) bool {
	was := x.loaded[i]
	return was == nil || !source.IndexEqual(l, was)
}

// prune removes the oldest files beyond the bound, and rests of killed processes.
func (x *diskIndex) prune() {
	atomicfile.Sweep(x.dir, x.r.c.Now().Add(-indexRests))
	entries, err := os.ReadDir(x.dir)
	if err != nil {
		return
	}
	type aged struct {
		path string
		at   int64
	}
	var files []aged
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), indexEnding) {
			files = append(files, aged{filepath.Join(x.dir, e.Name()), info.ModTime().UnixNano()})
		}
	}
	slices.SortFunc(files, func(a, b aged) int { return cmp.Compare(b.at, a.at) })
	for _, f := range files[min(len(files), indexFiles):] {
		os.Remove(f.path) // one that stays is found again the next time
	}
}
