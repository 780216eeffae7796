// Command mutate changes a package in one place at a time, as a mistake would, and tells
// which changes its tests do not notice.
//
//	mutate [-max 150] [-least 90] [-list] [-again FILE] DIR
//
// A mutant is a flipped condition, an "and" for an "or", a bound that is off by one, a return
// that is dropped, a swapped verdict, tier or truth. All of them are compiled at once, with an
// overlay, so that no file is touched; each run of the tests, with -short, wakes one. One that
// hangs or eats memory is killed. Survivors stand with a reason in DIR/testdata/mutants.tsv;
// one that does not is marked. The exit code is 1 where fewer than the least are killed.
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
	"strconv"
	"strings"
	"time"
)

// runFor is how long the tests of one mutant may take before it counts as hanging.
const runFor = time.Minute

func main() {
	most := flag.Int("max", 150, "mutants to try, spread over the package")
	least := flag.Int("least", 90, "percent that have to be killed")
	list := flag.Bool("list", false, "print the mutants that would be tried and stop")
	again := flag.String("again", "", "try those mutants alone that survived in a former run, whose output is `FILE`")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	ok, err := run(flag.Arg(0), *again, *most, *least, *list)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(dir, again string, most, least int, list bool) (ok bool, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return false, err
	}
	files, all, err := mutate(dir)
	if err != nil {
		return false, err
	}
	numbers := spread(len(all), most)
	if again != "" {
		if numbers, err = survivors(all, again); err != nil {
			return false, err
		}
	}
	if list {
		for _, n := range numbers {
			fmt.Printf("%d %s\n", n, all[n-1])
		}
		return true, nil
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
	binary, err := build(dir, tmp, files)
	if err != nil {
		return false, err
	}
	if !passes(dir, binary, 0) {
		return false, fmt.Errorf("%s: its tests do not pass as it is", dir)
	}
	killed, unknown := 0, 0
	for _, n := range numbers {
		m := all[n-1]
		switch {
		case !passes(dir, binary, n):
			killed++
		case known[m.key()] != "":
			fmt.Printf("survives: %s (%s)\n", m, known[m.key()])
		default:
			unknown++
			fmt.Printf("SURVIVES: %s\n\t%s\n", m, m.key())
		}
	}
	share := 100 * killed / max(len(numbers), 1)
	fmt.Printf("%s: %d mutants of %d, %d killed (%d %%), %d survive without a reason\n", filepath.Base(dir), len(numbers), len(all), killed, share, unknown)
	return share >= least, nil
}

// spread is at most n of the numbers 1 to all, evenly.
func spread(all, n int) []int {
	n = min(n, all)
	out := make([]int, n)
	for i := range n {
		out[i] = i*all/n + 1
	}
	return out
}

// survivors are the numbers of the mutants whose keys stand in a file.
func survivors(all []mutant, path string) ([]int, error) {
	src, err := os.ReadFile(path)
	var out []int
	for i, m := range all {
		if strings.Contains(string(src), "\t"+m.key()+"\n") {
			out = append(out, i+1)
		}
	}
	return out, err
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

// build compiles the tests of the package with these files.
func build(dir, tmp string, files map[string][]byte) (binary string, err error) {
	replace := map[string]string{}
	for path, text := range files {
		replace[path] = filepath.Join(tmp, filepath.Base(path))
		if err := os.WriteFile(replace[path], text, 0o600); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	at := filepath.Join(tmp, "overlay.json")
	if err := os.WriteFile(at, overlay, 0o600); err != nil {
		return "", err
	}
	binary = filepath.Join(tmp, "mutants.test")
	compile := exec.Command("go", "test", "-c", "-o", binary, "-overlay", at, ".")
	compile.Dir = dir
	if out, err := compile.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return binary, nil
}

// passes reports whether the tests pass with one mutant awake; 0 = none.
func passes(dir, binary string, n int) bool {
	ctx, cancel := context.WithTimeout(context.Background(), runFor)
	defer cancel()
	// A mutant may loop and keep what it makes: its memory is bounded.
	test := exec.CommandContext(ctx, "sh", "-c", `ulimit -v 4194304; exec "$0" -test.short -test.failfast`, binary)
	test.Dir = dir
	test.Env = append(os.Environ(), "DEFT_MUTANT="+strconv.Itoa(n))
	return test.Run() == nil
}
