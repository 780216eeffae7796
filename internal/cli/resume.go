package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/store"
)

// resumeOptions are the flags of deft resume beside those of chat.
type resumeOptions struct {
	askOptions
	list, all, forget bool
}

func resumeVerb() verb {
	var o resumeOptions
	return verb{
		name: "resume", args: "[ID]", max: 1, group: groupRun, joins: true,
		effects: effects{reads: true, writes: true, network: true, runsCode: true},
		short:   "a former conversation again: the last one of this folder, or the one of ID",
		long: "It goes on as deft chat does, with what was said and with the skills that were active. A skill whose\n" +
			"file has changed keeps its former text until it is started again; one that is gone is ended. Nothing\n" +
			"that was under way when deft was killed is done again. --list shows what there is.",
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&o.list, "list", false, "list the conversations of this folder, the newest first")
			f.BoolVar(&o.all, "all", false, "with --list: those of every folder")
			f.BoolVar(&o.forget, "forget", false, "delete the conversation of ID")
			f.StringVar(&o.model, "model", "", "another model, as `PROVIDER/NAME` or scripted:FILE")
			f.IntVar(&o.maxSteps, "max-steps", 0, "at most `N` requests to the model in one turn")
			f.StringVar(&o.auto, "auto", "", "answer the gate's questions up to this `TIER` with yes")
		},
		run: func(ctx context.Context, r *run, args []string) error {
			id := "last"
			if len(args) == 1 {
				id = args[0]
			}
			switch {
			case o.list && (o.forget || len(args) == 1) || o.all && !o.list:
				return usage("--list, --forget and ID: give one of them").hinted("hint.see_help", "resume")
			case o.list:
				return r.listSessions(ctx, o.all)
			case o.forget && len(args) == 0:
				return usage("--forget needs the ID of a conversation").hinted("hint.sessions")
			case o.forget:
				return r.forgetSession(ctx, id)
			}
			o.resume = id
			return r.chat(ctx, o.askOptions)
		},
	}
}

// sessionsJSON is the document of resume --list and --forget.
type sessionsJSON struct {
	Sessions  []sessionJSON `json:"sessions"`
	Forgotten string        `json:"forgotten,omitempty"`
}

type sessionJSON struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Workspace string    `json:"workspace"`
	Model     string    `json:"model"`
	Placement string    `json:"placement"`
	Status    string    `json:"status"`
	Turns     int       `json:"turns"`
	Created   time.Time `json:"created"`
	Updated   time.Time `json:"updated"`
}

// maxListed bounds a list of conversations.
const maxListed = 1000

func (r *run) listSessions(ctx context.Context, all bool) error {
	s, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	of := r.cwd
	if all {
		of = ""
	}
	rows, err := s.Sessions(ctx, of, maxListed)
	if err != nil {
		return err
	}
	doc := sessionsJSON{Sessions: []sessionJSON{}}
	for _, row := range rows {
		doc.Sessions = append(doc.Sessions, sessionJSON{
			row.ID, row.Title, row.Workspace, row.Model, row.Placement, string(row.Status), row.Turns, row.CreatedAt, row.UpdatedAt,
		})
	}
	if r.globals.json {
		r.printJSON(doc)
	} else {
		r.sessionsText(doc.Sessions, all)
	}
	if len(rows) == 0 {
		return errNegative
	}
	return nil
}

// sessionsText is a line for each conversation, and a second one for where it is of.
func (r *run) sessionsText(list []sessionJSON, all bool) {
	for _, s := range list {
		r.out.Printf("%s  %s  %3d  %-11s  %s\n", s.ID, s.Updated.Local().Format(time.DateTime), s.Turns, s.Status, s.Title)
		if all {
			r.out.Printf("    %s\n", s.Workspace)
		}
	}
	if len(list) == 0 {
		r.hintf("%s", r.words.Say("resume.none"))
	}
}

func (r *run) forgetSession(ctx context.Context, id string) error {
	s, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	row, err := r.findSession(ctx, s, id)
	if err != nil {
		return err
	}
	if err := r.confirm("resume.forget"); err != nil {
		return err
	}
	if !r.writing.dryRun {
		if err := s.DeleteSession(ctx, row.ID); err != nil && !errors.Is(err, store.ErrNotFound) {
			return sessionFailure(row.ID, err)
		}
	}
	if r.globals.json {
		r.printJSON(sessionsJSON{Sessions: []sessionJSON{}, Forgotten: row.ID})
	} else {
		r.hintf("%s", r.words.Say("resume.forgotten", row.ID))
	}
	return nil
}
