package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/atomicfile"
	"github.com/deftskills/deft/skill"
)

// LockFile is the name of the file that says what is installed.
const LockFile = "deft.lock"

// lockVersion is the version of the lock file that this release writes.
const lockVersion = 1

// Errors of lock files.
var (
	// ErrLockNewer is a lock file of a later release: it is read no further than names.
	ErrLockNewer = errors.New("lock_newer")
	// ErrLockDamaged is a lock file that can't be read. It is never written over.
	ErrLockDamaged = errors.New("lock_damaged")
	// ErrLockLocal is a local source in a project's lock that another checkout has not.
	ErrLockLocal = errors.New("lock_local_path")
)

// Entry is one skill of a lock file.
type Entry struct {
	Source  Origin       `json:"source"`
	Tree    skill.Digest `json:"tree"`
	Exec    []string     `json:"exec,omitempty"` // files that may be run
	Licence string       `json:"licence,omitempty"`
	Pin     string       `json:"pin,omitempty"`    // what an update stays at; "" = the ref's newest
	Agents  []string     `json:"agents,omitempty"` // whose folders have an entry
	Mode    string       `json:"mode,omitempty"`   // link or copy
	Needs   []string     `json:"needs,omitempty"`  // skills without which it does not work
	// For says for whom a version of a plugin is there: EveryProject, or roots of projects.
	For []string `json:"for,omitempty"`
	Off bool     `json:"off,omitempty"` // of a plugin that was disabled

	extra map[string]json.RawMessage // what a later release writes
}

// Lock is a lock file as it was read. What this release does not know stays in it.
type Lock struct {
	Skills  map[string]Entry
	Plugins map[string]Entry  // by NAME@MARKET/VERSION; of the user's lock alone
	Markets map[string]Market // places that plugins are found at, by name; likewise
	extra   map[string]json.RawMessage
	// project says that local sources must be relative to the file.
	project bool
}

// ReadLock reads a lock file; one that is not there is empty. ErrLockNewer comes with
// the names alone, ErrLockDamaged with nothing.
func ReadLock(path string, project bool) (*Lock, error) {
	l := &Lock{Skills: map[string]Entry{}, Plugins: map[string]Entry{}, Markets: map[string]Market{}, extra: map[string]json.RawMessage{}, project: project}
	src, err := readSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if errors.Is(err, errNotFile) {
		return nil, fmt.Errorf("%w: %w", ErrLockDamaged, err)
	}
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if src, err = united(path, src); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(src, &l.extra); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLockDamaged, path, err)
	}
	var version int
	if err := json.Unmarshal(l.extra["lockfile"], &version); err != nil || version < 1 {
		return nil, fmt.Errorf("%w: %s has no number of its form", ErrLockDamaged, path)
	}
	for _, part := range []struct {
		key, what string
		into      map[string]Entry
		check     func(string) error
	}{{"skills", "skill", l.Skills, CheckName}, {"plugins", "plugin", l.Plugins, CheckPluginKey}} {
		raw := map[string]json.RawMessage{}
		if src, ok := l.extra[part.key]; ok {
			if err := json.Unmarshal(src, &raw); err != nil {
				return nil, fmt.Errorf("%w: %s: %s: %w", ErrLockDamaged, path, part.key, err)
			}
		}
		for name, src := range raw {
			e, err := readEntry(src)
			if err == nil {
				err = errors.Join(part.check(name), l.check(e), e.checkTree())
			}
			if err != nil && version <= lockVersion {
				return nil, fmt.Errorf("%s: %s %q: %w", path, part.what, name, err)
			}
			part.into[name] = e
		}
	}
	if err := l.readMarkets(); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLockDamaged, path, err)
	}
	if version > lockVersion {
		return l, fmt.Errorf("%w: %s has form %d, this release writes %d", ErrLockNewer, path, version, lockVersion)
	}
	return l, nil
}

func readEntry(src []byte) (e Entry, err error) {
	if err := json.Unmarshal(src, &e); err != nil {
		return e, fmt.Errorf("%w: %w", ErrLockDamaged, err)
	}
	if err := json.Unmarshal(src, &e.extra); err != nil {
		return e, fmt.Errorf("%w: %w", ErrLockDamaged, err)
	}
	return e, nil
}

// check holds an entry to the rules of sources: a project's lock comes with a clone, and
// nobody has looked at it.
func (l *Lock) check(e Entry) error {
	if e.Source.Type == Local {
		if l.project && (filepath.IsAbs(e.Source.URL) || strings.HasPrefix(e.Source.URL, "~") || strings.HasPrefix(e.Source.URL, "file:")) {
			return fmt.Errorf("%w: %q is there in this checkout alone", ErrLockLocal, e.Source.URL)
		}
		return nil
	}
	// An address without TLS is refused when it is fetched: the record must be readable.
	r, err := ParseSource(e.Source.Source().String(), ParseOptions{AllowHTTP: true})
	if err != nil {
		return err
	}
	if r.Kind != e.Source.Type {
		return fmt.Errorf("%w: %q is no %s source", ErrBadURL, e.Source.URL, e.Source.Type)
	}
	if e.Source.Subpath != "" && !inside(e.Source.Subpath) {
		return fmt.Errorf("%w: the folder %q leaves the source", ErrBadURL, e.Source.Subpath)
	}
	return nil
}

// treeForm is the form of a tree's digest. It names files of the store.
var treeForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func (e Entry) checkTree() error {
	if !treeForm.MatchString(string(e.Tree)) {
		return fmt.Errorf("%w: %q is the digest of no tree", ErrLockDamaged, e.Tree)
	}
	return nil
}

// Bytes is the file: keys sorted, one skill a block, so that two branches merge.
func (l *Lock) Bytes() ([]byte, error) {
	whole := map[string]any{}
	for key, v := range l.extra {
		whole[key] = v
	}
	whole["lockfile"] = lockVersion
	for key, part := range map[string]map[string]Entry{"skills": l.Skills, "plugins": l.Plugins} {
		blocks := map[string]any{}
		for name, e := range part {
			block, err := e.block()
			if err != nil {
				return nil, err
			}
			blocks[name] = block
		}
		whole[key] = blocks
		if key != "skills" && len(blocks) == 0 {
			delete(whole, key)
		}
	}
	whole["marketplaces"] = l.Markets
	if len(l.Markets) == 0 {
		delete(whole, "marketplaces")
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(whole); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	return b.Bytes(), nil
}

// block is an entry as the file has it, with what is not known.
func (e Entry) block() (map[string]json.RawMessage, error) {
	known, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(known, &all); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	for key, v := range e.extra {
		if _, ours := all[key]; !ours && !slices.Contains(entryKeys, key) {
			all[key] = v
		}
	}
	return all, nil
}

// entryKeys are the keys that an entry may leave out: an old value of one must not come
// back as one that is not known.
var entryKeys = []string{"source", "tree", "exec", "licence", "pin", "agents", "mode", "needs", "for", "off"}

// Write replaces the file at path.
func (l *Lock) Write(path string) error {
	src, err := l.Bytes()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return atomicfile.Write(path, src, 0o644)
}

// Names lists the skills, sorted.
func (l *Lock) Names() []string { return slices.Sorted(maps.Keys(l.Skills)) }
