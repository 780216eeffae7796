package pgtest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// superuser owns the server; tests work as role, which row-level security binds.
const (
	superuser = "postgres"
	role      = "deft"
)

// errNoPrograms says that there is no PostgreSQL on this machine, and how to get it.
var errNoPrograms = errors.New("covered only where PostgreSQL is: install it (apt-get install postgresql, " +
	"brew install postgresql) or set DEFT_TEST_POSTGRES to the address of a server")

// places are folders of programs that packages leave out of PATH.
var places = []string{"/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/pgsql-*/bin"}

// programs returns the folder with initdb, pg_ctl and postgres.
func programs() (string, error) {
	var dirs []string
	for _, name := range []string{"initdb", "postgres"} {
		if path, err := exec.LookPath(name); err == nil {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				path = real
			}
			dirs = append(dirs, filepath.Dir(path))
		}
	}
	for _, pattern := range places {
		found, _ := filepath.Glob(pattern)
		for i := len(found) - 1; i >= 0; i-- {
			dirs = append(dirs, found[i])
		}
	}
	for _, dir := range dirs {
		whole := true
		for _, name := range []string{"initdb", "pg_ctl", "postgres"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				whole = false
			}
		}
		if whole {
			return dir, nil
		}
	}
	return "", errNoPrograms
}

// cluster is a server that this process started.
type cluster struct {
	bin, dir string
	account  *account // nil = the own one
	leash    *os.File // the watchdog stops the server when this closes
}

// newCluster makes the files of a server and starts it.
func newCluster() (*cluster, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	c := &cluster{bin: bin}
	if c.account, err = unprivileged(); err != nil {
		return nil, err
	}
	// Not a test's folder: its name may be too long for a socket, and it goes too early.
	if c.dir, err = os.MkdirTemp("", "deftpg"); err != nil {
		return nil, err
	}
	if err := c.account.own(c.dir); err != nil {
		return nil, err
	}
	if err := c.watch(); err != nil {
		return nil, err
	}
	if err := c.run("initdb", "-D", c.data(), "-U", superuser, "-E", "UTF8", "--locale=C", "--auth=trust", "--no-sync", "--no-instructions"); err != nil {
		return nil, err
	}
	return c, c.start()
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

// run runs one of the programs. What it says goes to a file: a pipe would stay open in
// the server that it leaves behind.
func (c *cluster) run(program string, args ...string) error {
	log := filepath.Join(c.dir, "log")
	out, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(filepath.Join(c.bin, program), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, out, out
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PGUSER="+superuser)
	c.account.take(cmd)
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(log)
		return fmt.Errorf("%s: %w\n%s", program, err, text)
	}
	return nil
}

func (c *cluster) start() error {
	options := []string{
		"-c listen_addresses=''", "-c unix_socket_directories='" + c.dir + "'", "-c max_connections=200",
		"-c fsync=off", "-c synchronous_commit=off", "-c full_page_writes=off", "-c shared_buffers=32MB",
		"-c autovacuum=off",
	}
	return c.run("pg_ctl", "start", "-D", c.data(), "-w", "-t", "120", "-s", "-o", strings.Join(options, " "), "-l", filepath.Join(c.dir, "server.log"))
}

// stop ends the server: mode fast ends its sessions first, immediate is a crash.
func (c *cluster) stop(mode string) error {
	return c.run("pg_ctl", "stop", "-D", c.data(), "-w", "-t", "120", "-s", "-m", mode)
}

// watch starts a process that stops the server and removes its files as soon as this
// one has ended: it reads from a pipe whose other end only this process holds.
func (c *cluster) watch() error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	cmd := exec.Command("/bin/sh", "-c", `read x; "$1/pg_ctl" stop -D "$2/data" -w -s -m immediate; cd /; rm -rf "$2"`, "deft-pgtest", c.bin, c.dir)
	cmd.Stdin, cmd.Dir = read, "/"
	c.account.take(cmd)
	detach(cmd)
	c.leash = write
	return cmd.Start()
}

// end stops the server now.
func (c *cluster) end() error { return c.leash.Close() }

// address of a database; it says nothing of the machine but the folder of the socket.
func (c *cluster) address(user, database string) string {
	return "postgres://" + user + "@/" + database + "?host=" + url.QueryEscape(c.dir)
}
