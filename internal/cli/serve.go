package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/httpapi"
	"github.com/deftskills/deft/internal/atomicfile"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/store/jobs"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	ask                          askOptions
	addr, adminAddr, portFile    string
	role                         string
	tlsCert, tlsKey, tokenFile   string
	allowedHosts, allowedOrigins []string
	drain, lease                 time.Duration
	workers                      int
}

func serveVerb() verb {
	var o serveOptions
	return verb{
		name: "serve", group: groupRun, effects: effects{reads: true, writes: true, network: true, runsCode: true},
		short: "run jobs, and answer webhooks, signals, health and figures over HTTP", brief: "jobs without a person: by schedule, webhook or event",
		long: "Any number of processes may serve one PostgreSQL database; of those on one SQLite file one\n" +
			"runs jobs and the others wait for its end. It listens on the loopback interface unless\n" +
			"told otherwise, which needs --token-file and TLS. SIGTERM ends it in order, with exit code\n" +
			"0: what runs may end within --drain; the rest is interrupted. Logs are JSON lines on\n" +
			"standard error.",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.addr, "addr", "127.0.0.1:7433", "`HOST:PORT` to listen at; port 0 = any")
			f.StringVar(&o.adminAddr, "admin-addr", "", "`HOST:PORT` of /metrics, on the loopback interface; default off")
			f.StringVar(&o.portFile, "port-file", "", "`FILE` to write the addresses to when it listens")
			f.StringVar(&o.role, "role", "all", "`all|api|worker`: answer and run jobs, or one of both")
			f.StringVar(&o.ask.model, "model", "", "the model of the turns, as `PROVIDER/NAME` or scripted:FILE")
			f.BoolVar(&o.ask.offline, "offline", false, "no model and no network")
			f.StringVar(&o.tlsCert, "tls-cert", "", "`FILE` of the certificate chain")
			f.StringVar(&o.tlsKey, "tls-key", "", "`FILE` of its key")
			f.StringVar(&o.tokenFile, "token-file", "", "`FILE` with the token of /v1/signals; default run/token")
			f.StringSliceVar(&o.allowedHosts, "allowed-hosts", nil, "more names of this server, by `NAME`,…")
			f.StringSliceVar(&o.allowedOrigins, "allowed-origins", nil, "web pages that may call, by `ORIGIN`,…")
			f.DurationVar(&o.drain, "drain", 20*time.Second, "how long turns may take to end at the end")
			f.IntVar(&o.workers, "workers", 4, "turns at once, 1 to 64")
			f.DurationVar(&o.lease, "lease", time.Minute, "after how long a process that says nothing counts as dead")
		},
		run: func(ctx context.Context, r *run, _ []string) error { return r.serve(ctx, o) },
	}
}

// roles are what a role does.
var roles = map[string]struct{ api, work bool }{"all": {true, true}, "api": {true, false}, "worker": {false, true}}

// minLease keeps a process alive that is only slow.
const minLease = time.Second

func (o serveOptions) check() error {
	if _, ok := roles[o.role]; !ok {
		return usage("role %q is not known", o.role).hinted("hint.one_of", "all, api, worker")
	}
	if o.drain < 0 || o.lease < minLease || o.workers < 1 || o.workers > 64 {
		return usage("--drain, --lease or --workers is out of bounds").hinted("hint.see_help", "serve")
	}
	if (o.tlsCert == "") != (o.tlsKey == "") {
		return usage("--tls-cert and --tls-key belong together").hinted("hint.see_help", "serve")
	}
	if o.adminAddr != "" && !loopback(o.adminAddr) {
		return fail(Usage, "serve_auth_required", "address %s: figures are for the loopback interface", o.adminAddr)
	}
	switch {
	case loopback(o.addr):
	case o.tokenFile == "":
		return fail(Usage, "serve_auth_required", "address %s is not of the loopback interface: callers must prove who they are", o.addr).hinted("hint.serve_auth")
	case o.tlsCert == "":
		return fail(Usage, "serve_tls_required", "address %s is not of the loopback interface: callers must be spoken to over TLS", o.addr).hinted("hint.serve_tls")
	}
	return nil
}

// loopback reports whether an address can only be reached from this machine.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// serveJSON is printed when it listens.
type serveJSON struct {
	Replica   string   `json:"replica"`
	Role      string   `json:"role"`
	Addresses []string `json:"addresses"` // HOST:PORT; that of /metrics is the last, if it is on
}

func (r *run) serve(ctx context.Context, o serveOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	if r.writing.dryRun {
		return usage("serve has no --dry-run: it runs what is queued").hinted("hint.see_help", "serve")
	}
	r.proc.patient(o.drain + lastWait)
	r.scraped, r.logs = o.adminAddr != "", logHandler(r)
	log := slog.New(r.logs)
	t, err := r.newTurns(ctx, o.ask, log)
	if err != nil {
		return err
	}
	q, err := r.openQueue(ctx, jobs.Options{
		Prepare: t.prepare, Workers: o.workers, Lease: o.lease, Drain: max(o.drain, time.Millisecond), Log: log,
	})
	if err != nil {
		return err
	}
	defer q.Close()
	log = log.With("replica", q.Replica())
	token, err := r.token(o.tokenFile)
	if err != nil {
		return err
	}
	api, err := httpapi.New(httpapi.Options{
		Queue: q, Token: token, AllowedHosts: o.allowedHosts, AllowedOrigins: o.allowedOrigins, Version: build(), Now: r.proc.Now, Log: log,
		Metrics: r.seen.Handler(),
		Checks: []httpapi.Check{
			{Name: "database", Run: q.Ping},
			{Name: "skills", Run: func(context.Context) error { return t.ready() }},
		},
	})
	if err != nil {
		return err
	}
	return r.serveUntil(ctx, o, q, api, log)
}

// serveUntil listens and works until ctx ends, and then ends in order: not ready, no new
// firings, running turns, listeners. An end by a signal is no failure.
func (r *run) serveUntil(ctx context.Context, o serveOptions, q *jobs.Queue, api *httpapi.Server, log *slog.Logger) error {
	s := &listeners{log: log, addrs: []string{}}
	if roles[o.role].api {
		if err := s.listen(o.addr, api.Handler(), o.tlsCert, o.tlsKey); err != nil {
			return err
		}
	}
	if o.adminAddr != "" {
		if err := s.listen(o.adminAddr, api.Admin(), "", ""); err != nil {
			s.close()
			return err
		}
	}
	if err := s.announce(r.portFile(o.portFile)); err != nil {
		s.close()
		return err
	}
	if r.globals.json {
		r.printJSON(serveJSON{q.Replica(), o.role, s.addrs})
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	worked := make(chan error, 1)
	if roles[o.role].work { // nothing fails between here and the end in order, which waits for it
		go func() { worked <- q.Work(work) }()
	}
	var err error
	early := false
	select {
	case <-ctx.Done():
	case err = <-worked:
		early = true
	case err = <-s.failed():
	}
	log.Info("stopping", "category", "serve", "event", "stopping")
	api.Drain()
	stop()
	if roles[o.role].work && !early {
		err = errors.Join(err, <-worked)
	}
	s.close()
	log.Info("stopped", "category", "serve", "event", "stopped")
	if ctx.Err() != nil && err == nil {
		r.note(Done)
	}
	return err
}

func (r *run) portFile(path string) string {
	if path == "" {
		return ""
	}
	return r.abs(path)
}

// listeners are the listeners of one process.
type listeners struct {
	log   *slog.Logger
	all   []*http.Server
	addrs []string
	errs  chan error
	group sync.WaitGroup
}

func (s *listeners) failed() <-chan error { return s.errs }

func (s *listeners) listen(addr string, h http.Handler, cert, key string) error {
	if s.errs == nil {
		s.errs = make(chan error, 2)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fail(Busy, "serve_address", "address %s: %v", addr, err)
	}
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: httpapi.HeaderTimeout, IdleTimeout: httpapi.IdleTimeout, MaxHeaderBytes: httpapi.MaxHeader,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.all, s.addrs = append(s.all, srv), append(s.addrs, l.Addr().String())
	s.group.Go(func() {
		var err error
		if cert != "" {
			err = srv.ServeTLS(l, cert, key)
		} else {
			err = srv.Serve(l)
		}
		if !errors.Is(err, http.ErrServerClosed) {
			s.errs <- fail(Network, "serve_address", "address %s: %v", addr, err)
		}
	})
	return nil
}

// announce says where it listens, for whoever started it.
func (s *listeners) announce(file string) error {
	s.log.Info("listening", "category", "serve", "event", "listening", "addresses", s.addrs)
	if file == "" {
		return nil
	}
	return atomicfile.Write(file, []byte(strings.Join(s.addrs, "\n")+"\n"), 0o600)
}

// closeTime is how long answers under way may take at the end.
const closeTime = 2 * time.Second

func (s *listeners) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	for _, srv := range s.all {
		if srv.Shutdown(ctx) != nil {
			_ = srv.Close()
		}
	}
	s.group.Wait()
}

// token is what proves that a program may post signals: that of a file the person names,
// else one of the run directory, made at the first start and readable by its owner alone.
func (r *run) token(file string) (string, error) {
	path := filepath.Join(r.dirs.Run, "token")
	if file != "" {
		path = r.abs(file)
	}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && file == "":
		return r.newToken(path)
	case err != nil:
		return "", usage("token: %v", err)
	}
	if token := strings.TrimSpace(string(text)); len(token) >= 32 {
		return token, nil
	}
	return "", usage("token: %s holds less than 32 characters", path)
}

func (r *run) newToken(path string) (string, error) {
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	token := hex.EncodeToString(b[:])
	if err := makeDir(filepath.Dir(path)); err != nil {
		return "", err
	}
	// A file that another process made meanwhile stays: both serve with one token.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return r.token("")
	}
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(token + "\n")
	return token, errors.Join(err, f.Close())
}

// logHandler writes JSON lines to standard error. What a line says of strangers' texts is
// escaped by JSON.
func logHandler(r *run) slog.Handler {
	level := slog.LevelInfo
	switch {
	case r.globals.verbose:
		level = slog.LevelDebug
	case r.globals.quiet:
		level = slog.LevelWarn
	}
	return slog.NewJSONHandler(lines{r.err}, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			a.Key = "ts"
		}
		return a
	}})
}

// lines hands whole lines to the printing door.
type lines struct{ p *safetext.Printer }

// Write implements io.Writer.
func (l lines) Write(line []byte) (int, error) {
	l.p.Bytes(slices.Clone(line))
	return len(line), nil
}
