package store

import (
	"context"
	"fmt"
	"io/fs"
	"path"
)

// Schema says how far a database is.
type Schema struct {
	Current int64    // 0 = it holds nothing yet
	Wanted  int64    // what this release writes
	Pending []string // migrations that are to come, in order, such as "0006_changes"
	// Floor is the oldest release's schema that may still read the database, 0 when it holds
	// nothing.
	Floor  int64
	Backup string // of Migrate: the copy of what was before; "" = none was made
}

// Schema returns how far the database is. It changes nothing. A database of a newer
// release that this one must not read is ErrNewerSchema.
func (s *Store) Schema(ctx context.Context) (Schema, error) { return s.b.schemaNow(ctx) }

// Migrate brings the database to the schema of this release, making one where there is
// none, and returns how far it is then. A file is copied first; of a server's database its
// own backups are the way back. A database of a newer release is ErrNewerSchema.
func (s *Store) Migrate(ctx context.Context) (Schema, error) {
	backup, err := s.b.forward(ctx)
	if err != nil {
		return Schema{}, err
	}
	now, err := s.Schema(ctx)
	now.Backup = backup
	return now, err
}

// schemaOfDatabase reads what is noted in a database, where read calls f at most once.
func schemaOfDatabase(ctx context.Context, migrations fs.FS, latest int64, read func(f func(q querier) error) (int64, error)) (Schema, error) {
	out := Schema{Wanted: latest}
	var err error
	out.Current, err = read(func(q querier) (err error) {
		out.Floor, err = schemaNote(ctx, q, "compat_floor")
		return err
	})
	if err != nil {
		return Schema{}, err
	}
	names, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		return Schema{}, err
	}
	for _, name := range names {
		if n, err := migrationNumber(name); err == nil && n > out.Current {
			out.Pending = append(out.Pending, name[:len(name)-len(path.Ext(name))])
		}
	}
	return out, nil
}

func (s *file) schemaNow(ctx context.Context) (Schema, error) {
	out, err := schemaOfDatabase(ctx, s.migrations, s.latest, func(f func(querier) error) (int64, error) {
		return s.readOnce(ctx, 1, f)
	})
	return out, s.say(err)
}

func (s *server) schemaNow(ctx context.Context) (Schema, error) {
	s.known.Store(false) // the number itself is asked for
	out, err := schemaOfDatabase(ctx, s.migrations, s.latest, func(f func(querier) error) (int64, error) {
		return s.readOnce(ctx, 1, f)
	})
	return out, s.say(err)
}

func (s *file) forward(ctx context.Context) (backup string, err error) {
	err = s.locked(ctx, "migrate", func() error {
		h, err := s.writable(ctx)
		if err != nil {
			return err
		}
		defer s.release(h)
		backup, h.backup = h.backup, ""
		return nil
	})
	return backup, err
}

func (s *server) forward(ctx context.Context) (backup string, err error) {
	if s.o.ReadOnly {
		return "", fmt.Errorf("%w: %s", ErrReadOnly, s.address)
	}
	now, err := s.schemaNow(ctx)
	if err != nil {
		return "", err
	}
	if now.Current > s.latest {
		return "", newer(s.address, now.Current, s.latest)
	}
	return "", s.say(s.migrate(ctx))
}
