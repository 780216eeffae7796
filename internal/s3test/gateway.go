package s3test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// The keys of the servers that tests start.
const (
	keyID  = "deft-test"
	secret = "deft-test-secret"
)

// errNoProgram says that the gateway is not on this machine, and how to get it.
var errNoProgram = errors.New("covered only where the gateway is: (cd tools && go build -o FOLDER/versitygw ./versitygw), " +
	"and put FOLDER into PATH or set DEFT_TEST_VERSITYGW=FOLDER/versitygw")

// The one gateway of this test binary. It is started when a test first asks.
var theGateway = sync.OnceValues(newGateway)

// gateway is a process that serves a folder on a Unix socket.
type gateway struct {
	socket string
	leash  *os.File // the watchdog ends the gateway when this closes
}

func (g *gateway) dial(ctx context.Context) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", g.socket)
}

func program() (string, error) {
	if given := os.Getenv("DEFT_TEST_VERSITYGW"); given != "" {
		return filepath.Abs(given)
	}
	if at, err := exec.LookPath("versitygw"); err == nil {
		return at, nil
	}
	return "", errNoProgram
}

// watchdog starts the gateway, and ends it as soon as its own input ends, whose other end
// only the test's process holds. The files go with the gateway.
const watchdog = `exec 3<&0; "$1" posix "$2/data" 3<&- & pid=$!
(read x <&3; kill -9 $pid) >/dev/null 2>&1 &
exec 3<&-; wait $pid; cd /; rm -rf "$2"`

func newGateway() (*gateway, error) {
	at, err := program()
	if err != nil {
		return nil, err
	}
	// Not a test's folder: its name may be too long for a socket, and it goes too early.
	dir, err := os.MkdirTemp("", "defts3")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"data", "meta"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return nil, err
		}
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	g := &gateway{socket: filepath.Join(dir, "socket"), leash: write}
	cmd := exec.Command("/bin/sh", "-c", watchdog, "deft-s3test", at, dir)
	cmd.Stdin, cmd.Dir = read, "/"
	said, err := os.Create(filepath.Join(dir, "said")) // a pipe would need a reader as long as it runs
	if err != nil {
		return nil, err
	}
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+keyID, "ROOT_SECRET_KEY="+secret, "VGW_PORT="+g.socket,
		"VGW_META_SIDECAR="+filepath.Join(dir, "meta"), "VGW_QUIET=true", "VGW_REGION=us-east-1")
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go outlive(cmd, ended)
	return g, g.ready(ended, said)
}

// outlive waits for the gateway, which ends after the last test does: a test binary that
// looks for leaks leaves this one function out.
func outlive(cmd *exec.Cmd, ended chan<- error) { ended <- cmd.Wait() }

// ready returns when the gateway takes connections, or has ended.
func (g *gateway) ready(ended <-chan error, said io.ReaderAt) error {
	look := time.NewTicker(10 * time.Millisecond) // it says nothing when it is ready
	defer look.Stop()
	for {
		if conn, err := net.Dial("unix", g.socket); err == nil {
			return conn.Close()
		}
		select {
		case err := <-ended:
			text, _ := io.ReadAll(io.NewSectionReader(said, 0, 64<<10)) // its folder is gone by now
			return fmt.Errorf("gateway: it ended: %v\n%s", err, text)
		case <-look.C:
		}
	}
}

// running returns the gateway of this test binary, and skips t when there can be none.
func running(t testing.TB) *gateway {
	t.Helper()
	g, err := theGateway()
	if errors.Is(err, errNoProgram) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}
