package fetch_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/deftskills/deft/install/fetch"
)

// Objects that are changes of others, in a repository that git has packed, from a server,
// from a folder and from a work tree beside it.
func TestPackedRepositoriesReadTheSameBothWays(t *testing.T) {
	t.Parallel()
	r := serve(t)
	text := strings.Repeat("one line of many that stay as they are\n", 200)
	for n := range 20 {
		r.write(fmt.Sprintf("d%d/f", n%3), text+fmt.Sprint(n), 0o644)
		r.write(fmt.Sprintf("e/f%d", n), text+fmt.Sprint(n), 0o644)
		r.write("empty", "", 0o644)
		if n%10 == 9 {
			r.commit()
		}
	}
	r.run("tag", "-a", "v1", "-m", "v1")
	r.run("tag", "-a", "v1again", "-m", "of a tag", "v1")
	r.run("gc", "-q", "--aggressive")
	beside := filepath.Join(t.TempDir(), "beside")
	r.run("worktree", "add", "-q", "-b", "other", beside)
	engines := r.engines()
	for _, address := range []string{r.url, r.dir, beside, filepath.Join(r.dir, ".git")} {
		var refs [][]fetch.Ref
		var trees []fetch.Fetched
		for _, name := range []string{"program", "without"} {
			list, err := engines[name].Refs(t.Context(), address)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, address, err)
			}
			f, err := engines[name].Fetch(t.Context(), address, "main", list[0].Commit, nil)
			if err != nil || len(f.Files) != 24 {
				t.Fatalf("%s, %s: %d files, %v", name, address, len(f.Files), err)
			}
			refs, trees = append(refs, list), append(trees, f)
		}
		if !reflect.DeepEqual(refs[0], refs[1]) || !reflect.DeepEqual(trees[0], trees[1]) {
			t.Errorf("%s:\n%v\n%v", address, refs[0], refs[1])
		}
	}
}

// Whatever a server answers, the reader ends with an error that tells, and soon.
func TestServersThatAreNoGitServers(t *testing.T) {
	t.Parallel()
	pkt := func(s string) string { return fmt.Sprintf("%04x%s", len(s)+4, s) }
	id := strings.Repeat("a", 40)
	refs := pkt("# service=git-upload-pack\n") + "0000" + pkt(id+" HEAD\x00shallow\n") + pkt(id+" refs/heads/main\n") + "0000"
	shallow := pkt("shallow "+id) + "0000" + pkt("NAK\n")
	for what, c := range map[string]struct {
		refs, pack string
		want       error
	}{
		"nothing":                {"", "", fetch.ErrUnreachable},
		"a page":                 {"<html>", "", fetch.ErrUnreachable},
		"a length that lies":     {"ffff" + id, "", fetch.ErrUnreachable},
		"no pack":                {refs, "", fetch.ErrUnreachable},
		"an error":               {refs, pkt("ERR upload-pack: not our ref " + id), fetch.ErrNoRef},
		"half a pack":            {refs, shallow + "PACK\x00\x00\x00\x02\x00\x00\x00\x01\x9f", fetch.ErrUnreachable},
		"a pack without objects": {refs, shallow + "PACK\x00\x00\x00\x02\x00\x00\x00\x00" + strings.Repeat("x", 20), fetch.ErrUnreachable},
		"too many objects":       {refs, shallow + "PACK\x00\x00\x00\x02\x7f\xff\xff\xff", fetch.ErrLimit},
		"an object of terabytes": {refs, shallow + "PACK\x00\x00\x00\x02\x00\x00\x00\x01\xbf\xff\xff\xff\xff\xff\xff\x01", fetch.ErrLimit},
	} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			kind, body := "advertisement", c.refs
			if req.Method == http.MethodPost {
				kind, body = "result", c.pack
			}
			w.Header().Set("Content-Type", "application/x-git-upload-pack-"+kind)
			_, _ = w.Write([]byte(body))
		}))
		g := &fetch.Git{Private: []string{strings.TrimPrefix(server.URL, "https://")}, CA: certificate(t, server)}
		if _, err := g.Fetch(t.Context(), server.URL, "main", "main", nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
		}
		server.Close()
	}
}

func TestAGitThatIsTooOldIsNotUsed(t *testing.T) {
	t.Parallel()
	r := serve(t)
	r.write("SKILL.md", "x", 0o644)
	commit := r.commit()
	for _, version := range []string{"git version 2.29.9", "git version 1.99", "hello"} {
		old := filepath.Join(t.TempDir(), "git")
		if err := os.WriteFile(old, []byte("#!/bin/sh\n[ \"$1\" = version ] || exit 9\necho "+version+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		g := *r.git
		g.Program = old
		if f, err := g.Fetch(t.Context(), r.url, "main", commit, nil); err != nil || names(f) != "SKILL.md" {
			t.Errorf("%s: %s %v", version, names(f), err)
		}
	}
}

// Over ssh the keys are those of the person's agent, and the host is one that the person
// knows.
func TestOverSSHTheHostIsKnownAndTheKeyIsTheAgents(t *testing.T) {
	t.Parallel()
	r := serve(t)
	r.write("SKILL.md", "x", 0o644)
	commit := r.commit()
	home := t.TempDir()
	mine, theirs := newKey(t), newKey(t)
	address, hostKey := sshServer(t, r, mine.PublicKey())
	env := map[string]string{"HOME": home, "SSH_AUTH_SOCK": agentOf(t, mine)}
	g := &fetch.Git{Env: func(name string) string { return env[name] }}
	url := "ssh://git@" + address + r.dir
	known := func(key ssh.PublicKey) {
		t.Helper()
		at := filepath.Join(home, ".ssh", "known_hosts")
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(knownhosts.Line([]string{knownhosts.Normalize(address)}, key)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.Refs(t.Context(), url); !errors.Is(err, fetch.ErrUnreachable) || !strings.Contains(err.Error(), "known hosts") {
		t.Errorf("a host that nobody knows: %v", err)
	}
	known(theirs.PublicKey())
	if _, err := g.Refs(t.Context(), url); !errors.Is(err, fetch.ErrUnreachable) || !strings.Contains(err.Error(), "key") {
		t.Errorf("another key than the known one: %v", err)
	}
	known(hostKey)
	refs, err := g.Refs(t.Context(), url)
	if err != nil || len(refs) < 2 || refs[0].Commit != commit {
		t.Fatalf("%v %v", refs, err)
	}
	if f, err := g.Fetch(t.Context(), url, "main", commit, nil); err != nil || names(f) != "SKILL.md" || f.Commit != commit {
		t.Errorf("%s %v", names(f), err)
	}
	env["SSH_AUTH_SOCK"] = agentOf(t, theirs)
	if _, err := g.Refs(t.Context(), url); !errors.Is(err, fetch.ErrUnreachable) {
		t.Errorf("a key that the server does not know: %v", err)
	}
	env["SSH_AUTH_SOCK"] = ""
	if _, err := g.Refs(t.Context(), url); err == nil || !strings.Contains(err.Error(), "SSH_AUTH_SOCK") {
		t.Errorf("without an agent: %v", err)
	}
}

// key is a private key that an agent holds and that signs.
type key struct {
	ssh.Signer
	private ed25519.PrivateKey
}

func newKey(t *testing.T) key {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return key{signer, private}
}

func agentOf(t *testing.T, k key) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") // a path that a socket may have
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: k.private}); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(ring, c); _ = c.Close() }()
		}
	}()
	return l.Addr().String()
}

// sshServer lets one key read what the git program serves.
func sshServer(t *testing.T, r *repository, may ssh.PublicKey) (address string, hostKey ssh.PublicKey) {
	t.Helper()
	host := newKey(t)
	config := &ssh.ServerConfig{PublicKeyCallback: func(c ssh.ConnMetadata, k ssh.PublicKey) (*ssh.Permissions, error) {
		if c.User() != "git" || string(k.Marshal()) != string(may.Marshal()) {
			return nil, errors.New("not this one")
		}
		return nil, nil
	}}
	config.AddHostKey(host)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	git := program(t)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serveSSH(c, config, git, r.dir)
		}
	}()
	return l.Addr().String(), host.PublicKey()
}

func serveSSH(c net.Conn, config *ssh.ServerConfig, git, dir string) {
	defer c.Close()
	conn, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return
	}
	defer conn.Close()
	go ssh.DiscardRequests(requests)
	for ch := range channels {
		channel, requests, err := ch.Accept()
		if err != nil {
			return
		}
		for req := range requests {
			var asked struct{ Command string }
			if req.Type != "exec" || ssh.Unmarshal(req.Payload, &asked) != nil || asked.Command != "git-upload-pack '"+dir+"'" {
				_ = req.Reply(false, nil)
				continue
			}
			_ = req.Reply(true, nil)
			cmd := exec.Command(git, "upload-pack", dir)
			cmd.Stdin, cmd.Stdout = channel, channel
			_ = cmd.Run()
			_, _ = channel.SendRequest("exit-status", false, []byte{0, 0, 0, 0})
			_ = channel.Close()
		}
	}
}
