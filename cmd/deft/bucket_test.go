//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/internal/cli"
	"github.com/deftskills/deft/internal/pgtest"
	"github.com/deftskills/deft/internal/s3test"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store/blobs"
)

// fleetMachine is a home whose published files are in a bucket.
type fleetMachine struct {
	t       *testing.T
	home    string
	environ []string
	ahead   time.Duration // of the machine's clock
}

func newFleetMachine(t *testing.T, b *s3test.Bucket) *fleetMachine {
	home := t.TempDir()
	m := &fleetMachine{t: t, home: home, environ: []string{"HOME=" + home, "DEFT_HOME=" + home, "LANG=en"}}
	if b == nil {
		return m
	}
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
		Now: func() time.Time { return time.Now().Add(m.ahead) }, Places: buckets,
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
			var said struct {
				Checks []struct{ ID, Message string }
			}
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

// garbage collects and returns the numbers of each place: kept young marked waiting freed.
func (m *fleetMachine) garbage(args ...string) (places []string) {
	m.t.Helper()
	out, _ := m.deft(cli.Done, append([]string{"doctor", "--gc", "--json"}, args...)...)
	var said struct {
		Garbage []struct{ Kept, Young, Marked, Waiting, Freed struct{ Blobs int } }
	}
	if err := json.Unmarshal([]byte(out), &said); err != nil {
		m.t.Fatal(err)
	}
	for _, g := range said.Garbage {
		places = append(places, fmt.Sprint(g.Kept.Blobs, g.Young.Blobs, g.Marked.Blobs, g.Waiting.Blobs, g.Freed.Blobs))
	}
	return places
}

// skill writes a skill of two files and returns its folder.
func (m *fleetMachine) skill(name string) string {
	m.t.Helper()
	dir := filepath.Join(m.home, "src", name)
	for file, text := range map[string]string{"SKILL.md": "---\nname: " + name + "\ndescription: Does " + name + ". Use when asked for it.\nlicense: MIT\n---\nBody.\n", "a.txt": name} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			m.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			m.t.Fatal(err)
		}
	}
	return dir
}

func (m *fleetMachine) expect(what string, got []string, want ...string) {
	m.t.Helper()
	if !slices.Equal(got, want) {
		m.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestGarbageOfThisMachineGoesAndWhatIsNeededStays(t *testing.T) {
	t.Parallel()
	m := newFleetMachine(t, nil)
	m.deft(cli.Done, "publish", m.skill("published"))
	m.deft(cli.Done, "add", m.skill("installed"), "--global", "--agent", "deft", "--yes", "--accept-unlicensed")
	own := &blobs.Dir{Path: filepath.Join(m.home, "data", "blobs")}
	if _, err := own.Put(t.Context(), []byte("garbage")); err != nil {
		t.Fatal(err)
	}
	m.expect("new", m.garbage(), "4 1 0 0 0")
	m.ahead += 48 * time.Hour
	m.expect("dry", m.garbage("--dry-run"), "4 0 1 0 0")
	m.expect("old", m.garbage(), "4 0 1 0 0")
	m.expect("marked", m.garbage(), "4 0 0 1 0")
	m.ahead += 48 * time.Hour
	m.expect("dry", m.garbage("--dry-run"), "4 0 0 0 1")
	out, _ := m.deft(cli.Done, "doctor", "--gc")
	if !strings.Contains(out, "1 freed (7 bytes)") {
		t.Errorf("%s", out)
	}
	m.expect("after it", m.garbage(), "4 0 0 0 0")
	m.deft(cli.Done, "verify")
	m.deft(cli.Done, "remove", "installed", "--global", "--agent", "deft", "--yes")
	m.deft(cli.Done, "add", "deft:published", "--global", "--agent", "deft", "--yes", "--accept-unlicensed")
	// With another database nothing is told of what this one needs.
	if _, said := m.deft(cli.Refused, "doctor", "--gc", "--db", "sqlite:"+filepath.Join(m.home, "other.db")); !strings.Contains(said, "--db") {
		t.Errorf("%s", said)
	}
}

func TestGarbageOfABucketGoesAndWhatIsNeededStays(t *testing.T) {
	t.Parallel()
	s3test.Each(t, func(t *testing.T, bucket func(testing.TB) *s3test.Bucket) {
		b := bucket(t)
		m := newFleetMachine(t, b)
		m.environ = append(m.environ, "DEFT_BLOBS="+b.Address, "DEFT_DB="+pgtest.URL(t))
		garbage := skill.FileDigest([]byte("garbage"))
		hex := strings.TrimPrefix(string(garbage), "sha256:")
		b.Write(t, "sha256/"+hex[:2]+"/"+hex[2:], []byte("garbage"))
		if _, said := m.deft(cli.Refused, "doctor", "--gc"); !strings.Contains(said, "--db") {
			t.Errorf("of a bucket that another database may need: %s", said)
		}
		m.deft(cli.Done, "publish", m.skill("published"))
		m.expect("new", m.garbage(), "0 0 0 0 0", "2 1 0 0 0")
		m.ahead += 48 * time.Hour
		m.expect("old", m.garbage(), "0 0 0 0 0", "2 0 1 0 0")
		m.ahead += 48 * time.Hour
		m.expect("marked", m.garbage(), "0 0 0 0 0", "2 0 0 0 1")
		if keys := b.Keys(t); len(keys) != 2 {
			t.Errorf("%q", keys)
		}
		// Another machine installs it from there.
		other := newFleetMachine(t, b)
		other.environ = append(other.environ, m.environ[len(m.environ)-2:]...)
		other.deft(cli.Done, "add", "deft:published", "--global", "--agent", "deft", "--yes", "--accept-unlicensed")
		got, err := os.ReadFile(filepath.Join(other.home, "data", "skills", "published", "a.txt"))
		if err != nil || string(got) != "published" {
			t.Errorf("%q %v", got, err)
		}
		// What was read once is near by, and the bucket's damage is not believed.
		if b.Proxy != nil {
			b.Proxy.Fail(s3test.Change)
			third := newFleetMachine(t, b)
			third.environ = append(third.environ, m.environ[len(m.environ)-2:]...)
			_, said := third.deft(cli.Damaged, "add", "deft:published", "--global", "--agent", "deft", "--yes", "--accept-unlicensed")
			if !strings.Contains(said, "sha256:") {
				t.Errorf("%s", said)
			}
		}
	})
}

func TestACollectionThatIsKilledIsEndedByTheNext(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"gc.mark=kill@1", "gc.mark=kill@2", "gc.delete=kill@1", "gc.delete=kill@2"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			m := newFleetMachine(t, nil)
			m.deft(cli.Done, "publish", m.skill("published"))
			own := &blobs.Dir{Path: filepath.Join(m.home, "data", "blobs")}
			d, err := own.Put(t.Context(), []byte("garbage"))
			if err != nil {
				t.Fatal(err)
			}
			hex := strings.TrimPrefix(string(d), "sha256:")
			long := time.Now().Add(-240 * time.Hour)
			if err := os.Chtimes(filepath.Join(own.Path, "sha256", hex[:2], hex[2:]), long, long); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(point, "gc.delete") {
				m.ahead = -120 * time.Hour
				m.expect("marked", m.garbage(), "2 0 1 0 0")
				m.ahead = 0
			}
			killed := exec.Command("deft", "doctor", "--gc")
			killed.Env, killed.Dir = append(m.environ, "DEFT_FAULT="+point), m.home
			if out, err := killed.CombinedOutput(); err == nil || killed.ProcessState.ExitCode() != -1 {
				t.Fatalf("it was not killed: %v\n%s", err, out)
			}
			for range 2 {
				m.ahead += 48 * time.Hour
				m.garbage()
			}
			m.expect("after it", m.garbage(), "2 0 0 0 0")
			if ok, err := own.Has(t.Context(), d); ok || err != nil {
				t.Errorf("%v %v", ok, err)
			}
			m.deft(cli.Done, "add", "deft:published", "--global", "--agent", "deft", "--yes")
		})
	}
}
