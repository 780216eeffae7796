package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"
)

// overSSH talks to a server over ssh: with keys of the person's agent alone, to hosts that
// the person knows.
type overSSH struct {
	conn   *ssh.Client
	agent  net.Conn
	in     io.WriteCloser
	out    io.Reader
	limits Limits
	stop   func() bool
}

func (g *Git) overSSH(ctx context.Context, user, host, port, path string, l Limits) (wire, error) {
	if host == "" || path == "" || strings.HasPrefix(path, "-") || strings.ContainsAny(path, "\x00\r\n") || strings.HasPrefix(host, "-") {
		return nil, fmt.Errorf("%w: %q is no address of a repository", ErrUnreachable, host+":"+path)
	}
	env := g.Env
	if env == nil {
		env = func(string) string { return "" }
	}
	w := &overSSH{limits: l, stop: func() bool { return true }}
	if err := w.dial(ctx, env, cmp.Or(user, env("USER"), "git"), net.JoinHostPort(host, port)); err != nil {
		w.close()
		return nil, g.failed(ctx, host, err)
	}
	if err := w.start(path); err != nil {
		w.close()
		return nil, g.failed(ctx, host, err)
	}
	return w, nil
}

func (w *overSSH) dial(ctx context.Context, env func(string) string, user, address string) (err error) {
	socket := env("SSH_AUTH_SOCK")
	if socket == "" {
		return fmt.Errorf("%w: no agent holds keys for ssh: SSH_AUTH_SOCK is not set", ErrUnreachable)
	}
	var d net.Dialer
	if w.agent, err = d.DialContext(ctx, "unix", socket); err != nil {
		return fmt.Errorf("%w: the agent that holds keys for ssh: %w", ErrUnreachable, err)
	}
	known, algorithms, err := knownHosts(env("HOME"), address)
	if err != nil {
		return err
	}
	d.Timeout = headTime
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	w.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	c, channels, requests, err := ssh.NewClientConn(conn, address, &ssh.ClientConfig{
		User: user, Auth: []ssh.AuthMethod{ssh.PublicKeysCallback(agent.NewClient(w.agent).Signers)},
		HostKeyCallback: known, HostKeyAlgorithms: algorithms, Timeout: headTime,
	})
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	w.conn = ssh.NewClient(c, channels, requests)
	return nil
}

// knownHosts is how keys of hosts are checked, and of which kinds one of this host is
// known: a server that has several shows the one that is asked for.
func knownHosts(home, address string) (check ssh.HostKeyCallback, algorithms []string, err error) {
	var files []string
	for _, file := range []string{filepath.Join(home, ".ssh", "known_hosts"), "/etc/ssh/ssh_known_hosts"} {
		if _, err := os.Stat(file); err == nil && filepath.IsAbs(file) {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return nil, nil, fmt.Errorf("%w: no file of known hosts is there", ErrUnreachable)
	}
	if check, err = knownhosts.New(files...); err != nil {
		return nil, nil, fmt.Errorf("%w: known hosts: %w", ErrUnreachable, err)
	}
	var known *knownhosts.KeyError
	if err := check(address, &net.TCPAddr{}, nobodys{}); !errors.As(err, &known) || len(known.Want) == 0 {
		return nil, nil, fmt.Errorf("%w: %s is not among the known hosts", ErrUnreachable, address)
	}
	for _, k := range known.Want {
		if kind := k.Key.Type(); kind == ssh.KeyAlgoRSA {
			algorithms = append(algorithms, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		} else {
			algorithms = append(algorithms, kind)
		}
	}
	return check, algorithms, nil
}

// nobodys is a key that no host has.
type nobodys struct{}

func (nobodys) Type() string                        { return "none" }
func (nobodys) Marshal() []byte                     { return []byte("none") }
func (nobodys) Verify([]byte, *ssh.Signature) error { return errors.New("no key") }

func (w *overSSH) start(path string) error {
	s, err := w.conn.NewSession()
	if err != nil {
		return err
	}
	if w.in, err = s.StdinPipe(); err != nil {
		return err
	}
	if w.out, err = s.StdoutPipe(); err != nil {
		return err
	}
	return s.Start(uploadPack + " '" + strings.ReplaceAll(path, "'", `'\''`) + "'")
}

func (w *overSSH) close() {
	w.stop()
	if w.conn != nil {
		_ = w.conn.Close()
	}
	if w.agent != nil {
		_ = w.agent.Close()
	}
}

func (w *overSSH) advertised(context.Context) (*packp.AdvRefs, error) {
	ar := packp.NewAdvRefs()
	return ar, emptied(ar.Decode(&bounded{w.out, maxListing}))
}

func (w *overSSH) pack(_ context.Context, r *packp.UploadPackRequest, read func(*packp.UploadPackResponse) error) error {
	if err := encode(w.in, r); err != nil {
		return err
	}
	return decode(&bounded{w.out, w.limits.bytes(gitBytes)}, r, read)
}
