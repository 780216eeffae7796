package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// verb is one command. Its definition stands in a file of its name.
type verb struct {
	name    string
	parent  string // the verb that this one stands below; filled in by command
	args    string // as help shows them: "NAME PATH"
	short   string // one line, lower case
	long    string // what help adds; may be ""
	group   string // of the short help; "" for verbs below another
	brief   string // of the short help, where the verbs that follow join its line; "" = short
	joins   bool   // shares the line of the verb before it in the short help
	effects effects
	min     int  // arguments at least
	max     int  // arguments at most; -1 = any number
	names   bool // the arguments are names of skills: completion offers them
	flags   func(*pflag.FlagSet)
	run     func(ctx context.Context, r *run, args []string) error
	below   []verb
}

// effects are what a verb may do beside printing.
type effects struct {
	reads, writes, network, runsCode bool
}

// list returns the declared effects by the words that help shows.
func (e effects) list() []string {
	var words []string
	for _, x := range []struct {
		on   bool
		word string
	}{{e.reads, "reads"}, {e.writes, "writes"}, {e.network, "network"}, {e.runsCode, "runs-code"}} {
		if x.on {
			words = append(words, x.word)
		}
	}
	return words
}

// writing are the flags of every verb that writes.
type writing struct{ dryRun, yes bool }

// command makes the cobra command of a verb. The command never returns an error:
// start keeps it, so that there is one place that prints errors.
func (v *verb) command(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:                   strings.TrimSpace(v.name + " " + v.args),
		Short:                 v.short,
		Long:                  v.long,
		Args:                  cobra.ArbitraryArgs,
		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
		RunE:                  func(c *cobra.Command, args []string) error { a.start(c.Context(), v, args); return nil },
	}
	c.SetHelpFunc(func(*cobra.Command, []string) { a.help(v) })
	c.SetFlagErrorFunc(a.flagError)
	c.Flags().SortFlags = false
	if v.flags != nil {
		v.flags(c.Flags())
	}
	if v.effects.writes {
		c.Flags().BoolVar(&a.writing.dryRun, "dry-run", false, "show what would be written; write nothing")
		c.Flags().BoolVarP(&a.writing.yes, "yes", "y", false, "answer this verb's own questions with yes")
	}
	if v.names {
		c.ValidArgsFunction = func(c *cobra.Command, args []string, part string) ([]string, cobra.ShellCompDirective) {
			return a.completeNames(c.Context(), part), cobra.ShellCompDirectiveNoFileComp
		}
	}
	for i := range v.below {
		v.below[i].parent = v.path()
		c.AddCommand(v.below[i].command(a))
	}
	return c
}

// path is the verb as people type it, without the program's name.
func (v *verb) path() string { return strings.TrimSpace(v.parent + " " + v.name) }

// checkArgs judges the number of arguments.
func (v *verb) checkArgs(args []string) error {
	switch {
	case len(v.below) > 0 && len(args) > 0:
		var names []string
		for _, b := range v.below {
			names = append(names, b.name)
		}
		return usage("verb %q is not known below %q", args[0], v.name).hinted("hint.one_of", strings.Join(names, ", "))
	case len(args) < v.min && v.max == v.min:
		return usage("%s takes %s; %d given", v.path(), v.args, len(args)).hinted("hint.see_help", v.path())
	case len(args) < v.min:
		return usage("%s needs %s", v.path(), v.args).hinted("hint.see_help", v.path())
	case v.max >= 0 && len(args) > v.max:
		return usage("%s takes %s; %q is too much", v.path(), orElse(v.args, "no arguments"), args[v.max]).hinted("hint.see_help", v.path())
	}
	return nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
