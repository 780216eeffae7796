package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/internal/dialled"
)

// Git fetches repositories: with the git program, or without one where there is none that
// is new enough.
type Git struct {
	Program string                   // absolute path of git; "" = there is none
	Env     func(name string) string // of the process, of which git gets only what it needs
	Private []string                 // hosts, or host:port, that may lie in a private network
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Proxy says through which proxy an address is reached, nil = directly; nil = none.
	Proxy func(*url.URL) (*url.URL, error)
	Temp  string // where repositories are kept while they are read; "" = the system's
	// CA is a file of certificates that are believed besides the system's; "" = none.
	CA     string
	Limits Limits
}

// Ref is a name of a repository and the commit that it stands for.
type Ref struct {
	Name   string // short: main, v1.2; "HEAD" for the default branch
	Commit string
}

const gitBytes = 256 << 20

// settings hold whatever the repository or the machine says: nothing of a repository
// is run, and nothing but what is fetched is believed.
var settings = []string{
	"core.hooksPath=/dev/null", "core.symlinks=false", "core.fsmonitor=false", "protocol.ext.allow=never",
	"fetch.fsckObjects=true", "http.followRedirects=false", "gc.auto=0", "submodule.recurse=false", "core.askPass=",
	"credential.interactive=never", "uploadpack.packObjectsHook=", "advice.detachedHead=false", "init.defaultBranch=main",
}

// Refs lists the names of a repository, HEAD first.
func (g *Git) Refs(ctx context.Context, address string) ([]Ref, error) {
	ctx, cancel := context.WithTimeout(ctx, g.Limits.withDefaults().Time)
	defer cancel()
	pinned, err := g.pin(ctx, address)
	if err != nil {
		return nil, err
	}
	if !g.capable(ctx) {
		return g.refsWithout(ctx, address, pinned)
	}
	out, err := g.run(ctx, "", pinned.settings(), "ls-remote", "--", address)
	if err != nil {
		return nil, err
	}
	return refsOf(string(out)), nil
}

// refsOf reads what ls-remote prints. A tag that has an object of its own stands for
// the commit that it names.
func refsOf(out string) []Ref {
	var refs []Ref
	at := map[string]int{}
	for line := range strings.Lines(out) {
		commit, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || !hexCommit(commit) {
			continue
		}
		name, peeled := strings.CutSuffix(name, "^{}")
		short := name
		for _, prefix := range []string{"refs/heads/", "refs/tags/"} {
			short = strings.TrimPrefix(short, prefix)
		}
		if strings.HasPrefix(short, "refs/") {
			continue // requests for review, notes
		}
		if i, seen := at[name]; seen && peeled {
			refs[i].Commit = commit
			continue
		}
		at[name] = len(refs)
		refs = append(refs, Ref{short, commit})
	}
	return refs
}

func hexCommit(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// Fetch gets the files of one commit that keep wants; nil = all. commit is one of Refs,
// or what a person wrote; ref is asked for where the server gives no bare commits.
func (g *Git) Fetch(ctx context.Context, address, ref, commit string, keep func(path string) bool) (f Fetched, err error) {
	l := g.Limits.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, l.Time)
	defer cancel()
	at, err := g.pin(ctx, address)
	if err != nil {
		return Fetched{}, err
	}
	if !g.capable(ctx) {
		return g.fetchWithout(ctx, address, ref, commit, at, keep, l)
	}
	pinned := at.settings()
	repo, err := os.MkdirTemp(g.Temp, "deft-git-")
	if err != nil {
		return Fetched{}, fmt.Errorf("git: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(repo)) }()
	if _, err := g.run(ctx, repo, nil, "init", "-q", "--bare", "."); err != nil {
		return Fetched{}, err
	}
	watched, stop := g.watch(ctx, repo, l)
	defer stop()
	if _, err = g.run(watched, repo, pinned, fetchArgs(address, commit)...); err != nil && ref != "" && context.Cause(watched) == nil {
		_, err = g.run(watched, repo, pinned, fetchArgs(address, ref)...)
	}
	if err != nil {
		if cause := context.Cause(watched); errors.Is(cause, ErrLimit) {
			return Fetched{}, cause
		}
		return Fetched{}, err
	}
	head, err := g.run(ctx, repo, nil, "rev-parse", "--verify", "FETCH_HEAD^{commit}")
	if err != nil {
		return Fetched{}, err
	}
	f.Commit = strings.TrimSpace(string(head))
	if hexCommit(commit) && commit != f.Commit {
		return Fetched{}, fmt.Errorf("%w: %s gave commit %s where %s was asked for", ErrUnreachable, address, f.Commit, commit)
	}
	err = g.export(ctx, repo, keep, l, &f)
	return f, err
}

func fetchArgs(address, what string) []string {
	return []string{"fetch", "-q", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-commit-graph", "--", address, what}
}

// watch ends a fetch that takes more of the disk than it may.
func (g *Git) watch(ctx context.Context, repo string, l Limits) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if sizeOf(repo) > l.bytes(gitBytes) {
					cancel(fmt.Errorf("%w: the repository is larger than %d bytes", ErrLimit, l.bytes(gitBytes)))
				}
			}
		}
	}()
	return ctx, func() { cancel(nil); <-done }
}

func sizeOf(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil // what git has just renamed is counted the next time
	})
	return n
}

// oldest is the first version of git that knows all settings that are relied on.
var oldest = [2]int{2, 30}

// capable reports whether there is a git program, and one that is new enough.
func (g *Git) capable(ctx context.Context) bool {
	if g.Program == "" {
		return false
	}
	cmd := exec.CommandContext(ctx, g.Program, "version")
	cmd.Env = g.environment("")
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	var major, minor int
	if _, bad := fmt.Sscanf(string(out), "git version %d.%d", &major, &minor); err != nil || bad != nil {
		return false
	}
	return major > oldest[0] || major == oldest[0] && minor >= oldest[1]
}

// pinned is a host with the addresses that were looked at; without any, the host may be
// dialled by its name.
type pinned struct {
	host, port string
	addrs      []netip.Addr
}

// settings have git dial exactly what was looked at.
func (p pinned) settings() []string {
	if len(p.addrs) == 0 {
		return nil
	}
	var texts []string
	for _, a := range p.addrs {
		texts = append(texts, a.String())
	}
	return []string{"-c", "http.curloptResolve=" + p.host + ":" + p.port + ":" + strings.Join(texts, ",")}
}

// pin resolves the host of an https address and refuses one in a private network.
func (g *Git) pin(ctx context.Context, address string) (pinned, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return pinned{}, nil // ssh asks its own configuration where to go
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	if dialled.Listed(g.Private, net.JoinHostPort(u.Hostname(), port)) {
		return pinned{}, nil
	}
	resolve := g.Resolve
	if resolve == nil {
		resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	proxy, err := g.proxyFor(u)
	if err != nil {
		return pinned{}, err
	}
	addrs, err := resolve(ctx, u.Hostname())
	if proxy != nil && err != nil {
		return pinned{}, nil // a name that only the proxy knows
	}
	if err != nil || len(addrs) == 0 {
		return pinned{}, fmt.Errorf("%w: %s has no address: %w", ErrUnreachable, u.Hostname(), err)
	}
	p := pinned{host: u.Hostname(), port: port}
	for _, a := range addrs {
		if !dialled.Public(a) {
			return pinned{}, fmt.Errorf("%w: %s resolves to %s", ErrPrivate, u.Hostname(), a.Unmap())
		}
		p.addrs = append(p.addrs, a.Unmap())
	}
	if proxy != nil {
		return pinned{}, nil // the proxy dials
	}
	return p, nil
}

func (g *Git) proxyFor(u *url.URL) (*url.URL, error) {
	if g.Proxy == nil {
		return nil, nil
	}
	p, err := g.Proxy(u)
	if err != nil {
		return nil, fmt.Errorf("%w: the proxy of %s: %w", ErrUnreachable, u.Host, err)
	}
	return p, nil
}

// tokens answer for their own host alone.
var tokens = map[string][]string{"github.com": {"GITHUB_TOKEN", "GH_TOKEN"}, "gitlab.com": {"GITLAB_TOKEN"}}

func (g *Git) environment(address string) []string {
	allowed := "https:ssh"
	switch {
	case strings.HasPrefix(address, "http://"):
		allowed = "http:https:ssh"
	case filepath.IsAbs(address):
		allowed = "file"
	}
	env := []string{
		"GIT_ALLOW_PROTOCOL=" + allowed, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_LFS_SKIP_SMUDGE=1", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C",
		"GIT_SSH_COMMAND=ssh -oBatchMode=yes -oClearAllForwardings=yes -oPermitLocalCommand=no",
	}
	if g.CA != "" {
		env = append(env, "GIT_SSL_CAINFO="+g.CA)
	}
	if g.Env == nil {
		return env
	}
	for _, name := range []string{"PATH", "HOME", "SSH_AUTH_SOCK", "SystemRoot"} {
		if v := g.Env(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	if u, err := url.Parse(address); err == nil {
		if p, err := g.proxyFor(u); err == nil && p != nil {
			env = append(env, u.Scheme+"_proxy="+p.String()) // not an argument: it may hold a password
		}
	}
	// Values stay out of the arguments, which any process may read.
	key, values := "credential.helper", []string(nil)
	if host, header := g.authorization(address); header != "" {
		key, values = "http.https://"+host+"/.extraHeader", []string{"Authorization: " + header}
	} else if strings.HasPrefix(address, "https://") {
		values = g.helpers()
	}
	if len(values) > 0 {
		env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(values)))
	}
	for i, v := range values {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, v))
	}
	return env
}

// helpers are the programs that a person's own git asks for credentials. Of that git's
// settings nothing else is taken over.
func (g *Git) helpers() (list []string) {
	if g.Env == nil || g.Env("HOME") == "" || g.Program == "" {
		return nil
	}
	cmd := exec.Command(g.Program, "config", "--global", "--includes", "--null", "--get-all", "credential.helper")
	cmd.Dir = g.Env("HOME")
	cmd.WaitDelay = 5 * time.Second
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "SystemRoot"} {
		cmd.Env = append(cmd.Env, name+"="+g.Env(name))
	}
	out, _ := cmd.Output() // an error is that there is none
	for value := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		list = append(list, value)
	}
	if len(out) == 0 {
		return nil
	}
	return list
}

// authorization is what the environment has for the host of an address, "" for none.
func (g *Git) authorization(address string) (host, header string) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || g.Env == nil {
		return "", ""
	}
	for _, name := range tokens[u.Hostname()] {
		if v := g.Env(name); v != "" && !strings.ContainsAny(v, "\r\n") {
			return u.Host, "Basic " + basic("x-access-token", v)
		}
	}
	return "", ""
}

// run starts git with its own argument list, never a shell.
func (g *Git) run(ctx context.Context, dir string, pinned []string, args ...string) ([]byte, error) {
	var out bytes.Buffer
	cmd := g.command(ctx, dir, pinned, args...)
	cmd.Stdout = &limited{w: &out, left: maxListing}
	var stderr bytes.Buffer
	cmd.Stderr = &limited{w: &stderr, left: 64 << 10}
	if err := cmd.Run(); err != nil {
		return nil, g.explain(ctx, args, stderr.String(), err)
	}
	return out.Bytes(), nil
}

// maxListing is how much git may print of refs or of a tree, in bytes.
const maxListing = 64 << 20

func (g *Git) command(ctx context.Context, dir string, pinned []string, args ...string) *exec.Cmd {
	argv := slices.Clone(pinned)
	for _, s := range settings {
		argv = append(argv, "-c", s)
	}
	cmd := exec.CommandContext(ctx, g.Program, append(argv, args...)...)
	cmd.Dir = dir
	address := ""
	if at := slices.Index(args, "--"); at >= 0 && at+1 < len(args) {
		address = args[at+1]
	}
	cmd.Env = g.environment(address)
	ownGroup(cmd)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// explain turns git's last line into an error. What it says comes from a server too:
// the caller prints it as foreign text.
func (g *Git) explain(ctx context.Context, args []string, stderr string, err error) error {
	if ctx.Err() != nil {
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return fmt.Errorf("%w: git %s took too long", ErrTimeout, args[0])
		}
		return context.Cause(ctx)
	}
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	for _, l := range lines {
		if strings.HasPrefix(l, "fatal: ") {
			last = strings.TrimPrefix(l, "fatal: ")
			break
		}
	}
	switch {
	case strings.Contains(last, "couldn't find remote ref"), strings.Contains(last, "not our ref"), strings.Contains(last, "no such remote ref"):
		return fmt.Errorf("%w: %s", ErrNoRef, last)
	case last == "":
		return fmt.Errorf("%w: git %s: %w", ErrUnreachable, args[0], err)
	}
	return fmt.Errorf("%w: git %s: %s", ErrUnreachable, args[0], last)
}
