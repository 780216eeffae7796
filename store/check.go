package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/deftskills/deft/skill"
)

// Finding is what Check has to say: File is the path that it is about.
type Finding = skill.Diagnostic

// Check examines the state and its directory, page by page, and repairs nothing.
// Findings of level info are facts: the schema, and files that were set aside. A
// missing database is no finding.
func (s *Store) Check(ctx context.Context) []Finding {
	var out []Finding
	say := func(level skill.Level, code, file, message, fix string) {
		out = append(out, Finding{
			Code: code, Level: level, File: file, Offset: -1, Message: message, Fix: fix,
		})
	}
	if err := s.guard(); err != nil {
		say(skill.LevelError, Code(err), filepath.Dir(s.path), err.Error(), "remove the others' right to write")
		return out
	}
	if err := s.integrity(ctx); err != nil {
		code, fix := Code(err), ""
		if errors.Is(err, ErrDamaged) {
			fix = "run deft doctor --fix, then trust again what you trusted"
		}
		say(skill.LevelError, orElse(code, "store_unreadable"), s.path, err.Error(), fix)
	}
	if info, err := os.Stat(s.path); err == nil {
		if m := info.Mode().Perm(); m&0o077 != 0 && runtime.GOOS != "windows" {
			say(skill.LevelWarning, "store_mode", s.path, fmt.Sprintf("mode %04o lets others read the state", m), "chmod 600 it")
		}
		var schema int64
		if err := s.view(ctx, func(q querier) (err error) { schema, err = schemaOf(ctx, q); return err }); err == nil {
			say(skill.LevelInfo, "store_schema", s.path, fmt.Sprintf("schema %d of %d, %d bytes", schema, s.latest, info.Size()), "")
		}
	}
	s.mu.Lock()
	noWAL := s.noWAL
	s.mu.Unlock()
	if noWAL {
		say(skill.LevelWarning, "store_no_wal", s.path, "the file system has no shared memory: every write locks out readers", "keep state on a local disk")
	}
	aside, _ := filepath.Glob(filepath.Join(filepath.Dir(s.path), "damaged", filepath.Base(s.path)+"-*"))
	for _, path := range aside {
		if strings.HasSuffix(path, "-wal") || strings.HasSuffix(path, "-shm") {
			continue // parts of the one before
		}
		say(skill.LevelInfo, "store_set_aside", path, "a damaged database, set aside", "delete it when you miss nothing")
	}
	return out
}

// integrity reads every page and every row. A missing file is sound.
func (s *Store) integrity(ctx context.Context) error {
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
	return s.view(ctx, func(q querier) error {
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
