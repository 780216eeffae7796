package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/deftskills/deft/internal/fault"
)

//go:embed sql/sqlite/*.sql sql/postgres/*.sql
var sqlFiles embed.FS

// backupsKept is how many copies from before a migration stay.
const backupsKept = 3

// embedded returns the migrations of "sqlite" or "postgres".
func embedded(dialect string) fs.FS {
	sub, err := fs.Sub(sqlFiles, "sql/"+dialect)
	if err != nil {
		return sqlFiles // cannot be: the directory is compiled in
	}
	return sub
}

// latestSchema is the highest number of the migrations.
func latestSchema(fsys fs.FS) (latest int64, err error) {
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		n, err := migrationNumber(name)
		if err != nil {
			return 0, err
		}
		latest = max(latest, n)
	}
	return latest, nil
}

func migrationNumber(name string) (int64, error) {
	text, _, _ := strings.Cut(name, "_")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("migration %s has no number", name)
	}
	return n, nil
}

// migrate brings the file from schema to the latest, each step in a transaction of
// its own that also raises user_version: killed in between, the next process goes on
// from there. A file that holds something is copied first. The caller holds the lock.
func (s *file) migrate(ctx context.Context, h *handle, schema int64) error {
	if schema > 0 && s.o.NoMigrate {
		return older(s.path, schema, s.latest)
	}
	db, err := s.writer(ctx, h)
	if err != nil {
		return err
	}
	if schema > 0 {
		name := fmt.Sprintf("deft-%s-%s.db", s.o.Release, s.o.Now().UTC().Format(compactTime))
		dir := filepath.Join(filepath.Dir(s.path), "backup")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if _, err := db.ExecContext(ctx, "VACUUM INTO ?", filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("backup %s: %w", filepath.Join(dir, name), err)
		}
		if err := os.Chmod(filepath.Join(dir, name), 0o600); err != nil {
			return err
		}
		h.backup = filepath.Join(dir, name)
		if err := keepLast(dir, backupsKept); err != nil {
			return err
		}
	}
	return bringTo(ctx, s.latest, goose.DialectSQLite3, db, s.migrations, func() (int64, error) { return schemaOf(ctx, db) })
}

// bringTo runs the migrations that db has not seen; schema says where that led.
func bringTo(ctx context.Context, latest int64, dialect goose.Dialect, db *sql.DB, migrations fs.FS, schema func() (int64, error)) error {
	if err := fault.Err("migrate.step"); err != nil {
		return err
	}
	p, err := goose.NewProvider(dialect, db, migrations, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return err
	}
	if n, err := schema(); err != nil || n != latest {
		return errors.Join(fmt.Errorf("migration ended at schema %d instead of %d", n, latest), err)
	}
	fault.Point("migrate.step")
	return nil
}

// compactTime sorts by name as by time.
const compactTime = "20060102T150405.000Z"

// keepLast removes all backups but the n newest by the time in their names.
func keepLast(dir string, n int) error {
	names, err := filepath.Glob(filepath.Join(dir, "deft-*.db"))
	if err != nil {
		return err
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(backupTime(a), backupTime(b)) })
	for _, name := range names[:max(0, len(names)-n)] {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

func backupTime(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }
