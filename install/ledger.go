package install

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/atomicfile"
	"github.com/deftskills/deft/internal/fault"
	"github.com/deftskills/deft/skill"
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

// hub is the ledger: a row for each skill that was ever installed, and when each was that
// is now. Rows keep the keys that are not known.
type hub struct {
	rows      []map[string]json.RawMessage
	installed map[string]json.RawMessage
	rest      map[string]json.RawMessage
}

func readHub(src []byte) (h hub, err error) {
	if err := json.Unmarshal(src, &h.rest); err != nil || h.rest == nil {
		return h, errRecord
	}
	for key, into := range map[string]any{"skills": &h.rows, "installed": &h.installed} {
		if v, ok := h.rest[key]; ok {
			if err := json.Unmarshal(v, into); err != nil {
				return h, errRecord
			}
			delete(h.rest, key)
		}
	}
	return h, nil
}

// write has the keys in the order of that system, and what it does not know behind them.
func (h hub) write() ([]byte, error) {
	parts := []struct {
		key   string
		value any
	}{{"skills", slices.Clip(h.rows)}, {"installed", h.installed}}
	for _, key := range slices.Sorted(maps.Keys(h.rest)) {
		parts = append(parts, struct {
			key   string
			value any
		}{key, h.rest[key]})
	}
	var b, pretty bytes.Buffer
	for i, p := range parts {
		key, err := encoded(p.key)
		if err != nil {
			return nil, err
		}
		value, err := encoded(p.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%c%s:%s", "{,"[min(i, 1)], bytes.TrimSpace(key), value)
	}
	b.WriteByte('}')
	if err := json.Indent(&pretty, b.Bytes(), "", "  "); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	pretty.WriteByte('\n')
	return pretty.Bytes(), nil
}

// ledger makes the ledger of dialect minimax say of one skill what the lock file says. It
// is written after the files are there. What is in it of others stays.
func (i *Installer) ledger(ctx context.Context, n intent) (note string, err error) {
	if !n.Scope.MiniMax {
		return "", nil
	}
	lock, err := ReadLock(n.Scope.Lock, false)
	if err != nil {
		return "", err
	}
	e, ok := lock.Skills[n.Name]
	return i.ledgerOf(ctx, n, e, ok)
}

func (i *Installer) ledgerOf(ctx context.Context, n intent, e Entry, installed bool) (note string, err error) {
	at := filepath.Join(n.Scope.Root, ledgerFile)
	h := hub{rows: []map[string]json.RawMessage{}, rest: map[string]json.RawMessage{}}
	src, err := readSmall(at)
	switch {
	case err == nil:
		if h, err = readHub(src); err != nil {
			return fmt.Sprintf("lock_damaged: %s can't be read and is left as it is", at), nil
		}
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("ledger: %w", err)
	case !installed:
		return "", nil
	}
	if h.installed == nil {
		h.installed = map[string]json.RawMessage{}
	}
	if installed {
		if err := i.enter(ctx, n.Name, e, &h); err != nil {
			return "", err
		}
	} else if n.Scope.elsewhere(n.Name) || !h.take(n.Name, i.o.Now().UnixMilli()) {
		return "", nil
	}
	out, err := h.write()
	if err != nil {
		return "", err
	}
	if bytes.Equal(out, src) {
		return "", nil
	}
	if err := fault.Err("install.ledger"); err != nil {
		return "", fmt.Errorf("ledger %s: %w", at, err)
	}
	return "", atomicfile.Write(at, out, 0o644)
}

// elsewhere reports whether another place of that system has a skill of the name: the ledger
// knows names alone.
func (s Scope) elsewhere(name string) bool {
	for _, at := range s.places(name) {
		if filepath.Dir(at) != s.Skills {
			return true
		}
	}
	return false
}

// places are where that system has a skill of a name.
func (s Scope) places(name string) (out []string) {
	dirs := []string{filepath.Join(s.Root, "skills")}
	agents, _ := os.ReadDir(filepath.Join(s.Root, "agents")) // a folder that is not there has none
	for _, a := range agents {
		dirs = append(dirs, filepath.Join(s.Root, "agents", a.Name(), "skills"))
	}
	for _, dir := range dirs {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			out = append(out, filepath.Join(dir, name))
		}
	}
	return out
}

// take marks a skill as gone, and reports whether that is news.
func (h *hub) take(name string, now int64) bool {
	_, news := h.installed[name]
	delete(h.installed, name)
	for _, row := range h.rows {
		if textOf(row["name"]) == name && string(row["added"]) != "false" {
			row["added"], row["updated_at"], news = json.RawMessage("false"), number(now), true
		}
	}
	return news
}

// enter writes the row of a skill over the one that it had. A row of another name with the
// same source, which is not installed, is that skill under the name it had before.
func (i *Installer) enter(ctx context.Context, name string, e Entry, h *hub) error {
	tree, err := i.o.Trees.Get(ctx, e.Tree)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(tree, func(f skill.FileEntry) bool { return f.Path == "SKILL.md" })
	if at < 0 {
		return fmt.Errorf("ledger: %s has no SKILL.md", name)
	}
	src, err := i.o.Blobs.Get(ctx, tree[at].Blob)
	if err != nil {
		return err
	}
	k, from, now := skill.Parse(src, skill.ParseOptions{Path: "SKILL.md"}), hubSource(e.Source), i.o.Now().UnixMilli()
	row, next := map[string]json.RawMessage{}, int64(1)
	h.rows = slices.DeleteFunc(h.rows, func(r map[string]json.RawMessage) bool {
		var id int64
		if json.Unmarshal(r["id"], &id) == nil {
			next = max(next, id+1)
		}
		_, there := h.installed[textOf(r["name"])]
		if textOf(r["name"]) != name && (there || textOf(r["source_url"]) != from) {
			return false
		}
		maps.Copy(row, r)
		return true
	})
	set := map[string]any{
		"name": name, "description": k.Description, "content": strings.ToValidUTF8(string(src), "\uFFFD"), "source_url": from,
		"source_type": 2, "added": true, "updated_at": now,
	}
	for key, first := range map[string]any{"id": next, "created_at": now, "display_name": k.Name} {
		if _, ok := row[key]; !ok {
			set[key] = first
		}
	}
	for key, v := range set {
		value, err := encoded(v)
		if err != nil {
			return err
		}
		row[key] = value
	}
	h.rows = append(h.rows, row)
	h.installed[name] = number(now)
	return nil
}

func number(n int64) json.RawMessage { return json.RawMessage(fmt.Sprint(n)) }

// textOf is a JSON text, "" for anything else.
func textOf(v json.RawMessage) (s string) {
	if json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// hubSource is a source as that system names it: one address for each skill, by which it
// finds the skill again.
func hubSource(o Origin) string {
	at := strings.TrimSuffix(o.URL, ".git")
	switch {
	case o.Type == Local:
		return (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(o.URL, filepath.FromSlash(o.Subpath)))}).String()
	case strings.HasPrefix(at, "https://github.com/") && (o.Ref != "" || o.Subpath != ""):
		ref := o.Ref
		if ref == "" {
			ref = "HEAD"
		}
		return strings.TrimSuffix(at+"/tree/"+ref+"/"+o.Subpath, "/")
	case o.Subpath != "":
		return o.URL + "#" + o.Ref + ":" + o.Subpath
	}
	return o.URL
}

// Errors of removing a skill of dialect minimax.
var (
	// ErrProtected is a skill that came with the program.
	ErrProtected = errors.New("protected")
	// ErrLocation is a name that does not say which agent's skill is meant.
	ErrLocation = errors.New("skill_location_required")
	// ErrTwo is a name that several places have.
	ErrTwo = errors.New("skill_ambiguous")
)

// Removable says whether a name may be removed from a scope. In dialect minimax it may be
// none that came with the program, of which reserved are the names, unless a person has
// one of that name; where the scope is of no agent, none that only agents have, and none
// that several places have. Other scopes have no such rules.
func (s Scope) Removable(name string, reserved []string) error {
	if !s.MiniMax {
		return nil
	}
	if err := CheckName(name); err != nil {
		return err
	}
	at := s.places(name)
	_, err := os.Lstat(filepath.Join(s.Root, ".builtin-skills", name))
	switch {
	case len(at) == 0 && (err == nil || slices.Contains(reserved, name)):
		return fmt.Errorf("%w: %q is built in: it can be turned off, not removed", ErrProtected, name)
	case s.Agent != "":
	case len(at) > 1:
		return fmt.Errorf("%w: %q is at %s", ErrTwo, name, strings.Join(at, " and "))
	case len(at) == 1 && filepath.Dir(at[0]) != s.Skills:
		return fmt.Errorf("%w: %q is a skill of one agent, at %s", ErrLocation, name, at[0])
	}
	return nil
}

// isLink reports whether a scope of that system has a name as a link, which a person made:
// it may go, and what it leads to stays.
func (s Scope) isLink(name string) bool {
	if !s.MiniMax || CheckName(name) != nil {
		return false
	}
	info, err := os.Lstat(filepath.Join(s.Skills, name))
	return err == nil && info.Mode().Type() == fs.ModeSymlink
}

// unlink takes a link away, and its row of the ledger.
func (i *Installer) unlink(ctx context.Context, s Scope, name string) error {
	if err := os.Remove(filepath.Join(s.Skills, name)); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	_, err := i.ledgerOf(ctx, intent{Scope: s, Name: name}, Entry{}, false)
	return err
}
