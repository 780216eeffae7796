package source

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"reflect"
	"slices"
)

// Identity returns what two sources share only if they read the same places in the same
// way with the same standing. It is a digest of what the source was made of; a file
// system or a source of another package is known by the object itself, never by what it
// calls itself, so the digest holds while the object lives.
func Identity(src Source) [32]byte {
	h := sha256.New()
	identify(h, src)
	return [32]byte(h.Sum(nil))
}

func identify(h hash.Hash, src Source) {
	field(h, fmt.Sprintf("%T", src))
	field(h, src.Info())
	switch s := src.(type) {
	case *dirSource:
		identifyOptions(h, s.o)
	case *formSource:
		identifyOptions(h, s.o)
		field(h, s.typed)
	case *fsSource:
		identifyOptions(h, s.o)
		object(h, reflect.ValueOf(s.fsys))
	case *fsForm:
		identifyOptions(h, s.o)
		field(h, s.path)
		object(h, reflect.ValueOf(s.fsys))
	case *dataSource:
		field(h, s.o.Format)
		for _, e := range s.entries {
			files := s.files[e.Skill]
			for _, name := range slices.Sorted(maps.Keys(files)) {
				field(h, []string{e.Location, name, string(files[name])})
			}
		}
	case *described:
		identify(h, s.inner)
	default:
		object(h, reflect.ValueOf(src))
	}
}

func identifyOptions(h hash.Hash, o DirOptions) {
	o.Now = nil
	field(h, struct {
		One, Required, NamesOnly bool
		Boundary                 string
		Roots, Aliases           []string
		Ignore                   []string
		Format, Limited          any
	}{o.One, o.Required, o.NamesOnly, o.Boundary, o.Roots, o.Aliases, o.Ignore, o.Format, o.Limits})
}

// field writes one value with its length before it, so that no two lists of fields run
// into each other.
func field(h hash.Hash, v any) {
	j, err := json.Marshal(v)
	if err != nil { // no field of ours has such a type
		j = fmt.Appendf(nil, "%#v", v)
	}
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(j)))
	h.Write(n[:])
	h.Write(j)
}

// SameFS is the identity of a file system: the object, not its name.
func SameFS(fsys fs.FS) [32]byte {
	h := sha256.New()
	object(h, reflect.ValueOf(fsys))
	return [32]byte(h.Sum(nil))
}

// object writes what tells a value from every other one that lives.
func object(h hash.Hash, v reflect.Value) {
	if !v.IsValid() {
		io.WriteString(h, "nil")
		return
	}
	field(h, v.Type().PkgPath()+" "+v.Type().String())
	switch v.Kind() {
	case reflect.Interface:
		object(h, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			object(h, v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			object(h, v.Index(i))
		}
	case reflect.Pointer, reflect.Map, reflect.Chan, reflect.UnsafePointer:
		field(h, uint64(v.Pointer()))
	case reflect.Slice:
		field(h, [2]uint64{uint64(v.Pointer()), uint64(v.Len())})
	case reflect.Func: // two closures of one function cannot be told apart: nothing equals one
		var once [16]byte
		rand.Read(once[:])
		h.Write(once[:])
	default: // String and numbers; fmt reads unexported fields too
		field(h, fmt.Sprint(v))
	}
}
