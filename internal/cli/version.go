package cli

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/skill"
)

func versionVerb() verb {
	return verb{
		name: "version", group: groupHouse,
		short: "version, commit, and what this build can do", brief: "what this build is, for a shell, of a verb",
		run: func(ctx context.Context, r *run, _ []string) error { return r.version(ctx) },
	}
}

// buildFacts are what the binary says of itself.
type buildFacts struct {
	Version  string          `json:"version"`
	Commit   string          `json:"commit"`
	Go       string          `json:"go"`
	Sandbox  sandbox.Level   `json:"sandbox"` // the highest level that works here; below files commands of skills do not run
	Dialects []skill.Dialect `json:"dialects"`
}

func build() buildFacts {
	b := buildFacts{Version: "devel", Go: runtime.Version(), Dialects: skill.Dialects()}
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

func (r *run) version(ctx context.Context) error {
	b := build()
	b.Sandbox = r.app.box().Level(ctx)
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
