package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/internal/safetext"
)

func helpVerb() verb {
	return verb{
		name: "help", args: "[VERB]", max: 2, group: groupHouse,
		short: "what a verb does, its flags and its effects", joins: true,
		run: func(_ context.Context, r *run, args []string) error { return r.helpFor(args) },
	}
}

// helpFor shows the short help, or the help of one verb.
func (a *app) helpFor(args []string) error {
	if len(args) == 0 {
		a.shortHelp()
		return nil
	}
	list := a.verbs
	for i, name := range args {
		at := -1
		for j := range list {
			if list[j].name == name {
				at = j
			}
		}
		switch {
		case at < 0:
			return unknownVerb(name, list)
		case i == len(args)-1:
			return a.showHelp(&list[at])
		}
		list = list[at].below
	}
	return nil
}

// unknown answers a first argument that is no verb; none at all is a question for
// the short help.
func (a *app) unknown(args []string) error {
	if len(args) == 0 {
		a.shortHelp()
		return nil
	}
	return unknownVerb(args[0], a.verbs)
}

func unknownVerb(name string, list []verb) error {
	var names []string
	for _, v := range list {
		if v.group != "" || v.name != "man" {
			names = append(names, v.name)
		}
	}
	f := usage("verb %q is not known", name)
	f.code = "unknown_verb"
	if near := closest(name, names, 3); len(near) > 0 {
		return f.hinted("hint.closest", strings.Join(near, ", "))
	}
	return f.hinted("hint.help")
}

// shortHelp fits one screen of 24 lines and 80 columns; a test holds that.
func (a *app) shortHelp() {
	p := a.out
	p.Printf("deft VERB [FLAGS] [ARGUMENTS] - skills for agents; deft help VERB tells more\n")
	group := ""
	for i, v := range a.verbs {
		if v.group == "" || v.joins {
			continue
		}
		if v.group != group {
			p.Printf("%s\n", p.Paint(safetext.Bold, v.group))
			group = v.group
		}
		names := v.name
		for _, next := range a.verbs[i+1:] {
			if !next.joins {
				break
			}
			names += ", " + next.name
		}
		p.Printf("  %-15s %s\n", names, orElse(v.brief, v.short))
	}
}

// help is what --help shows.
func (a *app) help(v *verb) {
	if v.name == "deft" {
		a.shortHelp()
		return
	}
	_ = a.showHelp(v)
}

// showHelp shows everything about one verb.
func (a *app) showHelp(v *verb) error {
	p := a.out
	name := v.path()
	p.Printf("%s\n\n", p.Paint(safetext.Bold, strings.TrimSpace("deft "+name+" "+v.args)))
	p.Printf("%s\n", v.short)
	if v.long != "" {
		p.Text("\n" + v.long + "\n")
	}
	for _, b := range v.below {
		p.Printf("\n  deft %s %s\n      %s\n", name, strings.TrimSpace(b.name+" "+b.args), b.short)
	}
	effects := strings.Join(v.effects.list(), ", ")
	p.Printf("\neffects: %s\n", orElse(effects, "none"))
	own := pflag.NewFlagSet(v.name, pflag.ContinueOnError)
	own.SortFlags = false
	if v.flags != nil {
		v.flags(own)
	}
	if v.effects.writes {
		own.Bool("dry-run", false, "show what would be written; write nothing")
		own.BoolP("yes", "y", false, "answer this verb's own questions with yes")
	}
	a.flagTable("flags", own)
	shared := pflag.NewFlagSet("shared", pflag.ContinueOnError)
	shared.SortFlags = false
	(&globals{}).bind(shared)
	a.flagTable("flags of every verb", shared)
	return nil
}

func (a *app) flagTable(title string, flags *pflag.FlagSet) {
	if !flags.HasFlags() {
		return
	}
	a.out.Printf("\n%s\n", a.out.Paint(safetext.Bold, title))
	flags.VisitAll(func(f *pflag.Flag) {
		arg, text := pflag.UnquoteUsage(f)
		short := "    "
		if f.Shorthand != "" {
			short = "-" + f.Shorthand + ", "
		}
		left := strings.TrimSpace(fmt.Sprintf("--%s %s", f.Name, arg))
		a.out.Printf("  %s%-20s %s\n", short, left, text)
	})
}
