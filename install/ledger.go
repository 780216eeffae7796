package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/deftskills/deft/internal/atomicfile"
	"github.com/deftskills/deft/internal/fault"
)

// ledgerFile is what MiniMax Code keeps of installed skills, in its data directory.
const ledgerFile = "skill-hub.json"

// miniMaxName is the form of names of skills there.
var miniMaxName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)

// MiniMax is the scope of dialect minimax: root is that system's data directory, agent the
// one for whom skills are alone, "" = for all. The lock file is deft's own.
func MiniMax(root, agent, lock string) Scope {
	dir := filepath.Join(root, "skills")
	if agent != "" {
		dir = filepath.Join(root, "agents", agent, "skills")
	}
	return Scope{Name: "minimax", Root: root, Skills: dir, Lock: lock, Agent: agent, MiniMax: true}
}

// In is a scope with the skills straight in another folder, and a lock file of its own.
func (s Scope) In(dir, lock string) Scope {
	s.Skills, s.Lock, s.Public = dir, lock, ""
	return s
}

// ledgerKey is what the ledger calls a skill.
func (s Scope) ledgerKey(name string) string {
	if s.Agent != "" {
		return path.Join("agents", s.Agent, name)
	}
	return name
}

// ledger makes the ledger of dialect minimax say of one skill what the lock file says. It
// is written after the files are there. What is in it of others stays.
func (i *Installer) ledger(n intent) (note string, err error) {
	if !n.Scope.MiniMax {
		return "", nil
	}
	lock, err := ReadLock(n.Scope.Lock, false)
	if err != nil {
		return "", err
	}
	at := filepath.Join(n.Scope.Root, ledgerFile)
	whole, skills, installed := map[string]json.RawMessage{}, map[string]json.RawMessage{}, []string{}
	src, err := readSmall(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", fmt.Errorf("ledger: %w", err)
	case json.Unmarshal(src, &whole) != nil || !fits(whole["skills"], &skills) || !fits(whole["installed"], &installed):
		return fmt.Sprintf("lock_damaged: %s can't be read and is left as it is", at), nil
	}
	key := n.Scope.ledgerKey(n.Name)
	installed = slices.DeleteFunc(installed, func(have string) bool { return have == key })
	if e, ok := lock.Skills[n.Name]; ok {
		entry := map[string]string{
			"name": n.Name, "source": e.Source.URL, "ref": e.Source.Ref, "sha": e.Source.Commit, "subpath": e.Source.Subpath, "digest": string(e.Tree),
			"path": filepath.ToSlash(n.target()), "agent": n.Scope.Agent,
		}
		if skills[key], err = json.Marshal(entry); err != nil {
			return "", fmt.Errorf("ledger: %w", err)
		}
		installed = append(installed, key)
		slices.Sort(installed)
	} else {
		delete(skills, key)
	}
	if whole["skills"], err = encoded(skills); err != nil {
		return "", err
	}
	if whole["installed"], err = encoded(installed); err != nil {
		return "", err
	}
	out, err := encoded(whole)
	if err != nil {
		return "", err
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, out, "", "  "); err != nil {
		return "", fmt.Errorf("ledger: %w", err)
	}
	if bytes.Equal(pretty.Bytes(), src) {
		return "", nil
	}
	if err := fault.Err("install.ledger"); err != nil {
		return "", fmt.Errorf("ledger %s: %w", at, err)
	}
	return "", atomicfile.Write(at, pretty.Bytes(), 0o644)
}

// fits decodes a value that may be left out.
func fits(src json.RawMessage, into any) bool {
	return len(src) == 0 || json.Unmarshal(src, into) == nil
}
