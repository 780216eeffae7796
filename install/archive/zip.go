package archive

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
)

// zip reads what the central directory lists, once both places where a zip describes an
// entry agree: programs differ in which one they believe.
func (r *reading) zip(data []byte) error {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return err
	}
	if len(z.File) > r.l.Entries {
		return tooMany(r.l)
	}
	if err := agree(data, len(z.File)); err != nil {
		return err
	}
	for _, f := range z.File {
		mode := f.Mode()
		if err := r.entry(f.Name, mode.IsDir()); err != nil {
			return err
		}
		if f.Flags&1 != 0 {
			return bad(f.Name, "encrypted")
		}
		if mode.IsDir() {
			continue
		}
		if !mode.IsRegular() && mode.Type() != fs.ModeSymlink {
			return bad(f.Name, "neither file nor folder")
		}
		in, err := f.Open()
		if err != nil {
			return err
		}
		name := clean(f.Name)
		err = r.keep(name, in, int64(f.UncompressedSize64), mode&0o111 != 0)
		if err = errors.Join(err, in.Close()); err != nil {
			return err
		}
		if mode.Type() == fs.ModeSymlink {
			if err := r.link(name, string(r.files[name].Data)); err != nil {
				return err
			}
			r.out -= int64(len(r.files[name].Data))
			delete(r.files, name)
		}
	}
	return nil
}

// Sizes of the records and the flag for sizes that stand behind the data.
const (
	endSize     = 22
	centralSize = 46
	localSize   = 30
	sizesBehind = 1 << 3
)

// agree compares each entry of the central directory with the header before its data.
func agree(data []byte, n int) error {
	end := bytes.LastIndex(data, []byte("PK\x05\x06"))
	if end < 0 || len(data)-end < endSize {
		return errors.New("no end of the directory")
	}
	le := binary.LittleEndian
	size, at := int(le.Uint32(data[end+12:])), int(le.Uint32(data[end+16:]))
	if at+size > end || at < 0 || size < 0 {
		return errors.New("a directory of more than 4 GiB")
	}
	// What stands before the first entry, as in a program that unpacks itself, moves all.
	shift := end - size - at
	for at += shift; n > 0; n-- {
		if at+centralSize > len(data) || string(data[at:at+4]) != "PK\x01\x02" {
			return errors.New("a directory that is cut")
		}
		central := data[at:]
		nameLen, extra, comment := int(le.Uint16(central[28:])), int(le.Uint16(central[30:])), int(le.Uint16(central[32:]))
		if len(central) < centralSize+nameLen+extra+comment {
			return errors.New("a directory that is cut")
		}
		name := central[centralSize : centralSize+nameLen]
		local := int(le.Uint32(central[42:])) + shift
		if local < 0 || local+localSize > len(data) || string(data[local:local+4]) != "PK\x03\x04" {
			return bad(string(name), "no header before its data")
		}
		if why := differs(central, data[local:], name); why != "" {
			return bad(string(name), why)
		}
		at += centralSize + nameLen + extra + comment
	}
	return nil
}

func differs(central, local, name []byte) string {
	le := binary.LittleEndian
	n := int(le.Uint16(local[26:]))
	if len(local) < localSize+n || !bytes.Equal(local[localSize:localSize+n], name) {
		return "another name before its data"
	}
	if le.Uint16(local[8:]) != le.Uint16(central[10:]) {
		return "another way of packing before its data"
	}
	if le.Uint16(local[6:])&1 != le.Uint16(central[8:])&1 {
		return "encrypted in one place alone"
	}
	if le.Uint16(local[6:])&sizesBehind != 0 {
		return "" // the sizes behind the data are compared when it is read
	}
	if !bytes.Equal(local[14:26], central[16:28]) {
		return "other sizes before its data"
	}
	return ""
}
