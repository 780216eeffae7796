package applog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func options() Options { return Options{Kind: "session", ID: "one"} }

func record(i int) []byte {
	return fmt.Appendf(nil, `{"n":%d,"text":%q}`, i, strings.Repeat("word ", i%7))
}

func records(n int) (out [][]byte) {
	for i := range n {
		out = append(out, record(i))
	}
	return out
}

// written makes a log of n records and returns its path.
func written(t *testing.T, n int, o Options) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sessions", "one.jsonl")
	l, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := l.Append(record(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(l.Sync(), l.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func all(path string, o Options) (out [][]byte, err error) {
	for r, failed := range Read(path, o) {
		if failed != nil {
			return out, failed
		}
		out = append(out, r)
	}
	return out, nil
}

func same(t *testing.T, got [][]byte, want [][]byte) {
	t.Helper()
	if !slices.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("%d records, want %d", len(got), len(want))
	}
}

func TestRecordsComeBackInOrderAndAfterReopening(t *testing.T) {
	t.Parallel()
	path := written(t, 5, options())
	l, err := Open(t.Context(), path, options())
	if err != nil {
		t.Fatal(err)
	}
	if l.Torn() != nil {
		t.Errorf("torn: %+v", l.Torn())
	}
	if err := l.Append(record(5), record(6)); err != nil {
		t.Fatal(err)
	}
	got, err := all(path, options()) // while it is written
	if err != nil {
		t.Error(err)
	}
	same(t, got, records(7))
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 || st.Size() != l.Size() {
		t.Errorf("%v, %v", st, err)
	}
	for _, bad := range []string{"", "{}\n{}"} {
		l, err := Open(t.Context(), path, options())
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Append([]byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
		_ = l.Close()
		if err := l.Append(record(1)); err == nil {
			t.Error("a closed log takes records")
		}
	}
	for range Read(path, options()) {
		break
	}
}

func TestSecondWriterIsBusy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "one.jsonl")
	l, err := Open(t.Context(), path, options())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, options()); !errors.Is(err, ErrBusy) {
		t.Errorf("second writer: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, err = Open(t.Context(), path, options())
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}

func TestTornTailIsCutAndKeptAside(t *testing.T) {
	t.Parallel()
	whole := written(t, 3, options())
	src, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	start := bytes.LastIndexByte(src[:len(src)-1], '\n') + 1
	for n := start; n < len(src); n++ {
		path := filepath.Join(t.TempDir(), "one.jsonl")
		if err := os.WriteFile(path, src[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := all(path, options())
		if err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
		same(t, got, records(2))
		o := options()
		o.Damaged = filepath.Join(filepath.Dir(path), "damaged")
		l, err := Open(t.Context(), path, o)
		if err != nil {
			t.Fatal(err)
		}
		if torn := l.Torn(); (torn == nil) != (n == start) {
			t.Errorf("%d bytes: torn %+v", n, torn)
		} else if torn != nil {
			if saved, err := os.ReadFile(torn.Saved); err != nil || !bytes.Equal(saved, src[start:n]) || torn.Bytes != int64(n-start) {
				t.Errorf("%d bytes: saved %q, %v", n, saved, err)
			}
		}
		if err := errors.Join(l.Append(record(2)), l.Close()); err != nil {
			t.Fatal(err)
		}
		got, err = all(path, options())
		if err != nil {
			t.Error(err)
		}
		same(t, got, records(3))
	}
}

// A flipped bit is found wherever it is: what stands before it is served, nothing behind
// it, and the log is not written any more unless it was the tail.
func TestR04BitFlip(t *testing.T) {
	t.Parallel()
	whole := written(t, 6, options())
	src, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "one.jsonl")
	for at := range src {
		for bit := range 8 {
			flipped := bytes.Clone(src)
			flipped[at] ^= 1 << bit
			before := bytes.Count(src[:at], []byte("\n")) - 1 // records before the one that is hit
			if err := os.WriteFile(path, flipped, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := all(path, options())
			same(t, got, records(max(before, 0)))
			var damage *DamageError
			last := before >= 4 // the last record, or the newline before it
			if !last && !errors.As(err, &damage) {
				t.Errorf("byte %d bit %d: %v", at, bit, err)
			}
			if damage != nil {
				if damage.Path != path || damage.Offset > int64(at) {
					t.Errorf("byte %d: %v", at, damage)
				}
				if _, err := Open(t.Context(), path, options()); !errors.Is(err, ErrDamaged) {
					t.Errorf("byte %d bit %d: opened for writing: %v", at, bit, err)
				}
			}
		}
	}
}

func TestPartsAreReadInOrderAndBounded(t *testing.T) {
	t.Parallel()
	o := options()
	o.Part, o.Max = 400, 2000
	path := written(t, 20, o)
	parts, err := filepath.Glob(filepath.Join(filepath.Dir(path), "one.*.jsonl"))
	if err != nil || len(parts) < 3 {
		t.Fatalf("%v, %v", parts, err)
	}
	got, err := all(path, o)
	if err != nil {
		t.Error(err)
	}
	same(t, got, records(20))
	l, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for err == nil {
		err = l.Append(record(3))
	}
	if !errors.Is(err, ErrFull) || l.Size() > o.Max {
		t.Errorf("%d bytes: %v", l.Size(), err)
	}
	// A crash between two parts leaves no current one.
	if err := os.Rename(path, part(path, len(parts)+9)); err != nil {
		t.Fatal(err)
	}
	if got, err := all(path, o); err != nil || len(got) == 0 {
		t.Errorf("%d records, %v", len(got), err)
	}
	// A closed part is whole or damaged.
	if err := os.Truncate(parts[0], 390); err != nil {
		t.Fatal(err)
	}
	if _, err := all(path, o); !errors.Is(err, ErrDamaged) {
		t.Errorf("a cut part: %v", err)
	}
}

func TestForeignNewerAndMissingLogsAreNotRead(t *testing.T) {
	t.Parallel()
	path := written(t, 2, options())
	for name, tt := range map[string]struct {
		o    Options
		want error
	}{"kind": {Options{Kind: "events", ID: "one"}, ErrForeign}, "id": {Options{Kind: "session", ID: "two"}, ErrForeign}} {
		if _, err := all(path, tt.o); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Open(t.Context(), path, tt.o); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := all(path, Options{Kind: "session"}); err != nil || len(got) != 2 {
		t.Errorf("read without an id: %v", err)
	}
	if _, err := all(filepath.Join(t.TempDir(), "none.jsonl"), options()); !errors.Is(err, ErrMissing) {
		t.Errorf("missing: %v", err)
	}
	if err := os.WriteFile(path, line([]byte(`{"format":2,"kind":"session","id":"one"}`)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, options()); !errors.Is(err, ErrNewer) {
		t.Errorf("newer: %v", err)
	}
	if err := os.WriteFile(path, line([]byte(`no JSON`)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, options()); !errors.Is(err, ErrDamaged) {
		t.Errorf("a head that is none: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, options()); err == nil {
		t.Error("a folder was opened")
	}
}

// failing is the real disk whose n-th call fails.
type failing struct {
	system
	left int
	err  error
}

func (f *failing) fail() error {
	if f.left--; f.left == 0 {
		return f.err
	}
	return nil
}

func (f *failing) read(path string) ([]byte, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	return f.system.read(path)
}

func (f *failing) rename(from, to string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.system.rename(from, to)
}

func (f *failing) save(path string, data []byte) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.system.save(path, data)
}

func (f *failing) open(path string) (file, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	inner, err := f.system.open(path)
	return &failingFile{inner, f}, err
}

type failingFile struct {
	file
	d *failing
}

func (f *failingFile) Write(p []byte) (int, error) {
	if err := f.d.fail(); err != nil {
		n, _ := f.file.Write(p[:len(p)/2])
		return n, err
	}
	return f.file.Write(p)
}

func (f *failingFile) Truncate(n int64) error { return errors.Join(f.d.fail(), f.file.Truncate(n)) }
func (f *failingFile) Sync() error            { return errors.Join(f.d.fail(), f.file.Sync()) }

// Whichever call to the disk fails, what Append said was written is there, and a record is
// there whole or not at all.
func TestR02NthCallFails(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{syscall.ENOSPC, syscall.EIO, syscall.EACCES, syscall.EMFILE} {
		for n := 1; n < 60; n++ {
			o := options()
			o.Part = 300
			d := &failing{left: n, err: cause}
			o.disk = d
			path := filepath.Join(t.TempDir(), "one.jsonl")
			var said [][]byte
			l, err := Open(t.Context(), path, o)
			if err == nil {
				for i := range 12 {
					if err := l.Append(record(i)); err == nil {
						said = append(said, record(i))
					} else if !errors.Is(err, cause) || !strings.Contains(err.Error(), "one") {
						t.Errorf("call %d: %v", n, err)
					}
				}
				_ = l.Sync()
				_ = l.Close()
			} else if !errors.Is(err, cause) {
				t.Errorf("call %d: open: %v", n, err)
			}
			d.left = 0
			l, err = Open(t.Context(), path, o)
			if err != nil {
				t.Fatalf("call %d: open again: %v", n, err)
			}
			_ = l.Close()
			got, err := all(path, o)
			if err != nil {
				t.Errorf("call %d: %v", n, err)
			}
			for _, r := range said {
				if !slices.ContainsFunc(got, func(g []byte) bool { return bytes.Equal(g, r) }) {
					t.Errorf("call %d, %v: %s is lost", n, cause, r)
				}
			}
		}
	}
}

// FuzzAppLog damages a log: everything before the first bad record comes back, and after
// opening it for writing too, or it says that it is damaged.
func FuzzAppLog(f *testing.F) {
	f.Add(uint8(3), 40, byte(1), 0)
	f.Add(uint8(9), 300, byte(0x20), 17)
	f.Add(uint8(2), 0, byte(0), 5)
	f.Fuzz(func(t *testing.T, n uint8, at int, flip byte, short int) {
		var src []byte
		src = append(src, line([]byte(`{"format":1,"kind":"session","id":"one"}`))...)
		ends := []int{len(src)}
		for i := range int(n % 24) {
			src = append(src, line(record(i))...)
			ends = append(ends, len(src))
		}
		hit := len(src)
		if short > 0 && short < len(src) {
			hit = len(src) - short
			src = src[:hit]
		}
		if flip != 0 && at >= 0 && at < len(src) {
			src[at] ^= flip
			hit = min(hit, at)
		}
		good := 0
		for i, end := range ends {
			if end <= hit {
				good = i
			}
		}
		path := filepath.Join(t.TempDir(), "one.jsonl")
		if err := os.WriteFile(path, src, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := all(path, options())
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
		same(t, got, records(good))
		l, opened := Open(t.Context(), path, options())
		if errors.Is(err, ErrDamaged) {
			if !errors.Is(opened, ErrDamaged) {
				t.Fatalf("read says %v, open %v", err, opened)
			}
			return
		}
		if opened != nil {
			t.Fatal(opened)
		}
		if err := errors.Join(l.Append(record(99)), l.Close()); err != nil {
			t.Fatal(err)
		}
		got, err = all(path, options())
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, append(records(good), record(99)))
	})
}
