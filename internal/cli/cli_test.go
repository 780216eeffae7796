package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft/internal/cli/text"
)

// try runs verbs in a home of its own.
func try(t *testing.T, ctx context.Context, verbs []verb, args ...string) (Exit, string, string) {
	t.Helper()
	var out, err bytes.Buffer
	exit := runVerbs(ctx, Process{
		Args: args, Environ: []string{"HOME=" + t.TempDir()}, Dir: t.TempDir(), GOOS: "linux",
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err, Now: func() time.Time { return time.Unix(0, 0) },
	}, verbs)
	return exit, out.String(), err.String()
}

// verbThat makes one verb of a function.
func verbThat(run func(ctx context.Context, r *run, args []string) error) []verb {
	return []verb{{name: "try", max: -1, group: groupHouse, run: run}, helpVerb()}
}

func TestEachErrorEndsWithItsExitCode(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		note []Exit
		want Exit
		code string
	}{
		"done":           {nil, nil, Done, ""},
		"negative":       {errNegative, nil, Negative, ""},
		"usage":          {usage("x"), nil, Usage, "usage"},
		"partial":        {nil, []Exit{Partial}, Partial, ""},
		"busy":           {fail(Busy, "lock_held", "lock held"), nil, Busy, "lock_held"},
		"damaged":        {fail(Damaged, "store_damaged", "record damaged"), nil, Damaged, "store_damaged"},
		"worst of two":   {errNegative, []Exit{Partial}, Partial, ""},
		"worst of three": {fail(Network, "model", "gone"), []Exit{Busy, Damaged, Done}, Damaged, "model"},
		"cancelled":      {context.Canceled, nil, Interrupted, "interrupted"},
		"time is up":     {context.DeadlineExceeded, nil, Partial, "timeout"},
		"unknown error":  {errors.New("surprise"), nil, Negative, "error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, out, _ := try(t, t.Context(), verbThat(func(_ context.Context, r *run, _ []string) error {
				for _, e := range tt.note {
					r.note(e)
				}
				return tt.err
			}), "try", "--json")
			var doc struct{ Error struct{ Code string } }
			if out != "" {
				if err := json.Unmarshal([]byte(out), &doc); err != nil {
					t.Fatalf("%v in %q", err, out)
				}
			}
			if got != tt.want || doc.Error.Code != tt.code {
				t.Errorf("exit %d with code %q, want %d with %q", got, doc.Error.Code, tt.want, tt.code)
			}
		})
	}
}

func TestWorstFollowsTheTable(t *testing.T) {
	t.Parallel()
	order := []Exit{Damaged, Network, Busy, Refused, Usage, Partial, Negative, Done}
	for i, worse := range order {
		for _, better := range order[i:] {
			if got := worst(better, worse); got != worse {
				t.Errorf("worst(%d, %d) = %d", better, worse, got)
			}
		}
	}
	if got := worst(); got != Done {
		t.Errorf("worst() = %d", got)
	}
}

func TestAPanicNamesItsLog(t *testing.T) {
	t.Parallel()
	exit, _, errText := try(t, t.Context(), verbThat(func(context.Context, *run, []string) error { panic("boom\x1b[31m") }), "try")
	path := regexp.MustCompile(`log (\S+\.log)`).FindStringSubmatch(errText)
	if exit != Fault || path == nil {
		t.Fatalf("exit %d, %q", exit, errText)
	}
	log, err := os.ReadFile(path[1])
	if err != nil || !bytes.Contains(log, []byte("boom")) || !bytes.Contains(log, []byte("cli_test.go")) {
		t.Errorf("log: %v %.200s", err, log)
	}
	if strings.Contains(errText, "\x1b") {
		t.Errorf("a raw escape in %q", errText)
	}
}

func TestTimeoutAndInterruptReachTheVerb(t *testing.T) {
	t.Parallel()
	wait := verbThat(func(ctx context.Context, r *run, args []string) error {
		r.talking = len(args) > 0
		<-ctx.Done()
		return ctx.Err()
	})
	if exit, _, _ := try(t, t.Context(), wait, "try", "--timeout", "1ms"); exit != Partial {
		t.Errorf("timeout: exit %d", exit)
	}
	if exit, _, _ := try(t, t.Context(), wait, "try", "provider", "--timeout", "1ms"); exit != Network {
		t.Errorf("timeout of a provider: exit %d", exit)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if exit, _, _ := try(t, ctx, wait, "try"); exit != Interrupted {
		t.Errorf("interrupt: exit %d", exit)
	}
}

func TestAVerbCannotWriteWithoutSayingSo(t *testing.T) {
	t.Parallel()
	exit, _, errText := try(t, t.Context(), verbThat(func(_ context.Context, r *run, _ []string) error {
		return r.files().Write(t.TempDir()+"/x", nil, 0o600)
	}), "try")
	if exit == Done || !strings.Contains(errText, "declares no writes") {
		t.Errorf("exit %d, %q", exit, errText)
	}
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestAClosedPipeIsQuietAFullDiskIsNot(t *testing.T) {
	t.Parallel()
	for want, out := range map[Exit]io.Writer{Done: closedPipe{}, Partial: fullDisk{}} {
		var errText bytes.Buffer
		exit := Run(t.Context(), Process{
			Args: []string{"version"}, Environ: []string{"HOME=/h"}, Dir: "/", GOOS: "linux",
			Stdin: strings.NewReader(""), Stdout: out, Stderr: &errText, Now: time.Now,
		})
		if exit != want || (errText.Len() > 0) != (want == Partial) {
			t.Errorf("%T: exit %d, %q", out, exit, errText.String())
		}
	}
}

func TestBothLanguagesSayTheSame(t *testing.T) {
	t.Parallel()
	en, zh := text.Load("en"), text.Load("zh")
	keys := func(w text.Words) []string {
		var list []string
		for k := range w {
			list = append(list, k)
		}
		slices.Sort(list)
		return list
	}
	if diff := cmp.Diff(keys(en), keys(zh)); diff != "" {
		t.Error(diff)
	}
	places := regexp.MustCompile(`%[-+# 0]*\d*(\.\d+)?[a-zA-Z%]`)
	for k := range en {
		if diff := cmp.Diff(places.FindAllString(en[k], -1), places.FindAllString(zh[k], -1)); diff != "" {
			t.Errorf("%s: places differ: %s", k, diff)
		}
	}
}

// Every key that the code asks for is in the catalogue, and no other is. A literal
// that ends in "." or "_" is the beginning of keys.
func TestTheCatalogueIsWhole(t *testing.T) {
	t.Parallel()
	en := text.Load("en")
	said := map[string]bool{"error": true, "warning": true, "info": true, "language": true}
	var begun []string
	asked := regexp.MustCompile(`(?:Say|hinted)\("([a-z_.]+)"[,)]`)
	literal := regexp.MustCompile(`"([a-z]+[a-z_.]*)"`)
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		src, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range asked.FindAllStringSubmatch(string(src), -1) {
			if _, ok := en[m[1]]; !ok {
				t.Errorf("%s: no words for %q", f.Name(), m[1])
			}
		}
		for _, m := range literal.FindAllStringSubmatch(string(src), -1) {
			said[m[1]] = true
			if strings.HasSuffix(m[1], ".") || strings.HasSuffix(m[1], "_") {
				begun = append(begun, m[1])
			}
		}
	}
	for k := range en {
		if !said[strings.TrimSuffix(k, ".one")] && !slices.ContainsFunc(begun, func(b string) bool { return strings.HasPrefix(k, b) }) {
			t.Errorf("nobody says %q", k)
		}
	}
}

func TestEachVerbIsDescribed(t *testing.T) {
	t.Parallel()
	var check func(prefix string, list []verb)
	check = func(prefix string, list []verb) {
		for _, v := range list {
			name := prefix + v.name
			if v.short == "" || v.short[0] >= 'A' && v.short[0] <= 'Z' || strings.HasSuffix(v.short, ".") {
				t.Errorf("%s: short help %q", name, v.short)
			}
			if v.run == nil && len(v.below) == 0 {
				t.Errorf("%s does nothing", name)
			}
			check(name+" ", v.below)
		}
	}
	check("", verbs())
}

func TestClosestNames(t *testing.T) {
	t.Parallel()
	list := []string{"list", "lint", "explain", "export", "eval"}
	for name, want := range map[string][]string{
		"lst": {"list", "lint"}, "ilst": {"list", "lint"}, "exp": {"export", "explain"}, "zzz": nil, "": nil, "évla": {"eval"},
	} {
		if diff := cmp.Diff(want, closest(name, list, 3)); diff != "" {
			t.Errorf("%q: %s", name, diff)
		}
	}
}
