package archive_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/deftskills/deft/install/archive"
)

// entry is one member of an archive that a test makes.
type entry struct {
	name, data, link string
	mode             fs.FileMode
	kind             byte // of tar; 0 = file, folder or link by the rest
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: int64(e.mode.Perm() | 0o600), Size: int64(len(e.data)), Typeflag: tar.TypeReg, Linkname: e.link}
		switch {
		case e.kind != 0:
			h.Typeflag = e.kind
		case e.link != "":
			h.Typeflag = tar.TypeSymlink
		case strings.HasSuffix(e.name, "/"):
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(e.mode.Perm() | 0o600)
		data := e.data
		if e.link != "" {
			h.SetMode(fs.ModeSymlink | 0o777)
			data = e.link
		}
		if e.mode.Type() != 0 {
			h.SetMode(e.mode)
		}
		if e.kind == 'e' {
			h.Flags |= 1
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func list(c archive.Contents) string {
	var s []string
	for _, f := range c.Files {
		mark := ""
		if f.Exec {
			mark = "*"
		}
		s = append(s, fmt.Sprintf("%s%s=%s", f.Path, mark, f.Data))
	}
	return strings.Join(s, " ")
}

func TestAnArchiveComesOutAsItsFiles(t *testing.T) {
	t.Parallel()
	entries := []entry{
		{name: "pack/"}, {name: "pack/SKILL.md", data: "s"}, {name: "pack/scripts/run.sh", data: "r", mode: 0o755}, {name: "pack/leer", data: ""},
	}
	const want = "pack/SKILL.md=s pack/leer= pack/scripts/run.sh*=r"
	for name, data := range map[string][]byte{
		"tar": tarOf(t, entries...), "tar.gz": gzipped(t, tarOf(t, entries...)), "zip": zipOf(t, entries...),
	} {
		c, err := archive.Read(data, archive.Limits{})
		if err != nil || list(c) != want {
			t.Errorf("%s: %q %v", name, list(c), err)
		}
	}
}

func TestOneFolderAroundEverythingIsTakenOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ entries, want string }{
		{"repo/README.md repo/skills/a/SKILL.md", "README.md skills/a/SKILL.md"},
		{"a/SKILL.md a/x", "a/SKILL.md a/x"}, // it is the skill
		{"README.md a/SKILL.md", "README.md a/SKILL.md"},
		{"a/x b/y", "a/x b/y"},
	} {
		var entries []entry
		for name := range strings.FieldsSeq(c.entries) {
			entries = append(entries, entry{name: name, data: "."})
		}
		got, err := archive.Read(tarOf(t, entries...), archive.Limits{})
		var names []string
		for _, f := range got.Files {
			names = append(names, f.Path)
		}
		if err != nil || strings.Join(names, " ") != c.want {
			t.Errorf("%s: %q %v", c.entries, names, err)
		}
	}
}

func TestABadEntryRefusesTheWholeArchiveByName(t *testing.T) {
	t.Parallel()
	good := entry{name: "z/SKILL.md", data: "s"}
	for _, c := range []struct {
		why  string
		more []entry
		tar  bool // zip has no such thing
	}{
		{why: "leaves the root", more: []entry{{name: "../evil.txt"}}},
		{why: "leaves the root", more: []entry{{name: "z/a/../../../evil.txt"}}},
		{why: "absolute", more: []entry{{name: "/evil.txt"}}},
		{why: "absolute", more: []entry{{name: "C:/evil.txt"}}},
		{why: "a backslash", more: []entry{{name: `z\..\..\evil.txt`}}},
		{why: "a backslash", more: []entry{{name: `\\host\share`}}},
		{why: "a control character", more: []entry{{name: "z/a\x1bb"}}},
		{why: "a part that means nothing", more: []entry{{name: "z//a"}}},
		{why: "a part that means nothing", more: []entry{{name: "z/./a"}}},
		{why: "the name of a device", more: []entry{{name: "z/con"}}},
		{why: "the name of a device", more: []entry{{name: "z/NUL.txt"}}},
		{why: "a dot or a blank at the end", more: []entry{{name: "z/a."}}},
		{why: "a dot or a blank at the end", more: []entry{{name: "z/a "}}},
		{why: "a colon", more: []entry{{name: "z/a:b"}}},
		{why: "a part longer", more: []entry{{name: "z/" + strings.Repeat("a", 256)}}},
		{why: "longer than 1024 bytes", more: []entry{{name: strings.Repeat(strings.Repeat("a", 200)+"/", 6) + "x"}}},
		{why: "deeper than 16", more: []entry{{name: strings.Repeat("a/", 16) + "x"}}},
		{why: "no UTF-8", more: []entry{{name: "z/\xff"}}},
		{why: "there twice", more: []entry{{name: "z/a"}, {name: "z/a"}}},
		{why: "the same as", more: []entry{{name: "z/a"}, {name: "z/A"}}},
		{why: "the same as", more: []entry{{name: "z/ü"}, {name: "z/u\u0308"}}},
		{why: "the same as", more: []entry{{name: "z/d/x"}, {name: "z/D/y"}}},
		{why: "both a file and a folder", more: []entry{{name: "z/a"}, {name: "z/a/b"}}},
		{why: "both a file and a folder", more: []entry{{name: "z/a/b"}, {name: "z/a"}}},
		{why: "a link that leaves", more: []entry{{name: "z/out", link: "../../x"}}},
		{why: "a link that leaves", more: []entry{{name: "z/out", link: "/etc/passwd"}}},
		{why: "a link that leaves", more: []entry{{name: "z/out", link: `..\x`}}},
		{why: "both a file and a folder", more: []entry{{name: "z/out", link: "d"}, {name: "z/out/evil.txt"}}},
		{why: "a link that goes through another", more: []entry{{name: "z/a", link: "b"}, {name: "z/b", link: "SKILL.md"}}},
		{why: "neither file nor folder", more: []entry{{name: "z/hard", kind: tar.TypeLink, link: "z/SKILL.md"}}, tar: true},
		{why: "neither file nor folder", more: []entry{{name: "z/fifo", kind: tar.TypeFifo}}, tar: true},
		{why: "neither file nor folder", more: []entry{{name: "z/dev", kind: tar.TypeBlock}}, tar: true},
	} {
		kinds := map[string][]byte{"tar": tarOf(t, append([]entry{good}, c.more...)...)}
		if !c.tar {
			kinds["zip"] = zipOf(t, append([]entry{good}, c.more...)...)
		}
		for kind, data := range kinds {
			got, err := archive.Read(data, archive.Limits{})
			if !errors.Is(err, archive.ErrBadEntry) || !strings.Contains(err.Error(), c.why) || len(got.Files) > 0 {
				t.Errorf("%s, %s: %v", kind, c.why, err)
			}
		}
	}
	if _, err := archive.Read(zipOf(t, good, entry{name: "z/secret", data: "x", kind: 'e'}), archive.Limits{}); !errors.Is(err, archive.ErrBadEntry) || !strings.Contains(err.Error(), "encrypted") {
		t.Errorf("encrypted: %v", err)
	}
	if _, err := archive.Read(zipOf(t, good, entry{name: "z/dev", mode: fs.ModeDevice | 0o600}), archive.Limits{}); !errors.Is(err, archive.ErrBadEntry) {
		t.Errorf("a device in a zip: %v", err)
	}
}

func TestALinkInsideIsWhatItLeadsTo(t *testing.T) {
	t.Parallel()
	for kind, data := range map[string][]byte{
		"tar": tarOf(t, entry{name: "z/SKILL.md", data: "s"}, entry{name: "z/d/link", link: "../SKILL.md"}, entry{name: "z/folder", link: "d"}),
		"zip": zipOf(t, entry{name: "z/SKILL.md", data: "s"}, entry{name: "z/d/link", link: "../SKILL.md"}, entry{name: "z/folder", link: "d"}),
	} {
		c, err := archive.Read(data, archive.Limits{})
		if err != nil || list(c) != "z/SKILL.md=s z/d/link=s" || len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "z/folder") {
			t.Errorf("%s: %q %q %v", kind, list(c), c.Notes, err)
		}
	}
}

func TestAnArchiveThatHoldsTooMuchIsRefused(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("\x00", 3<<20)
	for what, c := range map[string]struct {
		data []byte
		l    archive.Limits
	}{
		"packed":            {tarOf(t, entry{name: "a", data: "x"}), archive.Limits{In: 100}},
		"unpacked":          {tarOf(t, entry{name: "a", data: zeros}), archive.Limits{Out: 1 << 20}},
		"a bomb, tar.gz":    {gzipped(t, tarOf(t, entry{name: "a", data: zeros})), archive.Limits{}},
		"a bomb, zip":       {zipOf(t, entry{name: "a", data: zeros}), archive.Limits{}},
		"entries":           {tarOf(t, entry{name: "a"}, entry{name: "b"}, entry{name: "c"}), archive.Limits{Entries: 2}},
		"entries of a zip":  {zipOf(t, entry{name: "a"}, entry{name: "b"}, entry{name: "c"}), archive.Limits{Entries: 2}},
		"many small ones":   {gzipped(t, tarOf(t, entry{name: "a", data: zeros[:1<<20]}, entry{name: "b", data: zeros[:1<<20]})), archive.Limits{}},
		"what links repeat": {tarOf(t, entry{name: "a", data: zeros[:900<<10]}, entry{name: "b", link: "a"}), archive.Limits{Out: 1 << 20}},
	} {
		if _, err := archive.Read(c.data, c.l); !errors.Is(err, archive.ErrLimit) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A zip says everything twice. Where it contradicts itself, two programs would see two
// archives.
func TestAZipThatContradictsItselfIsRefused(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.CreateRaw(&zip.FileHeader{Name: "z/SKILL.md", Method: zip.Store, CompressedSize64: 1, UncompressedSize64: 1, CRC32: 0x71beeff9})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("s")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	change := func(at int, to ...byte) []byte {
		return append(append(bytes.Clone(whole[:at]), to...), whole[at+len(to):]...)
	}
	central := bytes.Index(whole, []byte("PK\x01\x02"))
	for what, data := range map[string][]byte{
		"another name before the data": change(30, 'y'),
		"another size before the data": change(22, 9),
		"another method":               change(8, 8),
		"a header that is not there":   change(central+42, 7),
	} {
		if _, err := archive.Read(data, archive.Limits{}); err == nil {
			t.Errorf("%s: read", what)
		}
	}
	size := change(central+24, 9)
	binary.LittleEndian.PutUint32(size[22:], 9)
	if _, err := archive.Read(size, archive.Limits{}); err == nil {
		t.Error("a size that lies in both places: read")
	}
}

// Whatever the bytes: no panic, no path outside, no more than the bound.
func FuzzArchive(f *testing.F) {
	f.Add(tarOf(f, entry{name: "z/SKILL.md", data: "s"}, entry{name: "z/l", link: "SKILL.md"}))
	f.Add(zipOf(f, entry{name: "z/SKILL.md", data: "s"}, entry{name: "z/l", link: "../x"}))
	f.Add(gzipped(f, tarOf(f, entry{name: "../z", data: "s"})))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := archive.Read(data, archive.Limits{Out: 1 << 20})
		if err != nil {
			return
		}
		total := 0
		for _, f := range c.Files {
			total += len(f.Data)
			if !fs.ValidPath(f.Path) || path.IsAbs(f.Path) || strings.Contains(f.Path, `\`) {
				t.Errorf("path %q", f.Path)
			}
		}
		if total > 1<<20 {
			t.Errorf("%d bytes", total)
		}
	})
}
