package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/internal/cli"
	"github.com/deftskills/deft/internal/s3test"
)

// fleetMachine is a home whose published files are in a bucket.
type fleetMachine struct {
	t       *testing.T
	home    string
	bucket  *s3test.Bucket
	environ []string
}

func newFleetMachine(t *testing.T, b *s3test.Bucket) *fleetMachine {
	home := t.TempDir()
	m := &fleetMachine{t: t, home: home, bucket: b, environ: []string{"HOME=" + home, "DEFT_HOME=" + home, "LANG=en"}}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"} {
		m.environ = append(m.environ, name+"="+b.Env(name))
	}
	return m
}

// deft runs the program and returns what it says.
func (m *fleetMachine) deft(want cli.Exit, args ...string) (out, errs string) {
	m.t.Helper()
	var stdout, stderr bytes.Buffer
	exit := cli.Run(m.t.Context(), cli.Process{
		Args: args, Environ: m.environ, Dir: m.home, GOOS: "linux", Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Now: time.Now, Places: buckets,
	})
	if exit != want {
		m.t.Fatalf("deft %s: exit %d, want %d\n%s%s", strings.Join(args, " "), exit, want, &stdout, &stderr)
	}
	return stdout.String(), stderr.String()
}

func TestDoctorCountsWhatIsInTheBucket(t *testing.T) {
	t.Parallel()
	s3test.Each(t, func(t *testing.T, bucket func(testing.TB) *s3test.Bucket) {
		b := bucket(t)
		m := newFleetMachine(t, b)
		b.Write(t, "sha256/aa/"+strings.Repeat("a", 62), []byte("hello"))
		count := func(args ...string) (own, far string) {
			out, _ := m.deft(cli.Done, append(args, "doctor", "--json")...)
			var said struct{ Checks []struct{ ID, Message string } }
			if err := json.Unmarshal([]byte(out), &said); err != nil {
				t.Fatal(err)
			}
			for _, c := range said.Checks {
				if c.ID == "blobs" && strings.Contains(c.Message, "s3://") {
					far = c.Message
				} else if c.ID == "blobs" {
					own = c.Message
				}
			}
			return own, far
		}
		if own, far := count(); !strings.HasPrefix(own, "0 blobs, 0 bytes, in ") || far != "" {
			t.Errorf("%q %q", own, far)
		}
		if own, far := count("--blobs", b.Address); !strings.HasPrefix(own, "0 blobs") || !strings.HasPrefix(far, "1 blobs, 5 bytes, in s3://") {
			t.Errorf("%q %q", own, far)
		}
		if err := os.MkdirAll(filepath.Join(m.home, "config"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(m.home, "config", "config.yaml"), []byte("blobs: \""+b.Address+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, far := count(); !strings.HasPrefix(far, "1 blobs") {
			t.Errorf("%q", far)
		}
		if out, _ := m.deft(cli.Done, "config"); !strings.Contains(out, "blobs") || !strings.Contains(out, "s3://") {
			t.Errorf("%s", out)
		}
		if own, far := count("--blobs", "file:"+filepath.Join(m.home, "data", "blobs")); own == "" || far != "" {
			t.Errorf("a flag goes before the file: %q %q", own, far)
		}
		out, _ := m.deft(cli.Negative, "--blobs", "s3://key:hush@bucket", "doctor")
		if !strings.Contains(out, "store_dsn") || strings.Contains(out, "hush") {
			t.Errorf("%s", out)
		}
	})
}
