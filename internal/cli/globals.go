package cli

import (
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/internal/config"
	"github.com/deftskills/deft/internal/lockfile"
	"github.com/deftskills/deft/skill"
)

// globals are the flags that every verb has.
type globals struct {
	cwd, home, dialect, clients, lang string
	db                                string
	dbFrom                            config.From // who said db
	blobs                             string
	blobsFrom                         config.From // who said blobs
	sources                           []string
	profile                           string
	profileFrom                       config.From // who said profile
	onlySources, trustProject         bool
	json, plain, noColor              bool
	quiet, verbose, help              bool
	timeout, lockWait                 time.Duration
}

func (g *globals) bind(f *pflag.FlagSet) {
	f.StringVarP(&g.cwd, "cwd", "C", "", "workspace `DIR`; default the current one")
	f.StringVar(&g.home, "home", "", "`DIR` for everything that deft keeps; DEFT_HOME")
	f.StringVar(&g.db, "db", "", "where state is kept: `URL` sqlite:PATH or postgres://…; DEFT_DB")
	f.StringVar(&g.blobs, "blobs", "", "where published files are: `URL` file:PATH or s3://BUCKET?…; DEFT_BLOBS")
	f.StringArrayVar(&g.sources, "source", nil, "more skills: directory, skill, SKILL.md or glob, as `[KIND=]PATH`; DEFT_SOURCES")
	f.BoolVar(&g.onlySources, "only-sources", false, "no other skills than those of --source")
	f.StringVar(&g.dialect, "dialect", "", "rules of another system, by `NAME`; DEFT_DIALECT")
	f.StringVar(&g.clients, "clients", "", "other agents whose folders are read too: `LIST` by comma")
	f.BoolVar(&g.trustProject, "trust-project", false, "for this run the project folder counts as trusted")
	f.StringVar(&g.profile, "profile", "", "the profile of skills for this run, by `NAME`; DEFT_PROFILE")
	f.BoolVar(&g.json, "json", false, "one JSON document on standard output")
	f.BoolVar(&g.plain, "plain", false, "no colour, no progress")
	f.BoolVar(&g.noColor, "no-color", false, "no colour; NO_COLOR")
	f.BoolVarP(&g.quiet, "quiet", "q", false, "no notes on standard error, only errors")
	f.BoolVarP(&g.verbose, "verbose", "v", false, "every diagnostic on standard error")
	f.StringVar(&g.lang, "lang", "", "language of messages, `en|zh`; LANG")
	f.DurationVar(&g.timeout, "timeout", 0, "a bound on the whole verb, such as `30s`")
	f.DurationVar(&g.lockWait, "lock-wait", lockfile.DefaultWait, "how long a lock of another process is waited for; `0` = not at all")
	f.BoolVarP(&g.help, "help", "h", false, "help for the verb")
}

// environment fills what no flag said from the environment, and checks the rest.
func (g *globals) environment(env func(string) string) error {
	if g.dialect == "" {
		g.dialect = env("DEFT_DIALECT")
	}
	if g.dialect == "" {
		g.dialect = string(skill.Deft)
	}
	if !known(skill.Dialects(), skill.Dialect(g.dialect)) {
		var names []string
		for _, d := range skill.Dialects() {
			names = append(names, string(d))
		}
		return usage("dialect %q is not known", g.dialect).hinted("hint.one_of", strings.Join(names, ", "))
	}
	g.profileFrom = config.From{Level: config.Flag, File: "--profile"}
	if g.profile == "" {
		g.profile = env("DEFT_PROFILE")
		g.profileFrom = config.From{Level: config.Env, File: "DEFT_PROFILE"}
	}
	g.dbFrom = config.From{Level: config.Flag, File: "--db"}
	if g.db == "" {
		g.db = env("DEFT_DB")
		g.dbFrom = config.From{Level: config.Env, File: "DEFT_DB"}
	}
	g.blobsFrom = config.From{Level: config.Flag, File: "--blobs"}
	if g.blobs == "" {
		g.blobs = env("DEFT_BLOBS")
		g.blobsFrom = config.From{Level: config.Env, File: "DEFT_BLOBS"}
	}
	if list := env("DEFT_SOURCES"); list != "" {
		sep := ":"
		if runtime.GOOS == "windows" {
			sep = ";"
		}
		for path := range strings.SplitSeq(list, sep) {
			if path != "" {
				g.sources = append(g.sources, path)
			}
		}
	}
	switch {
	case g.lang == "zh" || g.lang == "en":
	case g.lang != "":
		return usage("language %q is not known", g.lang).hinted("hint.one_of", "en, zh")
	default:
		g.lang = locale(env)
	}
	if g.lockWait < 0 {
		return usage("lock wait %s is negative", g.lockWait)
	}
	if g.timeout < 0 {
		return usage("timeout %s is negative", g.timeout)
	}
	return nil
}

// locale reads the language of messages as POSIX programs do.
func locale(env func(string) string) string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := env(name); v != "" {
			if strings.HasPrefix(v, "zh") {
				return "zh"
			}
			return "en"
		}
	}
	return "en"
}

func known[T comparable](list []T, v T) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}
