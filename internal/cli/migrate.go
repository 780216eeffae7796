package cli

import (
	"context"
	"strings"

	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/store/jobs"
)

func migrateVerb() verb {
	return verb{
		name: "migrate", args: "[status]", max: 1, group: groupHouse, joins: true, effects: effects{reads: true, writes: true},
		short: "bring the database of the state to the schema of this release",
		long: "A file is brought forward by the first verb that writes, and copied first. The database of a server\n" +
			"that several machines use is best brought forward with this verb, before they are. With status, and\n" +
			"with --dry-run, nothing is written: exit code 1 says that something is to do.",
		run: func(ctx context.Context, r *run, args []string) error {
			if len(args) == 1 && args[0] != "status" {
				return usage("migrate takes status, not %q", args[0]).hinted("hint.see_help", "migrate")
			}
			return r.migrate(ctx, len(args) == 0 && !r.writing.dryRun)
		},
	}
}

type migrateJSON struct {
	Database    string   `json:"database"` // without its password
	Current     int64    `json:"current"`  // before; 0 = there is nothing yet
	Wanted      int64    `json:"wanted"`
	Pending     []string `json:"pending"`      // migrations that were to come
	CompatFloor int64    `json:"compat_floor"` // the oldest release's schema that may read it
	Backup      string   `json:"backup"`       // the copy that was made; "" = none
	Written     bool     `json:"written"`
}

func (r *run) migrate(ctx context.Context, write bool) error {
	s, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	before, err := s.Schema(ctx)
	if err != nil {
		return err
	}
	doc := migrateJSON{
		Database: r.storeName(), Current: before.Current, Wanted: before.Wanted, Pending: before.Pending, CompatFloor: before.Floor,
		Written: write && before.Current < before.Wanted,
	}
	if doc.Pending == nil {
		doc.Pending = []string{}
	}
	if doc.Written || before.Current > before.Wanted && write {
		var after store.Schema
		if after, err = s.Migrate(ctx); err != nil {
			return err
		}
		doc.Backup, doc.CompatFloor = after.Backup, after.Floor
	}
	if write {
		// The queue's own tables are brought forward as it is opened.
		if err := r.withQueue(ctx, func(*jobs.Queue) error { return nil }); err != nil {
			return err
		}
	}
	r.sayMigrated(doc)
	if !write && len(doc.Pending) > 0 && doc.Current > 0 {
		return errNegative
	}
	return nil
}

func (r *run) sayMigrated(doc migrateJSON) {
	if r.globals.json {
		r.printJSON(doc)
		return
	}
	say := func(key string, args ...any) { r.out.Printf("%s\n", r.words.Say(key, args...)) }
	name := r.short(doc.Database)
	switch {
	case doc.Written:
		say("migrate.done", name, doc.Current, doc.Wanted)
	case doc.Current == 0:
		say("migrate.none", name, doc.Wanted)
	case doc.Current == doc.Wanted:
		say("migrate.current", name, doc.Current)
	case doc.Current > doc.Wanted:
		say("migrate.newer", name, doc.Current, doc.Wanted)
	default:
		say("migrate.pending", name, doc.Current, doc.Wanted, strings.Join(doc.Pending, ", "))
	}
	if doc.Backup != "" {
		say("migrate.backup", r.short(doc.Backup))
	}
}
