package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// maxRules bounds the paths that a run's rules name: a rule costs the kernel memory and
// each file access time.
const maxRules = 4096

// allBut returns paths that together hold all of dir save what lies in but. The kernel can
// only allow, and what it allows holds for all below: so each directory on the way to
// something left out is replaced by its other children. What is left out need not exist:
// nothing created later under its name is held by any of the paths. Links are left out,
// their targets are judged where they are.
func allBut(dir string, but []string) ([]string, error) {
	var out []string
	var walk func(dir string) error
	walk = func(dir string) error {
		below := func(path string) bool { return within(path, dir) }
		if !slices.ContainsFunc(but, below) {
			out = append(out, dir)
			if len(out) > maxRules {
				return fmt.Errorf("%w: more than %d paths around what is denied or protected", ErrPolicy, maxRules)
			}
			return nil
		}
		if slices.Contains(but, dir) {
			return nil
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil // what can't be listed is not allowed; a missing directory has nothing to allow
		}
		for _, e := range entries {
			if e.Type()&os.ModeSymlink != 0 {
				continue
			}
			if err := walk(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
		return nil
	}
	err := walk(dir)
	return out, err
}

// devices are the only nodes that a run may open: a disk or a terminal would lead around
// every rule on files.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// rule allows a path and all below it.
type rule struct {
	Path  string `json:"path"`
	Write bool   `json:"write,omitempty"` // create, change, remove; else read and execute
}

// rules turns a resolved policy into what the kernel is told. In the level full mounts
// hold what is protected, so that Write stays whole there; held says of which it is true.
func (p Policy) rules(temp string, held func(root string) bool) ([]rule, error) {
	readable, err := allBut("/", append(slices.Clone(p.Denied), "/dev"))
	if err != nil {
		return nil, err
	}
	var out []rule
	for _, path := range readable {
		out = append(out, rule{Path: path})
	}
	for _, path := range devices {
		out = append(out, rule{Path: path}, rule{Path: path, Write: true})
	}
	for _, root := range p.Write {
		but := slices.Clone(p.Denied)
		if !held(root) {
			but = append(but, p.Protected...)
		}
		writable, err := allBut(root, but)
		if err != nil {
			return nil, err
		}
		for _, path := range writable {
			out = append(out, rule{Path: path, Write: true})
		}
	}
	out = append(out, rule{Path: temp}, rule{Path: temp, Write: true})
	if len(out) > maxRules {
		return nil, fmt.Errorf("%w: %d paths around what is denied or protected, at most %d can be held", ErrPolicy, len(out), maxRules)
	}
	return out, nil
}
