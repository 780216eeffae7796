package cli

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/deftskills/deft/skill"
)

func versionVerb() verb {
	return verb{
		name: "version", group: groupHouse,
		short: "version, commit, and what this build can do", brief: "what this build is, for a shell, of a verb",
		run: func(_ context.Context, r *run, _ []string) error { return r.version() },
	}
}

// buildFacts are what the binary says of itself.
type buildFacts struct {
	Version  string          `json:"version"`
	Commit   string          `json:"commit"`
	Go       string          `json:"go"`
	Sandbox  string          `json:"sandbox"` // the level that commands of skills run in; none: they do not run
	Dialects []skill.Dialect `json:"dialects"`
}

func build() buildFacts {
	b := buildFacts{Version: "devel", Go: runtime.Version(), Sandbox: "none", Dialects: skill.Dialects()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = s.Value
		}
	}
	return b
}

func (r *run) version() error {
	b := build()
	if r.globals.json {
		r.printJSON(b)
		return nil
	}
	r.out.Printf("deft %s\n", b.Version)
	if b.Commit != "" {
		r.out.Printf("commit %s\n", b.Commit)
	}
	r.out.Printf("%s %s/%s\nsandbox %s\n", b.Go, runtime.GOOS, runtime.GOARCH, b.Sandbox)
	return nil
}
