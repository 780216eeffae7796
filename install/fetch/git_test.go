package fetch_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/deftskills/deft/install/fetch"
)

// repository is a real one, served by git's own server over https on loopback.
type repository struct {
	t   *testing.T
	dir string // the work tree
	url string
	git *fetch.Git
}

func program(t *testing.T) string {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal("git is needed: ", err)
	}
	return git
}

func serve(t *testing.T) *repository {
	t.Helper()
	root := t.TempDir()
	r := &repository{t: t, dir: filepath.Join(root, "team", "repo")}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.run("init", "-q", "-b", "main")
	r.run("config", "uploadpack.allowAnySHA1InWant", "true")
	git := program(t)
	backend := &cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Dir: root,
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	}
	server := httptest.NewTLSServer(backend)
	t.Cleanup(server.Close)
	ca := certificate(t, server)
	r.url = server.URL + "/team/repo/.git"
	r.git = &fetch.Git{
		Program: git, Env: func(name string) string { return map[string]string{"PATH": os.Getenv("PATH")}[name] },
		Private: []string{strings.TrimPrefix(server.URL, "https://")}, Temp: t.TempDir(), CA: ca,
	}
	return r
}

// certificate is the file of a server's certificate.
func certificate(t *testing.T, server *httptest.Server) string {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return ca
}

// engines are both ways to read a repository.
func (r *repository) engines() map[string]*fetch.Git {
	without := *r.git
	without.Program = ""
	return map[string]*fetch.Git{"program": r.git, "without": &without}
}

func (r *repository) run(args ...string) string {
	r.t.Helper()
	cmd := exec.Command(program(r.t), args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_ALLOW_PROTOCOL=file")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repository) write(name, data string, mode os.FileMode) {
	r.t.Helper()
	at := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(data), mode); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repository) commit() string {
	r.t.Helper()
	r.run("add", "-A")
	r.run("commit", "-q", "-m", "x")
	return r.run("rev-parse", "HEAD")
}

func names(f fetch.Fetched) string {
	var s []string
	for _, file := range f.Files {
		mark := ""
		if file.Exec {
			mark = "*"
		}
		s = append(s, file.Path+mark)
	}
	return strings.Join(s, " ")
}

func codes(f fetch.Fetched) string {
	var s []string
	for _, n := range f.Notes {
		s = append(s, n.Code+":"+n.Path)
	}
	return strings.Join(s, " ")
}

// A person's credential helper opens a private repository; of that person's git settings
// nothing else acts.
func TestAPrivateRepositoryIsReadByThePersonsHelper(t *testing.T) {
	t.Parallel()
	r := serve(t)
	r.write("SKILL.md", "---\nname: a\n---\n", 0o644)
	commit := r.commit()
	open, err := url.Parse(r.url)
	if err != nil {
		t.Fatal(err)
	}
	behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: open.Scheme, Host: open.Host})
	behind.Transport = r.trusting()
	asked := atomic.Int32{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if user, password, ok := q.BasicAuth(); !ok || user != "me" || password != "s3cret" {
			asked.Add(1)
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		behind.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	home, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	git := *r.git
	git.CA, git.Private = certificate(t, server), []string{strings.TrimPrefix(server.URL, "https://")}
	git.Env = func(name string) string {
		return map[string]string{"PATH": os.Getenv("PATH"), "HOME": home}[name]
	}
	address := server.URL + open.Path
	if _, err := git.Refs(t.Context(), address); !errors.Is(err, fetch.ErrUnreachable) || asked.Load() == 0 {
		t.Fatalf("without a helper: %v", err)
	}
	settings := "[credential]\n\thelper = \"!f() { test \\\"$1\\\" = get && echo username=me && echo password=s3cret; }; f\"\n" +
		"[core]\n\tsshCommand = touch " + ran + "\n\tfsmonitor = touch " + ran + "\n\tpager = touch " + ran + "\n" +
		"[url \"https://elsewhere.example/\"]\n\tinsteadOf = " + server.URL + "/\n[http]\n\tproxy = http://127.0.0.1:1\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	refs, err := git.Refs(t.Context(), address)
	if err != nil || len(refs) == 0 || refs[0].Commit != commit {
		t.Fatalf("%v %v", refs, err)
	}
	f, err := git.Fetch(t.Context(), address, "main", commit, nil)
	if err != nil || names(f) != "SKILL.md" {
		t.Errorf("%v %v", f, err)
	}
	if _, err := os.Stat(ran); !os.IsNotExist(err) {
		t.Errorf("another setting acted: %v", err)
	}
}

// trusting is a transport that believes the repository's server.
func (r *repository) trusting() *http.Transport {
	r.t.Helper()
	pool := x509.NewCertPool()
	src, err := os.ReadFile(r.git.CA)
	if err != nil || !pool.AppendCertsFromPEM(src) {
		r.t.Fatal("no certificate: ", err)
	}
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
}

func TestACommitComesOutAsItsFiles(t *testing.T) {
	t.Parallel()
	r := serve(t)
	r.write("skills/a/SKILL.md", "---\r\nname: a\r\n---\r\n", 0o644)
	r.write("skills/a/run.sh", "#!/bin/sh\n", 0o755)
	r.write("skills/a/raw.bin", "\x00\xff\n", 0o644)
	r.write(".gitattributes", "* text=auto eol=lf\n*.bin filter=lfs\n", 0o644)
	r.write("big.dat", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", 0o644)
	if err := os.Symlink("skills/a/SKILL.md", filepath.Join(r.dir, "inside")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../out", filepath.Join(r.dir, "outside")); err != nil {
		t.Fatal(err)
	}
	first := r.commit()
	r.run("branch", "feature/x")
	r.run("tag", "-a", "v1", "-m", "v1")
	r.write("skills/a/SKILL.md", "---\nname: a\n---\nsecond\n", 0o644)
	second := r.commit()

	for name, g := range r.engines() {
		t.Run(name, func(t *testing.T) {
			commitComesOut(t, g, r, first, second)
		})
	}
}

func commitComesOut(t *testing.T, g *fetch.Git, r *repository, first, second string) {
	t.Helper()
	for _, address := range []string{r.url, r.dir} {
		refs, err := g.Refs(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(refs)
		for _, want := range []string{"{HEAD " + second, "{main " + second, "{feature/x " + first, "{v1 " + first} {
			if !strings.Contains(got, want) {
				t.Errorf("refs %s: no %s", got, want)
			}
		}
		whole, err := g.Fetch(t.Context(), address, "feature/x", first, nil)
		if err != nil {
			t.Fatal(err)
		}
		if whole.Commit != first || names(whole) != ".gitattributes big.dat skills/a/SKILL.md skills/a/raw.bin skills/a/run.sh* inside" {
			t.Errorf("%s %s", whole.Commit, names(whole))
		}
		if codes(whole) != "fetch_lfs_pointer:big.dat fetch_link:outside" {
			t.Errorf("notes %s", codes(whole))
		}
		part, err := g.Fetch(t.Context(), address, "main", second, func(p string) bool { return strings.HasPrefix(p, "skills/a/") })
		if err != nil || names(part) != "skills/a/SKILL.md skills/a/raw.bin skills/a/run.sh*" || string(part.Files[0].Data) != "---\nname: a\n---\nsecond\n" || string(part.Files[1].Data) != "\x00\xff\n" {
			t.Errorf("%s %v", names(part), err)
		}
		if _, err := g.Fetch(t.Context(), address, "nowhere", "nowhere", nil); !errors.Is(err, fetch.ErrNoRef) {
			t.Errorf("a branch that is not there: %v", err)
		}
		if left, err := os.ReadDir(g.Temp); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	}
}

// A repository can carry hooks, filters and submodules. None of them is run or followed.
func TestNothingOfARepositoryIsRun(t *testing.T) {
	t.Parallel()
	r := serve(t)
	mark := filepath.Join(t.TempDir(), "ran")
	r.write("SKILL.md", "x", 0o644)
	r.write(".gitattributes", "* filter=evil\n", 0o644)
	r.write(".githooks/post-checkout", "#!/bin/sh\ntouch "+mark+"\n", 0o755)
	r.write(".gitmodules", "[submodule \"s\"]\n\tpath = s\n\turl = ext::sh -c \"touch "+mark+"\"\n", 0o644)
	sub := r.commit()
	r.run("update-index", "--add", "--cacheinfo", "160000,"+sub+",s")
	r.run("commit", "-q", "-m", "sub")
	for _, hook := range []string{"post-checkout", "post-merge", "reference-transaction", "post-index-change"} {
		r.write(".git/hooks/"+hook, "#!/bin/sh\ntouch "+mark+"\n", 0o755)
	}
	for name, g := range r.engines() {
		for _, address := range []string{r.url, r.dir} {
			f, err := g.Fetch(t.Context(), address, "main", "main", nil)
			if err != nil || !strings.Contains(codes(f), "fetch_submodule:s") || !strings.Contains(names(f), "SKILL.md") {
				t.Errorf("%s, %s: %s %s %v", name, address, names(f), codes(f), err)
			}
		}
	}
	if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something of the repository ran: %v", err)
	}
	for _, bad := range []string{"ext::sh -c 'touch " + mark + "'", "--upload-pack=touch " + mark, "fd::7"} {
		for name, g := range r.engines() {
			if _, err := g.Fetch(t.Context(), bad, "main", "main", nil); err == nil {
				t.Errorf("%s, %s: fetched", name, bad)
			}
		}
	}
	if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an address ran something: %v", err)
	}
}

func TestAPrivateAddressIsNotDialled(t *testing.T) {
	t.Parallel()
	g := &fetch.Git{Temp: t.TempDir()}
	for n, a := range []string{"127.0.0.1", "10.0.0.7", "169.254.169.254", "::1", "::ffff:127.0.0.1", "100.64.0.1", "fd00::1", "64:ff9b::7f00:1"} {
		g.Program = []string{"", program(t)}[n%2]
		g.Resolve = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr(a)}, nil
		}
		if _, err := g.Refs(t.Context(), "https://files.example/x.git"); !errors.Is(err, fetch.ErrPrivate) || !strings.Contains(err.Error(), "files.example") {
			t.Errorf("%s: %v", a, err)
		}
	}
}

// The address that was looked at is the one that is dialled: a name that answers
// otherwise the second time gains nothing.
func TestGitDialsTheAddressThatWasLookedAt(t *testing.T) {
	t.Parallel()
	said := filepath.Join(t.TempDir(), "said")
	stand := filepath.Join(t.TempDir(), "git")
	if err := os.WriteFile(stand, []byte("#!/bin/sh\n[ \"$1\" != version ] || exec echo git version 2.30.0\necho \"$@\" >"+said+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	asked := 0
	g := &fetch.Git{Program: stand, Temp: t.TempDir()}
	g.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		asked++
		return []netip.Addr{netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("2606:2800:21f::1")}, nil
	}
	if _, err := g.Refs(t.Context(), "https://files.example/x.git"); err != nil || asked != 1 {
		t.Fatalf("asked %d times: %v", asked, err)
	}
	args, err := os.ReadFile(said)
	if want := "-c http.curloptResolve=files.example:443:93.184.215.14,2606:2800:21f::1 "; err != nil || !strings.Contains(string(args), want) {
		t.Errorf("git got %s, %v; no %s", args, err, want)
	}
}

func TestARedirectOfARepositoryIsNotFollowed(t *testing.T) {
	t.Parallel()
	r := serve(t)
	r.write("SKILL.md", "x", 0o644)
	r.commit()
	redirect := httptest.NewTLSServer(http.RedirectHandler(r.url+"/info/refs?service=git-upload-pack", http.StatusFound))
	defer redirect.Close()
	ca := certificate(t, redirect)
	for name, g := range r.engines() {
		g.CA, g.Private = ca, append(g.Private, strings.TrimPrefix(redirect.URL, "https://"))
		if _, err := g.Refs(t.Context(), redirect.URL+"/team/repo/.git"); !errors.Is(err, fetch.ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARepositoryThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	r := serve(t)
	for i := range 5 {
		r.write(fmt.Sprintf("f%d", i), strings.Repeat(fmt.Sprint(i), 1000), 0o644)
	}
	commit := r.commit()
	for what, l := range map[string]fetch.Limits{"files": {Entries: 4}, "bytes": {Bytes: 4000}} {
		for name, g := range r.engines() {
			g.Limits = l
			for _, address := range []string{r.url, r.dir} {
				if _, err := g.Fetch(t.Context(), address, "main", commit, nil); !errors.Is(err, fetch.ErrLimit) {
					t.Errorf("%s, %s, %s: %v", name, address, what, err)
				}
			}
		}
	}
}
