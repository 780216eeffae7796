package pgtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

const child = "DEFT_TEST_CHILD"

// The child of TestAKilledTestLeavesNoServer: it starts a server and waits to be killed.
func TestChildHoldsAServer(t *testing.T) {
	if os.Getenv(child) == "" {
		return // it does nothing by itself
	}
	fmt.Println("address " + New(t).URL())
	_, _ = io.ReadAll(os.Stdin)
}

func TestAKilledTestLeavesNoServer(t *testing.T) {
	t.Parallel()
	_ = URL(t) // skips where there is no PostgreSQL
	cmd := exec.Command(os.Args[0], "-test.run=^TestChildHoldsAServer$")
	cmd.Env = append(os.Environ(), child+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := ""
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		address, _ = strings.CutPrefix(lines.Text(), "address ")
		if !strings.HasPrefix(address, "postgres://") {
			address = ""
		}
	}
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	// Nobody else ends this: it comes back when the server is gone.
	if _, err := conn.WaitForNotification(t.Context()); err == nil || t.Context().Err() != nil {
		t.Errorf("%v", err)
	}
}

func TestDatabasesAreOnesOwn(t *testing.T) {
	t.Parallel()
	made := 0
	prepare := func(address string) error {
		made++
		return execute(address, "CREATE TABLE x (n INT)", "INSERT INTO x VALUES (1)")
	}
	first, second, empty := From(t, "x", prepare), From(t, "x", prepare), URL(t)
	if err := execute(first, "DELETE FROM x"); err != nil {
		t.Error(err)
	}
	conn, err := pgx.Connect(t.Context(), second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var n int
	var super bool
	if err := conn.QueryRow(t.Context(), "SELECT count(*), (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) FROM x").Scan(&n, &super); err != nil || n != 1 || made != 1 || super {
		t.Errorf("%d rows, made %d times, superuser %v, %v", n, made, super, err)
	}
	if err := execute(empty, "SELECT * FROM x"); err == nil {
		t.Error("a new database is not empty")
	}
}
