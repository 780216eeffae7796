package fetch_test

import (
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"testing"

	"aead.dev/minisign"

	"github.com/deftskills/deft/install/fetch"
)

func signing(t testing.TB) (fetch.Keys, minisign.PrivateKey) {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text, err := public.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	k, err := fetch.ReadKeys(lines[len(lines)-1:])
	if err != nil {
		t.Fatal(err)
	}
	return k, private
}

func TestASignatureIsOneOfTheseBytesByAKeyThatCounts(t *testing.T) {
	t.Parallel()
	keys, private := signing(t)
	_, other := signing(t)
	data := []byte("contents")
	good := minisign.Sign(private, data)
	for name, c := range map[string]struct {
		data, sig []byte
		key       bool
		want      error
	}{
		"good":            {data, good, true, nil},
		"other contents":  {[]byte("contents."), good, false, fetch.ErrSignature},
		"no signature":    {data, nil, false, nil},
		"empty":           {data, []byte{}, false, fetch.ErrSignature},
		"no form":         {data, []byte("signed, honestly"), false, fetch.ErrSignature},
		"another key":     {data, minisign.Sign(other, data), false, nil},
		"another comment": {data, []byte(strings.Replace(string(good), "timestamp", "timestomp", 1)), false, fetch.ErrSignature},
	} {
		s, err := keys.Check(c.data, c.sig)
		if !errors.Is(err, c.want) || (s.Key != "") != c.key || err == nil && (s.Note == "") != c.key {
			t.Errorf("%s: %+v %v", name, s, err)
		}
		must := keys
		must.Require = true
		if s, err := must.Check(c.data, c.sig); (err == nil) != c.key {
			t.Errorf("%s, where one is required: %+v %v", name, s, err)
		}
	}
	if s, err := (fetch.Keys{}).Check(data, []byte("x")); s != (fetch.Signature{}) || err != nil {
		t.Errorf("without keys: %+v %v", s, err)
	}
	if err := (fetch.Keys{Require: true}).Demand("git"); !errors.Is(err, fetch.ErrSignature) {
		t.Errorf("git where one is required: %v", err)
	}
	if _, err := fetch.ReadKeys([]string{"RWnonsense"}); err == nil {
		t.Error("nonsense is a key")
	}
}

func TestAnIndexWhoseSignatureIsBadIsNotRead(t *testing.T) {
	t.Parallel()
	keys, private := signing(t)
	index := []byte(`{"$schema":"` + fetch.Schema + `","skills":[]}`)
	for name, c := range map[string]struct {
		sig  []byte
		want error
	}{"good": {minisign.Sign(private, index), nil}, "bad": {minisign.Sign(private, []byte("x")), fetch.ErrSignature}, "none": {nil, nil}, "endless": {make([]byte, 1<<20), fetch.ErrLimit}} {
		s, host, w := newSite(t)
		w.Keys = keys
		s.has(folder+"index.json", index)
		s.has(folder+"pack.tar.gz", index)
		if c.sig != nil {
			s.has(folder+fetch.SignatureFile, c.sig)
		}
		x, err := w.Index(t.Context(), host)
		if !errors.Is(err, c.want) || name == "good" && x.Signature.Key == "" || name == "none" && x.Signature.Note != "unsigned" {
			t.Errorf("%s: %+v %v", name, x, err)
		}
		b, err := w.HTTP.Archive(t.Context(), "https://"+host+folder+"pack.tar.gz")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keys.Beside(t.Context(), w.HTTP, b); !errors.Is(err, c.want) {
			t.Errorf("%s, of an archive: %v", name, err)
		}
	}
	// A signature is looked for only where keys are.
	s, host, w := newSite(t)
	s.has(folder+"index.json", index)
	s.mux.HandleFunc(folder+fetch.SignatureFile, func(http.ResponseWriter, *http.Request) { t.Error("a signature was looked for") })
	if _, err := w.Index(t.Context(), host); err != nil {
		t.Error(err)
	}
}

// An index of the first form has no digests: whoever signs it signs names alone.
func TestASignatureOfAnIndexWithoutDigestsSignsNoSkill(t *testing.T) {
	t.Parallel()
	keys, private := signing(t)
	index := []byte(`{"skills":[{"name":"a","files":["SKILL.md"]}]}`)
	s, host, w := newSite(t)
	s.has("/.well-known/skills/index.json", index)
	s.has("/.well-known/skills/"+fetch.SignatureFile, minisign.Sign(private, index))
	w.Keys = keys
	if x, err := w.Index(t.Context(), host); err != nil || x.Signature.Key != "" || x.Signature.Note != "unsigned" {
		t.Errorf("%+v %v", x, err)
	}
	w.Keys.Require = true
	if x, err := w.Index(t.Context(), host); !errors.Is(err, fetch.ErrSignature) {
		t.Errorf("%+v %v", x, err)
	}
}

func FuzzSignature(f *testing.F) {
	f.Add([]byte("untrusted comment: x\nRW\ntrusted comment: y\nz"))
	f.Add([]byte{})
	k, _ := signing(f)
	f.Fuzz(func(t *testing.T, sig []byte) {
		if s, err := k.Check([]byte("contents"), sig); err == nil && s.Key != "" {
			t.Fatalf("%q signs", sig)
		}
	})
}
