package skill

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fill gives every field below v a value of its own, so that one that the codec
// forgets is seen.
func fill(v reflect.Value, n *int, depth int) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(string(rune('a' + *n%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint8:
		v.SetUint(uint64(*n % 100))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), n, depth)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value, n, depth)
		v.SetMapIndex(reflect.ValueOf("key"), value)
	case reflect.Pointer:
		if depth > 4 {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n, depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			if !f.CanSet() {
				f = reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem()
			}
			fill(f, n, depth)
		}
	}
}

func TestEveryFieldOfASkillSurvivesTheCache(t *testing.T) {
	t.Parallel()
	var full Skill
	n := 0
	fill(reflect.ValueOf(&full).Elem(), &n, 0)
	for _, s := range []*Skill{&full, {}, {Name: "x", Meta: Meta{Tags: []string{}, DisplayNames: map[string]string{}}}} {
		b := AppendBinary([]byte("before"), s)
		got, rest, ok := Decode(string(b[len("before"):]) + "after")
		if !ok || rest != "after" {
			t.Fatalf("ok %v, rest %q", ok, rest)
		}
		if d := cmp.Diff(s, got, cmp.AllowUnexported(Skill{})); d != "" {
			t.Error(d)
		}
	}
}

func TestDamagedCacheBytesAreRefused(t *testing.T) {
	t.Parallel()
	var full Skill
	n := 0
	fill(reflect.ValueOf(&full).Elem(), &n, 0)
	b := AppendBinary(nil, &full)
	for i := 0; i < len(b); i += 1 + i/500 { // dense where the kinds of fields change, sparse in their lists
		if _, _, ok := Decode(string(b[:i])); ok {
			t.Fatalf("the first %d of %d bytes were taken for a skill", i, len(b))
		}
	}
}

func FuzzDecode(f *testing.F) {
	s := Parse([]byte("---\nname: a\ndescription: b\nmetadata:\n  tags: [x, y]\n---\n# T\n\nText.\n"), ParseOptions{DirName: "a"})
	f.Add(string(AppendBinary(nil, s)))
	f.Fuzz(func(t *testing.T, src string) {
		s, _, ok := Decode(src)
		if !ok {
			return
		}
		again, rest, ok := Decode(string(AppendBinary(nil, s)))
		if d := cmp.Diff(s, again, cmp.AllowUnexported(Skill{})); !ok || rest != "" || d != "" {
			t.Fatalf("ok %v, rest %q, %s", ok, rest, d)
		}
	})
}

// What a parse of real files says is what comes back.
func TestParsedCasesSurviveTheCache(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "cases", "*", "tree", "*", "*", "*", "*", "SKILL.md"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		s := Parse(src, ParseOptions{Path: f, DirName: "x", Sidecars: map[string][]byte{SidecarConfig: []byte(`{"tags":["q"]}`)}})
		got, _, ok := Decode(string(AppendBinary(nil, s)))
		if d := cmp.Diff(s, got, cmp.AllowUnexported(Skill{})); !ok || d != "" {
			t.Errorf("%s: ok %v, %s", f, ok, d)
		}
	}
}
