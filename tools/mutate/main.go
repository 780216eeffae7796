// Command mutate changes a package in one place at a time, as a mistake would, and tells
// which changes its tests do not notice.
//
//	mutate [-max 150] [-least 90] [-list] DIR
//
// A mutant is a flipped condition, a bound that is off by one, a return that is dropped, a
// swapped verdict, tier or table row. Each is compiled with an overlay, so that no file is
// touched, and run with -short. One that does not compile is none; one that hangs is killed.
// Survivors stand with a reason in DIR/testdata/mutants.tsv; one that does not is marked. The
// exit code is 1 where fewer than the least are killed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// runFor is how long the tests of one mutant may take before it counts as hanging.
const runFor = 3 * time.Minute

func main() {
	most := flag.Int("max", 150, "mutants to try, spread over the package")
	least := flag.Int("least", 90, "percent that have to be killed")
	list := flag.Bool("list", false, "print the mutants that would be tried and stop")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	ok, err := run(flag.Arg(0), *most, *least, *list)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(dir string, most, least int, list bool) (ok bool, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return false, err
	}
	all, err := mutantsOf(dir)
	if err != nil {
		return false, err
	}
	known, err := readKnown(filepath.Join(dir, "testdata", "mutants.tsv"))
	if err != nil {
		return false, err
	}
	tmp, err := os.MkdirTemp("", "mutate-*")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(tmp)
	if !list {
		// What nothing was changed in has to pass, or every mutant would count as killed.
		if state, err := try(dir, tmp, mutant{file: all[0].file, src: all[0].src}); err != nil {
			return false, err
		} else if state != "survived" {
			return false, fmt.Errorf("%s: its tests do not pass as it is", dir)
		}
	}
	tried, killed, unknown := 0, 0, 0
	for _, m := range spread(all, most) {
		if list {
			fmt.Println(m)
			continue
		}
		switch state, err := try(dir, tmp, m); {
		case err != nil:
			return false, err
		case state == "no mutant":
			continue
		case state == "killed":
			killed++
		case known[m.key()] != "":
			fmt.Printf("survives, as known: %s (%s)\n", m, known[m.key()])
		default:
			unknown++
			fmt.Printf("SURVIVES: %s\n\t%s\n", m, m.key())
		}
		tried++
	}
	if list {
		fmt.Printf("%d of %d\n", min(most, len(all)), len(all))
		return true, nil
	}
	share := 100 * killed / max(tried, 1)
	fmt.Printf("%s: %d mutants, %d killed (%d %%), %d survive without a reason\n", filepath.Base(dir), tried, killed, share, unknown)
	return share >= least, nil
}

// spread takes at most n of all, evenly.
func spread(all []mutant, n int) []mutant {
	if len(all) <= n {
		return all
	}
	out := make([]mutant, 0, n)
	for i := range n {
		out = append(out, all[i*len(all)/n])
	}
	return out
}

// readKnown reads the survivors that change nothing: key, tab, reason.
func readKnown(path string) (map[string]string, error) {
	known := map[string]string{}
	src, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	for line := range strings.Lines(string(src)) {
		line = strings.TrimSuffix(line, "\n")
		if i := strings.LastIndexByte(line, '\t'); i > 0 && !strings.HasPrefix(line, "#") {
			known[line[:i]] = line[i+1:]
		}
	}
	return known, err
}

// try compiles and tests one mutant.
func try(dir, tmp string, m mutant) (state string, err error) {
	changed := filepath.Join(tmp, "changed.go")
	if err := os.WriteFile(changed, m.source(), 0o600); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {m.file: changed}})
	if err != nil {
		return "", err
	}
	overlayFile, binary := filepath.Join(tmp, "overlay.json"), filepath.Join(tmp, "mutant.test")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		return "", err
	}
	build := exec.Command("go", "test", "-c", "-ldflags=-s -w", "-o", binary, "-overlay", overlayFile, ".")
	build.Dir = dir
	if build.Run() != nil {
		return "no mutant", nil // it does not compile
	}
	ctx, cancel := context.WithTimeout(context.Background(), runFor)
	defer cancel()
	test := exec.CommandContext(ctx, binary, "-test.short", "-test.failfast", "-test.timeout", runFor.String())
	test.Dir = dir
	if err := test.Run(); err != nil {
		return "killed", nil
	}
	return "survived", nil
}
