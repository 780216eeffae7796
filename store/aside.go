package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/deftskills/deft/internal/fault"
)

// Aside says what SetAside did.
type Aside struct {
	Moved    string // where the damaged file lies now; "" = the state was sound, nothing was done
	Switches int    // saved into the new file
	Profiles int
	Choices  int
	Rows     int // of conversations, notes and what happened
}

// SetAside moves a damaged database to damaged/NAME-<UTC time> beside it and starts a
// new one with the switches, profiles and choices whose rows are sound. Trust and
// grants are never carried over: they have to be given again. It looks for itself
// and leaves a sound database alone. Killed in between, the next call finishes it.
// A server's database is not set aside: that is ErrInvalid, restore a backup of it.
func (s *Store) SetAside(ctx context.Context) (Aside, error) {
	f, ok := s.b.(*file)
	if !ok {
		return Aside{}, fmt.Errorf("%w: %s is on a server; restore a backup of it there", ErrInvalid, s.Path())
	}
	return f.setAside(ctx)
}

func (s *file) setAside(ctx context.Context) (Aside, error) {
	var a Aside
	err := s.locked(ctx, "doctor", func() error {
		if err := s.finishAside(); err != nil {
			return err
		}
		if !errors.Is(s.integrity(ctx), ErrDamaged) {
			return nil
		}
		st := s.salvage(ctx)
		rows, err := s.buildAnew(ctx, st)
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.retire()
		s.mu.Unlock()
		moved, err := s.moveAside("")
		if err != nil {
			return err
		}
		a = Aside{moved, len(st.Switches), len(st.Profiles), len(st.Choices), rows}
		if err := fault.Err("damage.move"); err != nil {
			return err
		}
		return s.finishAside()
	})
	if err != nil {
		return Aside{}, err
	}
	return a, nil
}

// salvagePath is where the new database is built.
func (s *file) salvagePath() string { return s.path + ".salvaged" }

// buildAnew writes what was salvaged into a database of its own, complete on disk
// when it returns the number of rows that are not of the state.
func (s *file) buildAnew(ctx context.Context, st State) (rows int, err error) {
	path := s.salvagePath()
	if err := removeDatabase(path); err != nil {
		return 0, err
	}
	o := s.o
	o.NoMigrate = false
	fresh, err := openFile(o, path)
	if err != nil {
		return 0, err
	}
	fresh.migrations, fresh.latest = s.migrations, s.latest
	anew := &Store{o: o, b: fresh}
	err = anew.update(ctx, "state.save", func(c *change) error {
		for _, r := range st.Switches {
			if err := skillStates().put(c, r); err != nil {
				return err
			}
		}
		for _, r := range st.Profiles {
			if err := profiles().put(c, r); err != nil {
				return err
			}
		}
		for _, r := range st.Choices {
			if err := choices().put(c, r); err != nil {
				return err
			}
		}
		return putLocations(c, "", st.Locations)
	})
	if err == nil {
		rows, err = s.salvageRows(ctx, anew)
	}
	err = errors.Join(err, fresh.close())
	if err == nil {
		err = os.Remove(fresh.lockPath)
	}
	return rows, err
}

// told are the tables whose rows are taken out of a damaged database as they are: what
// conversations there were, what was noted, what happened. Their rows have no sums of
// their own, so that none is here which lets something be done (grants, questions, jobs,
// agents); chains of decisions stay in the damaged file, where they can be verified as far
// as they go.
//
// Published versions are taken along, in the order in which their rows refer to each other:
// a tree proves itself by its digest, and a version gives no trust.
func told() []string {
	return []string{
		"sessions", "memories", "skill_audit", "tool_events",
		"trees", "skills", "skill_versions", "channels", "version_choices", "blob_refs",
	}
}

// mended are the statements that make whole again what a row was lost of: a skill whose
// version is gone is a draft, and what keeps blobs is written anew from the trees, or the
// garbage collection would take them.
var mended = []string{
	"UPDATE skills SET status = 'draft', active_version = NULL WHERE active_version IS NOT NULL AND NOT EXISTS " +
		"(SELECT 1 FROM skill_versions v WHERE v.tenant = skills.tenant AND v.skill_id = skills.id AND v.id = skills.active_version)",
	"INSERT OR IGNORE INTO blob_refs (tenant, blob, owner_kind, owner_id) " +
		"SELECT t.tenant, json_extract(e.value, '$.blob'), 'tree', t.digest FROM trees t, json_each(t.entries) e",
}

// salvageRows copies the rows that can be read. What cannot be is left behind, and so is
// what the schema refuses.
func (s *file) salvageRows(ctx context.Context, anew *Store) (n int, err error) {
	damaged, err := s.reader(ctx, s.path, url.Values{"mode": {"ro"}})
	if err != nil {
		return 0, nil
	}
	defer damaged.Close()
	err = anew.write(ctx, "state.save", func(tx *tx) error {
		for _, table := range told() {
			n += copyRows(ctx, damaged, tx, table)
		}
		for _, statement := range mended {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	return n, err
}

func copyRows(ctx context.Context, from querier, to *tx, table string) (n int) {
	rows, err := from.QueryContext(ctx, "SELECT * FROM "+table)
	if err != nil {
		return 0 // of an older schema, or beyond reading
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return 0
	}
	values, dest := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		dest[i] = &values[i]
	}
	for i, name := range columns {
		columns[i] = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
	insert := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
	for rows.Next() && rows.Scan(dest...) == nil {
		if _, err := to.ExecContext(ctx, insert, values...); err == nil {
			n++
		}
	}
	return n
}

// finishAside brings a database that was built anew into its place, if the damaged
// one has left it: first away with the old log, which SQLite would otherwise take for
// the new file's. With the damaged one still there, the new one is only a rest of a
// killed attempt.
func (s *file) finishAside() error {
	fresh := s.salvagePath()
	if _, err := os.Lstat(fresh); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Lstat(s.path); err == nil {
		return removeDatabase(fresh)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := s.moveAside(suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(fresh, s.path)
}

// moveAside moves the database, or the file of it with a suffix.
func (s *file) moveAside(suffix string) (string, error) {
	dir := filepath.Join(filepath.Dir(s.path), "damaged")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	to := filepath.Join(dir, filepath.Base(s.path)+"-"+s.o.Now().UTC().Format(compactTime))
	for n := 2; ; n++ {
		if _, err := os.Lstat(to + suffix); errors.Is(err, fs.ErrNotExist) {
			break
		}
		to = fmt.Sprintf("%s.%d", to, n)
	}
	return to + suffix, os.Rename(s.path+suffix, to+suffix)
}

func removeDatabase(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal", ".lock"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// salvage reads what a damaged database still yields: rows with right sums up to the
// first page that can't be read. A file that is none yields nothing.
func (s *file) salvage(ctx context.Context) State {
	var st State
	info, err := os.Stat(s.path)
	if err != nil || !info.Mode().IsRegular() {
		return st
	}
	db, err := s.reader(ctx, s.path, url.Values{"mode": {"ro"}})
	if err != nil {
		return st
	}
	defer db.Close()
	return soundState(ctx, s.on(db))
}

// soundState returns what has right sums, and never trust.
func soundState(ctx context.Context, q querier) State {
	var st State
	st.Switches = sound(ctx, q, skillStates())
	st.Profiles = sound(ctx, q, profiles())
	st.Choices = sound(ctx, q, choices())
	if off, err := metaText(ctx, q, locationsKey); err == nil {
		st.Locations = readLocations(off)
	}
	return st
}

// sound returns the rows with right sums.
func sound[R any](ctx context.Context, q querier, t table[R]) []R {
	var out []R
	keys, err := q.QueryContext(ctx, "SELECT "+t.columns[0]+" FROM "+t.name+" WHERE "+tenant)
	if err != nil {
		return nil
	}
	var found []string
	for keys.Next() {
		var key string
		if keys.Scan(&key) == nil {
			found = append(found, key)
		}
	}
	_ = keys.Close() // an error of the walk ends it: what came before counts
	for _, key := range found {
		rows, err := t.list(ctx, q, t.columns[0]+" = ?", key)
		if err == nil {
			out = append(out, rows...)
		}
	}
	return out
}
