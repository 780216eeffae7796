package fetch_test

import (
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/deftskills/deft/install/archive"
	"github.com/deftskills/deft/install/fetch"
)

func integrity(data []byte) string {
	sum := sha512.Sum512(data)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

func none(string) string { return "" }

// registry adds a package with versions, each with the same tarball.
func (s *site) registry(t *testing.T, name string, tags map[string]string, tarball, sum string, versions ...string) {
	t.Helper()
	all := map[string]any{}
	for _, v := range versions {
		all[v] = map[string]any{"dist": map[string]any{"tarball": tarball, "integrity": sum}}
	}
	src, err := json.Marshal(map[string]any{"name": name, "dist-tags": tags, "versions": all})
	if err != nil {
		t.Fatal(err)
	}
	s.has("/"+name, src)
}

func npmOf(w *fetch.WellKnown, host, more string) *fetch.NPM {
	return &fetch.NPM{HTTP: w.HTTP, Config: fetch.ReadNPM([]fetch.NPMFile{{Name: "own", Text: []byte("registry=https://" + host + "\n" + more), Own: true}}, none)}
}

func TestAPackageIsTheVersionThatIsMeant(t *testing.T) {
	t.Parallel()
	s, host, w := newSite(t)
	data := packed(t, "package/package.json", `{"skills":["skills/","../up","/etc","./more/SKILL.md"],"license":"MIT"}`, "package/skills/a/SKILL.md", "x")
	s.has("/p.tgz", data)
	s.registry(t, "p", map[string]string{"latest": "1.4.0", "next": "2.0.0-rc.1", "lost": "9.9.9"}, "https://"+host+"/p.tgz", integrity(data),
		"1.0.0", "1.2.0", "1.2.9", "1.4.0", "1.5.0", "2.0.0-rc.1", "2.0.0-rc.2", "0.3.1", "0.3.2", "0.4.0")
	n := npmOf(w, host, "")
	for want, is := range map[string]string{
		"": "1.4.0", "latest": "1.4.0", "next": "2.0.0-rc.1", "1.2.0": "1.2.0", "^1.0.0": "1.4.0", "~1.2": "1.2.9", "1.2.x": "1.2.9", "1": "1.4.0",
		"^1.5": "1.5.0", "^0.3.1": "0.3.2", "^2.0.0-rc.1": "2.0.0-rc.2", "<1": "0.4.0", "<=1.2.0": "1.2.0", ">1.4.0": "1.5.0", "*": "1.4.0", ">=1.5.0": "1.5.0", "=1.2.9": "1.2.9", ">1.4": "1.5.0",
	} {
		p, err := n.Fetch(t.Context(), "p", want)
		if err != nil || p.Version != is {
			t.Errorf("%q: %v, not %s: %v", want, p, is, err)
			continue
		}
		if len(p.Files) != 2 || p.Files[0].Path != "package.json" || strings.Join(p.Skills, " ") != "skills more" || p.Licence != "MIT" {
			t.Errorf("%q: %+v", want, p)
		}
	}
	for _, want := range []string{"3.0.0", "lost", "^3", ">2", "0.0.1", "nonsense", "<0.3.1"} {
		if p, err := n.Fetch(t.Context(), "p", want); !errors.Is(err, fetch.ErrNoRef) {
			t.Errorf("%q: %v %v", want, p, err)
		}
	}
	if _, err := n.Fetch(t.Context(), "none", ""); !errors.Is(err, fetch.ErrStatus) {
		t.Errorf("no such package: %v", err)
	}
}

func TestATarballIsTheOneThatTheRegistryAnnounces(t *testing.T) {
	t.Parallel()
	s, host, w := newSite(t)
	good := packed(t, "package/package.json", "{}", "package/SKILL.md", "x")
	flat := packed(t, "thing/package.json", "{}", "thing/SKILL.md", "x")
	for name, c := range map[string]struct {
		data []byte
		sum  string
		want error
	}{
		"good":     {good, integrity(good), nil},
		"several":  {good, "sha1-x sha512-AAAA " + integrity(good) + "?x", nil},
		"thing":    {flat, integrity(flat), nil},
		"other":    {good, integrity(flat), fetch.ErrDigest},
		"none":     {good, "", fetch.ErrDigest},
		"weak":     {good, "sha1-bm9uZQ==", fetch.ErrDigest},
		"climbs":   {packed(t, "package/package.json", "{}", "package/../../evil", "x"), "", archive.ErrBadEntry},
		"link":     {packed(t, "package/package.json", "{}", "package/out→../../../etc/passwd", ""), "", archive.ErrBadEntry},
		"two tops": {packed(t, "a/package.json", "{}", "b/SKILL.md", "x"), "", archive.ErrFormat},
		"empty":    {packed(t), "", archive.ErrFormat},
	} {
		if c.sum == "" && c.want != fetch.ErrDigest {
			c.sum = integrity(c.data)
		}
		at := "/" + strings.ReplaceAll(name, " ", "-")
		s.has(at+".tgz", c.data)
		s.registry(t, at[1:], map[string]string{"latest": "1.0.0"}, at+".tgz", c.sum, "1.0.0")
		p, err := npmOf(w, host, "").Fetch(t.Context(), at[1:], "")
		if !errors.Is(err, c.want) || err == nil && (len(p.Files) != 2 || p.Files[0].Path != "SKILL.md") {
			t.Errorf("%s: %+v %v", name, p, err)
		}
	}
}

func TestARegistrysTokenGoesToThatRegistryAlone(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	told := map[string]string{}
	note := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			told[r.Host+r.URL.Path] = r.Header.Get("Authorization")
			mu.Unlock()
			h.ServeHTTP(w, r)
		})
	}
	data := packed(t, "package/package.json", "{}", "package/SKILL.md", "x")
	other := http.NewServeMux()
	other.HandleFunc("/x.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) })
	elsewhere, _ := https(t, note(other))
	s := &site{mux: http.NewServeMux()}
	address, h := https(t, note(s))
	host, far := strings.TrimPrefix(address, "https://"), strings.TrimPrefix(elsewhere, "https://")
	h.Private = append(h.Private, far)
	s.mux.Handle("/npm/away.tgz", http.RedirectHandler(elsewhere+"/x.tgz", http.StatusFound))
	s.mux.Handle("/npm/beside.tgz", http.RedirectHandler("/open/x.tgz", http.StatusFound))
	s.has("/open/x.tgz", data)
	s.has("/npm/own.tgz", data)
	for _, name := range []string{"away", "beside", "own"} {
		s.registry(t, "npm/"+name, map[string]string{"latest": "1.0.0"}, "/npm/"+name+".tgz", integrity(data), "1.0.0")
	}
	s.registry(t, "npm/far", map[string]string{"latest": "1.0.0"}, elsewhere+"/x.tgz", integrity(data), "1.0.0")
	n := &fetch.NPM{HTTP: h, Config: fetch.ReadNPM([]fetch.NPMFile{{Name: "own", Own: true, Text: []byte(
		"registry=" + address + "/npm/\n//" + host + "/npm/:_authToken=sesame\n",
	)}}, none)}
	for _, name := range []string{"away", "beside", "own", "far"} {
		if _, err := n.Fetch(t.Context(), name, ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for at, want := range map[string]string{
		host + "/npm/own": "Bearer sesame", host + "/npm/own.tgz": "Bearer sesame", host + "/npm/away.tgz": "Bearer sesame",
		host + "/open/x.tgz": "", far + "/x.tgz": "",
	} {
		if got, ok := told[at]; !ok || got != want {
			t.Errorf("%s was told %q", at, got)
		}
	}
}

func TestSettingsOfNPMAreReadAsFarAsTheyCanBe(t *testing.T) {
	t.Parallel()
	env := func(name string) string { return map[string]string{"TOKEN": "sesame", "KEY": "secret"}[name] }
	own := "\ufeff; comment\n# other\n[section]\r\nregistry = \"https://own.example/r\"\r\n@acme:registry=https://acme.example/\n" +
		"//acme.example/:_authToken=${TOKEN}\n//own.example/r/:username=me\n//own.example/r/:_password=" + base64.StdEncoding.EncodeToString([]byte("pw")) +
		"\nsave-exact\nproxy=http://x\n=\n//x.example/:_authToken=a\x00b\n@bad:registry=javascript:alert(1)\n@long:registry=https://" + strings.Repeat("x", 9000) +
		"\n@user:registry=https://me:pw@h.example/\n//none.example/:_authToken=${NONE}\n"
	project := "@team:registry=https://team.example\n//team.example/:_authToken=${KEY}\n//evil.example/${KEY}/:_authToken=x\nregistry=https://evil.example/${KEY}\n"
	c := fetch.ReadNPM([]fetch.NPMFile{{Name: "own", Text: []byte(own), Own: true}, {Name: "project", Text: []byte(project)}, {Name: "huge", Text: make([]byte, 2<<20)}}, env)
	for name, want := range map[string]string{
		"p": "https://own.example/r/", "@acme/p": "https://acme.example/", "@team/p": "https://team.example/", "@bad/p": "https://own.example/r/", "@user/p": "https://own.example/r/",
	} {
		if got, _ := c.Registry(name); got != want {
			t.Errorf("%s is looked for at %s", name, got)
		}
	}
	for at, want := range map[string]string{
		"https://acme.example/x/y": "Bearer sesame", "http://acme.example/x": "", "https://own.example/r/p": "Basic bWU6cHc=", "https://own.example/s": "",
		"https://own.example/rr": "", "https://team.example/p": "", "https://acme.example.evil.example/": "", "https://x.example/": "", "https://evil.example/secret/": "",
		"https://acme.example:8443/": "",
	} {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Credential(u); got != want {
			t.Errorf("%s is told %q", at, got)
		}
	}
	if len(c.Notes) != 8 {
		t.Errorf("%d notes: %v", len(c.Notes), c.Notes)
	}
	for _, n := range c.Notes {
		if strings.Contains(n.Message, "sesame") || strings.Contains(n.Message, "secret") || strings.Contains(n.Message, "pw@") {
			t.Errorf("a note repeats a secret: %q", n.Message)
		}
	}
	if got, from := fetch.ReadNPM(nil, func(name string) string { return map[string]string{"NPM_CONFIG_REGISTRY": "https://env.example"}[name] }).Registry("p"); got != "https://env.example/" || from != "NPM_CONFIG_REGISTRY" {
		t.Errorf("of the environment: %s, %s", got, from)
	}
}

func FuzzNPMConfig(f *testing.F) {
	f.Add([]byte("registry=https://a/\n//a/:_authToken=${X}\n@s:registry=https://b/${Y?}"), true)
	f.Add([]byte("\ufeff//:_authToken=a\n////:_auth=\n@:registry=//"), false)
	f.Fuzz(func(t *testing.T, src []byte, own bool) {
		c := fetch.ReadNPM([]fetch.NPMFile{{Name: "f", Text: src, Own: own}}, func(string) string { return "SECRETVALUE" })
		for _, name := range []string{"p", "@s/p"} {
			at, _ := c.Registry(name)
			u, err := url.Parse(at)
			if err != nil || u.Host == "" || u.User != nil {
				t.Fatalf("the registry %q", at)
			}
			if !own && strings.Contains(at+c.Credential(u), "SECRETVALUE") && !strings.Contains(string(src), "SECRETVALUE") {
				t.Fatal("a folder's file had a variable filled in")
			}
		}
	})
}

func FuzzVersions(f *testing.F) {
	f.Add("^1.2.3-a.1", "1.2.3-a.2")
	f.Add("~0.x", "0.0.0")
	f.Add("<=999999999999999.0.0", "1.0.0+b")
	f.Fuzz(func(t *testing.T, want, have string) {
		got, err := fetch.ResolveVersion(want, have)
		if err == nil && got != have {
			t.Fatalf("%q of %q: %q", want, have, got)
		}
	})
}

// Addresses of registries have folders in both cases.
func TestOfAnAddressOnlyTheCaseOfTheHostSaysNothing(t *testing.T) {
	t.Parallel()
	c := fetch.ReadNPM([]fetch.NPMFile{{Name: "own", Own: true, Text: []byte("//Reg.Example/Org/_packaging/Feed/:_authToken=sesame\n")}}, none)
	for address, want := range map[string]string{
		"https://reg.example/Org/_packaging/Feed/p": "Bearer sesame", "https://REG.example/Org/_packaging/Feed/p": "Bearer sesame", "https://reg.example/org/_packaging/feed/p": "",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Credential(u); got != want {
			t.Errorf("%s is told %q", address, got)
		}
	}
}

func TestAPackageNamesNoMoreFoldersThanAreLookedAt(t *testing.T) {
	t.Parallel()
	s, host, w := newSite(t)
	data := packed(t, "package/package.json", `{"skills":["skills"`+strings.Repeat(`,"../x"`, 20_000)+`]}`, "package/skills/a/SKILL.md", "x")
	s.has("/p.tgz", data)
	s.registry(t, "p", map[string]string{"latest": "1.0.0"}, "/p.tgz", integrity(data), "1.0.0")
	p, err := npmOf(w, host, "").Fetch(t.Context(), "p", "")
	if err != nil || len(p.Skills) != 1 || len(p.Notes) > 1_100 {
		t.Errorf("%v: %d folders, %d notes", err, len(p.Skills), len(p.Notes))
	}
}
