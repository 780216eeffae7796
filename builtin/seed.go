package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/internal/lockfile"
)

// SeedOptions says what is written where. Seeding is for programs that read skills
// from the disk only.
type SeedOptions struct {
	Dir     string  // the folder that belongs to the program whole, such as DATA/.builtin-skills
	Sources []fs.FS // trees of skills; of one name the earlier tree's is taken
	// Enabled reports whether a skill is handed out; nil = all are. What Excluded
	// names never is.
	Enabled func(name string) bool
	// Backup is a folder for what a person changed below Dir: it is moved there, in a
	// folder of its own, before Dir is written again. "" = it is lost, as dialect
	// minimax has it.
	Backup string
	Now    func() time.Time // names the folder of a backup; nil = time.Now
}

// Seeded is what one call of Seed did.
type Seeded struct {
	Fingerprint string            // of what should be there; "" when a skill could not be read
	Skills      []string          // that are handed out, sorted
	Writes      int               // files and folders written, moved or removed; 0 = nothing had changed
	Failed      map[string]string // causes by skill; not empty = the next start tries again
	Backup      string            // where a person's changes are now; "" = there were none
}

const (
	marker      = ".seed-fingerprint"
	stagePrefix = ".tmp-seed"
	backupNote  = "NOTE.txt"
)

// leftovers are what former and interrupted seedings leave behind.
func leftover(name string) bool {
	return name == ".seed-manifest.json" || strings.HasSuffix(name, ".seed-backups") || strings.Contains(name, stagePrefix)
}

// Seed brings Dir to the state of the sources. Where the marker and every folder are
// there, nothing is written. Else the skills are written beside Dir and swapped in,
// the marker last and only when all of them are there. A program goes on without what
// failed; an error is for a Dir that cannot be written at all and for the context's
// end. Processes that start at once wait for each other.
func Seed(ctx context.Context, o SeedOptions) (Seeded, error) {
	s := seeding{o: o, done: Seeded{Failed: map[string]string{}}, want: map[string][]file{}}
	if !s.collect() {
		return s.done, nil // no source can be read: whatever is there is better
	}
	if s.current() && len(s.leftovers()) == 0 {
		return s.done, nil
	}
	if err := os.MkdirAll(filepath.Dir(o.Dir), 0o755); err != nil {
		return s.done, fmt.Errorf("seeding: %w", err)
	}
	lock, err := lockfile.Exclusive(ctx, o.Dir+".lock", lockfile.Options{})
	if err != nil {
		return s.done, fmt.Errorf("seeding: %w", err)
	}
	defer lock.Release()
	for _, path := range s.leftovers() {
		if os.RemoveAll(path) == nil {
			s.done.Writes++
		}
	}
	if s.current() {
		return s.done, nil
	}
	return s.done, s.write(ctx)
}

type seeding struct {
	o    SeedOptions
	done Seeded
	want map[string][]file
}

// leftovers lists what no seeding will ever need again.
func (s *seeding) leftovers() (paths []string) {
	base := filepath.Base(s.o.Dir)
	for dir, prefix := range map[string]string{s.o.Dir: "", filepath.Dir(s.o.Dir): base} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), prefix) && leftover(e.Name()) {
				paths = append(paths, filepath.Join(dir, e.Name()))
			}
		}
	}
	return paths
}

// collect reads the union of the sources; false when none can be read.
func (s *seeding) collect() bool {
	readable := false
	excluded := Excluded()
	for _, src := range s.o.Sources {
		names, err := skillNames(src)
		if err != nil {
			continue
		}
		readable = true
		for _, name := range names {
			_, taken := s.want[name]
			_, failed := s.done.Failed[name]
			if taken || failed || slices.Contains(excluded, name) || s.o.Enabled != nil && !s.o.Enabled(name) {
				continue
			}
			files, err := readSkill(src, name)
			switch {
			case err != nil:
				s.done.Failed[name] = err.Error()
			case !retired(name, files):
				s.want[name] = files
			}
		}
	}
	sums := map[string]string{}
	for name, files := range s.want {
		sums[name] = aggregate(files)
		s.done.Skills = append(s.done.Skills, name)
	}
	slices.Sort(s.done.Skills)
	if len(s.done.Failed) == 0 {
		s.done.Fingerprint = combine(sums)
	}
	return readable
}

// current reports whether everything is as the last seeding left it. What a person
// changed in a file in the meantime is theirs until the sources change.
func (s *seeding) current() bool {
	had, err := os.ReadFile(filepath.Join(s.o.Dir, marker))
	if err != nil || s.done.Fingerprint == "" || strings.TrimSpace(string(had)) != s.done.Fingerprint {
		return false
	}
	for name := range s.want {
		if st, err := os.Stat(filepath.Join(s.o.Dir, name)); err != nil || !st.IsDir() {
			return false
		}
	}
	return true
}

// write makes the folder anew beside the old one and swaps the two.
func (s *seeding) write(ctx context.Context) error {
	stage, err := os.MkdirTemp(filepath.Dir(s.o.Dir), filepath.Base(s.o.Dir)+stagePrefix)
	if err != nil {
		return fmt.Errorf("seeding: %w", err)
	}
	defer os.RemoveAll(stage)
	for _, name := range s.done.Skills {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.skill(stage, name); err != nil {
			s.done.Failed[name] = err.Error()
		}
	}
	if len(s.done.Failed) == 0 {
		if err := os.WriteFile(filepath.Join(stage, marker), []byte(s.done.Fingerprint+"\n"), 0o644); err != nil {
			return fmt.Errorf("seeding: %w", err)
		}
		s.done.Writes++
	} else if _, err := os.Stat(s.o.Dir); err == nil && s.o.Backup != "" {
		return nil // the old folder is whole: a part of the new one is no gain
	}
	if err := s.setAside(); err != nil {
		return fmt.Errorf("seeding: %w", err)
	}
	if err := os.Chmod(stage, 0o755); err != nil {
		return fmt.Errorf("seeding: %w", err)
	}
	if err := os.Rename(stage, s.o.Dir); err != nil {
		return fmt.Errorf("seeding: %w", err)
	}
	return nil
}

func (s *seeding) skill(stage, name string) error {
	for _, f := range s.want[name] {
		at := filepath.Join(stage, name, filepath.FromSlash(f.path))
		perm := fs.FileMode(0o644)
		if f.exec {
			perm = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, f.data, perm); err != nil {
			return err
		}
		s.done.Writes++
	}
	return nil
}

// setAside clears the place for the new folder: what a person changed goes to the
// backup, everything else is what the program wrote itself.
func (s *seeding) setAside() error {
	if _, err := os.Lstat(s.o.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s.done.Writes++
	if s.o.Backup == "" || !s.edited() {
		return os.RemoveAll(s.o.Dir)
	}
	now := s.o.Now
	if now == nil {
		now = time.Now
	}
	if err := os.MkdirAll(s.o.Backup, 0o755); err != nil {
		return err
	}
	at := filepath.Join(s.o.Backup, now().UTC().Format("20060102T150405.000000000Z"))
	if err := os.Rename(s.o.Dir, at); err != nil {
		return err
	}
	s.done.Backup = at
	note := "The built-in skills were written anew. This folder is what stood in\n" + s.o.Dir +
		"\nbefore, with what was changed there. To change a built-in skill for good, put a\nskill of the same name in a folder of your own: it goes before the built-in one.\n"
	return os.WriteFile(filepath.Join(at, backupNote), []byte(note), 0o644)
}

// edited reports whether the folder differs from what its marker says was written.
func (s *seeding) edited() bool {
	had, err := os.ReadFile(filepath.Join(s.o.Dir, marker))
	if err != nil {
		return true // nobody knows what it is
	}
	entries, err := os.ReadDir(s.o.Dir)
	if err != nil {
		return true
	}
	sums := map[string]string{}
	for _, e := range entries {
		if e.Name() == marker {
			continue
		}
		files, err := readSkill(os.DirFS(s.o.Dir), e.Name())
		if err != nil || !e.IsDir() {
			return true
		}
		sums[e.Name()] = aggregate(files)
	}
	return combine(sums) != strings.TrimSpace(string(had))
}
