package store

import "context"

// Ready brings the database to this release's schema, and makes it where there is none,
// for rooms that keep tables of their own in it. With Options.NoMigrate an older schema
// is ErrReadOnly.
func (s *Store) Ready(ctx context.Context) error {
	return s.b.write(ctx, "state.save", false, func(*tx) error { return errUnchanged })
}
