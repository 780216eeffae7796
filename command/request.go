package command

import (
	"context"
	"time"

	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/skill"
)

// Kind is what a command is run for.
type Kind string

// The kinds.
const (
	KindInline Kind = "inline"
	KindScript Kind = "script"
	KindHook   Kind = "hook"
	KindTool   Kind = "tool"
)

// SkillRef names the skill that a command belongs to.
type SkillRef struct {
	Name, Address string
	Dir           string       // absolute; "" for a skill without a directory
	Digest        skill.Digest // of the content that wants to run
}

// Request is one command to run. Exactly one of Argv and Script is set.
type Request struct {
	Kind      Kind
	Argv      []string // program and arguments; no shell reads them
	Script    string   // a text for Shell
	Shell     string   // sh, bash, zsh, pwsh or powershell; "" = sh
	Dir       string   // absolute
	Env       []string // NAME=value, added last
	Stdin     []byte
	Timeout   time.Duration // 0 = the kind's
	MaxOutput int64         // bytes of each stream; 0 = the kind's
	Level     sandbox.Level // least level; the runner's own counts where that is higher
	Skill     SkillRef
	Network   bool // the person lets this skill's commands reach the network
}

// Result is how a command ended.
type Result = sandbox.Result

// Runs runs commands; [Runner] is the one of deft. Safe for concurrent use. The error is
// for what did not start.
type Runs interface {
	Run(ctx context.Context, q Request) (Result, error)
	// Able is nil where a request with this least level can be confined.
	Able(ctx context.Context, least sandbox.Level) error
}

// Call is one command as the gate sees it: final, with its arguments.
type Call struct {
	Command string   // as a shell would read it
	Argv    []string // set where no shell reads it
	Shell   string
	Dir     string
	Line    int // of the file
	Skill   SkillRef
	Unasked bool // nobody is asked about it: what is not allowed already is refused
}

// Verdict is the gate's answer to one call.
type Verdict string

// The verdicts. Everything else counts as Refuse.
const (
	Permit Verdict = "allow"
	Ask    Verdict = "ask" // it would have to be asked about, and nobody answered
	Refuse Verdict = "deny"
)

// Decision is the gate's answer with the rule that decided.
type Decision struct {
	Verdict      Verdict
	Rule, Reason string
}

// Gate decides on all commands of one load with one question. An error refuses all.
type Gate interface {
	Decide(ctx context.Context, calls []Call) ([]Decision, error)
}
