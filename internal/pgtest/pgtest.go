package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// shared is the server of this test binary: its administrator's address and how to make
// that of a role's database.
type shared struct {
	admin   string
	address func(database string) string
	count   atomic.Int64
	prefix  string
}

// The one server, and the templates on it. They are made when a test first asks.
var (
	theServer = sync.OnceValues(newShared)
	templates sync.Map // name → func() error
)

func newShared() (*shared, error) {
	s := &shared{prefix: fmt.Sprintf("deft_%d", os.Getpid())}
	if given := os.Getenv("DEFT_TEST_POSTGRES"); given != "" {
		u, err := url.Parse(given)
		if err != nil {
			return nil, errors.New("DEFT_TEST_POSTGRES is no address")
		}
		s.admin = given
		s.address = func(database string) string {
			own := *u
			own.Path, own.User = "/"+database, url.UserPassword(role, role)
			return own.String()
		}
	} else {
		c, err := newCluster()
		if err != nil {
			return nil, err
		}
		s.admin = c.address(superuser, "postgres")
		s.address = func(database string) string { return c.address(role, database) }
	}
	return s, makeRole(s.admin)
}

// makeRole makes the ordinary role that owns the databases of tests. Several test
// binaries may do so at once on a given server.
func makeRole(admin string) error {
	return execute(admin, `DO $$ BEGIN
  CREATE ROLE `+role+` LOGIN CREATEDB NOSUPERUSER NOBYPASSRLS PASSWORD '`+role+`';
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`)
}

func execute(address string, statements ...string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err = conn.Exec(ctx, statement); err != nil {
			err = fmt.Errorf("%s: %w", statement, err)
			break
		}
	}
	return errors.Join(err, conn.Close(ctx))
}

// server returns the server of this test binary, and skips t when there can be none.
func server(t testing.TB) *shared {
	t.Helper()
	s, err := theServer()
	if errors.Is(err, errNoPrograms) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// URL returns the address of an empty database, which goes with the test. Its role is
// an ordinary one that owns the database and nothing else.
func URL(t testing.TB) string {
	t.Helper()
	return server(t).database(t, "template1")
}

// From returns the address of a database like the one that prepare made when it was
// first called for this name, for tests whose preparation takes long: it is copied.
// Prepare leaves no connection to its database open.
func From(t testing.TB, name string, prepare func(address string) error) string {
	t.Helper()
	s := server(t)
	template := s.prefix + "_from_" + name
	once, _ := templates.LoadOrStore(name, sync.OnceValue(func() error {
		if err := execute(s.admin, "CREATE DATABASE "+template+" OWNER "+role); err != nil {
			return err
		}
		return prepare(s.address(template))
	}))
	if err := once.(func() error)(); err != nil {
		t.Fatal(err)
	}
	return s.database(t, template)
}

func (s *shared) database(t testing.TB, template string) string {
	t.Helper()
	name := fmt.Sprintf("%s_%d", s.prefix, s.count.Add(1))
	if err := execute(s.admin, "CREATE DATABASE "+name+" OWNER "+role+" TEMPLATE "+template); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := execute(s.admin, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return s.address(name)
}

// Server is a server of one test, which may stop it.
type Server struct {
	t testing.TB
	c *cluster
}

// New starts a server for one test. It goes with the test.
func New(t testing.TB) *Server {
	t.Helper()
	c, err := newCluster()
	if errors.Is(err, errNoPrograms) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.end() })
	s := &Server{t, c}
	s.Execute("CREATE ROLE "+role+" LOGIN NOSUPERUSER", "CREATE DATABASE deft OWNER "+role)
	return s
}

// URL returns the address of the server's one database, for an ordinary role.
func (s *Server) URL() string { return s.c.address(role, role) }

// Execute runs statements as the administrator.
func (s *Server) Execute(statements ...string) {
	s.t.Helper()
	if err := execute(s.c.address(superuser, "postgres"), statements...); err != nil {
		s.t.Fatal(err)
	}
}

// Stop ends every session and the server, and returns when it is gone.
func (s *Server) Stop() { s.t.Helper(); s.must(s.c.stop("fast")) }

// Kill ends the server as a crash does.
func (s *Server) Kill() { s.t.Helper(); s.must(s.c.stop("immediate")) }

// Start starts a stopped server again, with its data, and returns when it answers.
func (s *Server) Start() { s.t.Helper(); s.must(s.c.start()) }

func (s *Server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
