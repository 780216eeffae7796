package scan

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// archive looks into an archive of the skill. Its members are named file!/member; they
// are never written anywhere.
func (t *tree) archive(name string, src []byte, k kind, nested int) bool {
	f := t.at(name)
	if nested >= t.limits.Nested {
		t.partial(f, "ST107", fmt.Sprintf("archives more than %d deep", t.limits.Nested))
		return false
	}
	u := &unpacking{t: t, f: f, nested: nested, in: int64(len(src)), whole: true}
	var err error
	switch k.name {
	case "zip":
		err = u.zip(src)
	case "tar":
		err = u.tar(bytes.NewReader(src))
	default:
		err = u.gzip(src)
	}
	if err != nil {
		t.partial(f, "ST108", err.Error())
		return false
	}
	return u.whole
}

// unpacking is one archive while it is read.
type unpacking struct {
	t       *tree
	f       *file
	nested  int
	in, out int64
	members int
	whole   bool
}

var errStop = errors.New("a bound of archives was reached")

// member judges the name of an entry and says whether it may be read.
func (u *unpacking) member(name string, link bool, target string) bool {
	if u.members++; u.members > u.t.limits.Members {
		u.whole = false
		u.t.partial(u.f, "ST107", fmt.Sprintf("more than %d members", u.t.limits.Members))
		return false
	}
	if leaves(name) || link && (leaves(target) || leaves(path.Join(path.Dir(name), target))) {
		text := name
		if link {
			text += " -> " + target
		}
		u.t.add(u.f.built("ST110", 0, 0, text))
	}
	return true
}

func leaves(name string) bool {
	slash := strings.ReplaceAll(name, `\`, "/")
	clean := path.Clean(slash)
	return path.IsAbs(slash) || clean == ".." || strings.HasPrefix(clean, "../") || strings.Contains(name, "\x00") ||
		len(slash) > 1 && slash[1] == ':'
}

// body reads a member within the bounds and looks at it.
func (u *unpacking) body(name string, r io.Reader) error {
	left := u.t.limits.Packed - u.out
	if most := max(u.in*u.t.limits.Ratio, 1<<20) - u.out; most < left {
		left = most
	}
	src, err := io.ReadAll(io.LimitReader(r, left+1))
	if err != nil {
		return err
	}
	if u.out += int64(len(src)); int64(len(src)) > left {
		u.t.result.Complete = false
		u.t.add(u.f.built("ST111", 0, 0, fmt.Sprintf("%s: %d bytes hold more than %d", name, u.in, u.out)))
		return errStop
	}
	if !u.t.content(u.f.name+"!/"+strings.TrimPrefix(path.Clean("/"+name), "/"), src, u.nested+1) {
		u.whole = false
	}
	return u.t.ctx.Err()
}

func (u *unpacking) zip(src []byte) error {
	z, err := zip.NewReader(bytes.NewReader(src), int64(len(src)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return err
	}
	for _, e := range z.File {
		if !u.member(e.Name, false, "") {
			return nil
		}
		switch {
		case e.Flags&1 != 0:
			u.whole = false
			u.t.partial(u.f, "ST112", e.Name)
			continue
		case e.FileInfo().IsDir():
			continue
		}
		r, err := e.Open()
		if err == nil {
			err = u.body(e.Name, r)
			_ = r.Close()
		}
		if errors.Is(err, errStop) {
			u.whole = false
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return nil
}

func (u *unpacking) tar(r io.Reader) error {
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return err
		}
		if !u.member(h.Name, h.Typeflag == tar.TypeSymlink || h.Typeflag == tar.TypeLink, h.Linkname) {
			return nil
		}
		switch h.Typeflag {
		case tar.TypeReg:
			if err := u.body(h.Name, tr); errors.Is(err, errStop) {
				u.whole = false
				return nil
			} else if err != nil {
				return err
			}
		case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
			u.t.add(u.f.built("ST102", 0, 0, h.Name))
		}
	}
}

// gzip unpacks one stream: a tar, or a single file.
func (u *unpacking) gzip(src []byte) error {
	z, err := gzip.NewReader(bytes.NewReader(src))
	if err != nil {
		return err
	}
	head := make([]byte, 512)
	n, err := io.ReadFull(z, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	whole := io.LimitReader(io.MultiReader(bytes.NewReader(head[:n]), z), 2*u.t.limits.Packed)
	if kindOf(head[:n]).name == "tar" {
		return u.tar(whole)
	}
	if err := u.body("content", whole); err != nil && !errors.Is(err, errStop) {
		return err
	} else if err != nil {
		u.whole = false
	}
	return nil
}
