//go:build linux || darwin

package sandbox

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// maxLinkWalk bounds the files looked at for other names of a secret.
const maxLinkWalk = 200_000

type inode struct{ dev, ino uint64 }

// linkedSecrets returns the other names, inside Write and Read, of denied files that have
// more than one: a hard link made earlier would be a way around the rule on the first
// name. Secrets seldom have a second name, and then nothing is walked.
func (p Policy) linkedSecrets() ([]string, error) {
	wanted, budget := map[inode]bool{}, maxLinkWalk
	visit := func(roots []string, f func(path string, st *syscall.Stat_t)) error {
		for _, root := range roots {
			err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return nil // not there, or closed to us and so to the run
				}
				if budget--; budget < 0 {
					return fmt.Errorf("%w: more than %d files to compare with denied files that have a second name", ErrPolicy, maxLinkWalk)
				}
				if !d.Type().IsRegular() {
					return nil
				}
				if info, err := d.Info(); err == nil {
					if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
						f(path, st)
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	err := visit(p.credentialFiles(), func(_ string, st *syscall.Stat_t) { wanted[inode{uint64(st.Dev), st.Ino}] = true })
	if err != nil || len(wanted) == 0 {
		return nil, err
	}
	var found []string
	err = visit(append(append([]string{}, p.Write...), p.Read...), func(path string, st *syscall.Stat_t) {
		if wanted[inode{uint64(st.Dev), st.Ino}] {
			found = append(found, path)
		}
	})
	return found, err
}

// credentialFiles are the denied paths whose files are looked at for second names. The
// folders of browsers and other people's homes are large and left out: what lies there is
// held by its name.
func (p Policy) credentialFiles() []string {
	var out []string
	for _, d := range p.Denied {
		switch filepath.Base(d) {
		case ".ssh", ".aws", ".gnupg", ".kube", ".docker", ".netrc", ".git-credentials", ".npmrc", ".pypirc", "shadow", "gh":
			out = append(out, d)
		}
	}
	return out
}
