package install

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/deftskills/deft/install/scan"
	"github.com/deftskills/deft/skill"
)

// ErrPack is a skill that can't be packed as it is.
var ErrPack = errors.New("pack_refused")

// packedAt is the time of every packed file: the first that a zip can say.
var packedAt = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// Packed is a skill as one file.
type Packed struct {
	Name   string
	Digest skill.Digest // of its tree, as it will be installed
	Files  int
	Data   []byte
	Scan   scan.Result
}

// Pack makes one archive of the skill in a folder: one top folder of its name, sorted,
// without times, owners and links, so that two runs give the same bytes. format is skill
// (a zip) or tar.gz. What does not pass strict validation, or blocks, is ErrPack.
func (i *Installer) Pack(ctx context.Context, dir, format string) (Packed, error) {
	p, out, err := i.packable(ctx, dir)
	if err != nil {
		return out, err
	}
	write := writeZip
	if format == "tar.gz" {
		write = writeTar
	}
	out.Data, err = write(out.Name, p)
	return out, err
}

// packable is the skill in a folder, checked and looked at, without its data. The error is
// ErrPack.
func (i *Installer) packable(ctx context.Context, dir string) (Package, Packed, error) {
	files, notes, err := readFolder(ctx, dir)
	if err != nil {
		return Package{}, Packed{}, err
	}
	if len(notes) > 0 {
		return Package{}, Packed{}, fmt.Errorf("%w: %s: %s", ErrPack, notes[0].Path, notes[0].Message)
	}
	f := &Fetched{Origin: Origin{Type: Local, URL: dir}, Files: files}
	packs, err := Find(ctx, f, FindOptions{Nested: true})
	if err != nil {
		return Package{}, Packed{}, err
	}
	if len(packs) == 0 || packs[0].Dir != "" {
		return Package{}, Packed{}, fmt.Errorf("%w: %s holds no SKILL.md", ErrPack, dir)
	}
	p := packs[0]
	if p.Problem != "" {
		return Package{}, Packed{}, fmt.Errorf("%w: %s", ErrPack, p.Problem)
	}
	out := Packed{Name: targetName(p.Skill), Digest: p.Digest, Files: len(p.Files)}
	it := Item{Package: p}
	if err := i.look(ctx, &it); err != nil {
		return Package{}, Packed{}, err
	}
	out.Scan = it.Scan
	if why := it.judged(ScanPolicy{}, nil); why != nil { // whoever gets it may have another policy
		return p, out, fmt.Errorf("%w: %s: %s", ErrPack, why.Code, why.Message)
	}
	return p, out, nil
}

func mode(exec bool) fs.FileMode {
	if exec {
		return 0o755
	}
	return 0o644
}

func writeZip(name string, p Package) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	err := p.each(func(at string, exec bool, data []byte) error {
		h := &zip.FileHeader{Name: path.Join(name, at), Method: zip.Deflate}
		h.SetMode(mode(exec))
		//lint:ignore SA1019 Modified would write a second time, in a field of its own
		h.ModifiedDate, h.ModifiedTime = 1<<5|1, 0
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	})
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

func writeTar(name string, p Package) ([]byte, error) {
	var b bytes.Buffer
	g, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	t := tar.NewWriter(g)
	err = p.each(func(at string, exec bool, data []byte) error {
		h := &tar.Header{Name: path.Join(name, at), Mode: int64(mode(exec)), Size: int64(len(data)), ModTime: packedAt, Format: tar.FormatPAX}
		if isASCII(h.Name) && len(h.Name) < 100 {
			h.Format = tar.FormatUSTAR
		}
		err := t.WriteHeader(h)
		if err == nil {
			_, err = t.Write(data)
		}
		return err
	})
	err = errors.Join(err, t.Close(), g.Close())
	return b.Bytes(), err
}

// each calls f with every file in the order of the tree.
func (p Package) each(f func(at string, exec bool, data []byte) error) error {
	data := map[string][]byte{}
	for _, file := range p.Files {
		data[file.Path] = file.Data
	}
	for _, e := range p.Tree {
		if strings.HasPrefix(e.Path, "/") {
			return fmt.Errorf("%w: %s", ErrPack, e.Path)
		}
		if err := f(e.Path, e.Exec, data[e.Path]); err != nil {
			return fmt.Errorf("pack %s: %w", e.Path, err)
		}
	}
	return nil
}
