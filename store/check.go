package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/deftskills/deft/skill"
)

// Finding is what Check has to say: File is the path that it is about.
type Finding = skill.Diagnostic

// Check examines the state and its directory, page by page, or the database of a server
// row by row, and repairs nothing. Findings of level info are facts: the schema, and
// files that were set aside. A missing database is no finding.
func (s *Store) Check(ctx context.Context) []Finding { return s.b.check(ctx) }

func (s *file) check(ctx context.Context) []Finding {
	if err := s.guard(); err != nil {
		return []Finding{skill.Finding("store_dir_open", filepath.Dir(s.path), "%v", err)}
	}
	var out []Finding
	if err := s.integrity(ctx); err != nil {
		out = append(out, skill.Finding(orElse(Code(err), "store_unreadable"), s.path, "%v", err))
	}
	if info, err := os.Stat(s.path); err == nil {
		if m := info.Mode().Perm(); m&0o077 != 0 && runtime.GOOS != "windows" {
			out = append(out, skill.Finding("store_mode", s.path, "mode %04o lets others read the state", m))
		}
		var schema int64
		if err := s.read(ctx, stateSince, func(q querier) (err error) { schema, err = schemaOf(ctx, q); return err }); err == nil {
			out = append(out, skill.Finding("store_schema", s.path, "schema %d of %d, %d bytes", schema, s.latest, info.Size()))
		}
	}
	s.mu.Lock()
	noWAL := s.noWAL
	s.mu.Unlock()
	if noWAL {
		out = append(out, skill.Finding("store_no_wal", s.path, "the file system has no shared memory: every write locks out readers"))
	}
	aside, _ := filepath.Glob(filepath.Join(filepath.Dir(s.path), "damaged", filepath.Base(s.path)+"-*"))
	for _, path := range aside {
		if strings.HasSuffix(path, "-wal") || strings.HasSuffix(path, "-shm") {
			continue // parts of the one before
		}
		out = append(out, skill.Finding("store_set_aside", path, "a damaged database, set aside"))
	}
	return out
}

// integrity reads every page and every row. A missing file is sound.
func (s *file) integrity(ctx context.Context) error {
	h, err := s.acquire(ctx)
	if h == nil {
		return s.say(err)
	}
	defer s.release(h)
	var verdict string
	// The first finding is enough: nothing is repaired page by page.
	if err := h.read.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil {
		return s.say(err)
	}
	if verdict != "ok" {
		return damage(s.path, errors.New(verdict))
	}
	return s.read(ctx, stateSince, func(q querier) error {
		_, err := loadAll(ctx, q)
		return err
	})
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
