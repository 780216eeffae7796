package agent

import (
	"encoding/json"
	"time"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/skill"
)

// EventType names what happened.
type EventType string

// The events, in the order in which a turn can show them first.
const (
	TurnStarted     EventType = "turn_started"
	Preloaded       EventType = "preloaded" // Skill: one that was asked for before the first model call
	SkillActivated  EventType = "skill_activated"
	SkillCleared    EventType = "skill_cleared"
	Routed          EventType = "routed"
	CatalogRendered EventType = "catalog"
	ModelStarted    EventType = "model_started" // Step, Model
	TextDelta       EventType = "text_delta"
	ReasoningDelta  EventType = "reasoning_delta"
	Retried         EventType = "retry"     // the text deltas since model_started do not count
	UsageCounted    EventType = "usage"     // of the step that just ended
	Compacted       EventType = "compacted" // Compaction; the steps before it are gone from the conversation
	BudgetWarned    EventType = "budget_warning"
	ToolRequested   EventType = "tool_requested"
	GateDecided     EventType = "gate_decision"
	ConfirmNeeded   EventType = "confirm_needed"
	ConfirmAnswered EventType = "confirm_answered"
	ToolStarted     EventType = "tool_started"
	ToolFinished    EventType = "tool_finished"
	HookRan         EventType = "hook"          // Hook: one that ran, and what came of it
	TurnFinished    EventType = "turn_finished" // last, once

	SubagentStarted  EventType = "subagent_started"  // Sub, and Skill: what it carries out
	SubagentEvent    EventType = "subagent_event"    // Sub.Event: one of its own events, its turn_finished too
	SubagentFinished EventType = "subagent_finished" // Sub
)

// Event is one thing that happened in a turn. Beside the first six fields those are
// set that the type speaks of.
type Event struct {
	Type    EventType `json:"type"`
	Trace   string    `json:"trace_id"`
	Session string    `json:"session"`
	Turn    int       `json:"turn"` // from 1
	Seq     int       `json:"seq"`  // from 1, without gaps
	Time    time.Time `json:"ts"`

	Text       string           `json:"text,omitempty"`
	Step       int              `json:"step,omitempty"` // from 1
	Model      string           `json:"model,omitempty"`
	Skill      *SkillEvent      `json:"skill,omitempty"`
	Call       *CallEvent       `json:"call,omitempty"`
	Retry      *Retry           `json:"retry,omitempty"`
	Usage      *model.Usage     `json:"usage,omitempty"`
	Budget     *Spent           `json:"budget,omitempty"`
	End        *End             `json:"end,omitempty"`
	Sub        *SubEvent        `json:"sub,omitempty"`
	Compaction *Compaction      `json:"compaction,omitempty"`
	Hook       *command.HookRun `json:"hook,omitempty"`
	Signal     *SignalEvent     `json:"signal,omitempty"`    // of turn_started, where a signal started it
	Placement  string           `json:"placement,omitempty"` // of turn_started: where tools run
	Route      *route.Result    `json:"-"`
	Catalog    *catalog.Catalog `json:"-"`
	Blocks     []Block          `json:"-"` // of model_started: the prompt as it is sent, without token counts
}

// SkillEvent tells what became of one skill. Code is "" where it was started, else
// why not, with the reason in Message.
type SkillEvent struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"`
	Source  string `json:"source,omitempty"`
	By      string `json:"by"` // user, model, router, signal, scenario, host
	Scope   string `json:"scope,omitempty"`
	Digest  string `json:"digest,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// Commands of its text, in order, with what became of them; of one that was not started
	// too, where a command ended the load.
	Commands []command.Outcome `json:"-"`
	Unrun    string            `json:"-"` // why they are off
	// Findings are for people: what of the skill does not count, and why.
	Findings []skill.Diagnostic `json:"-"`
}

// CallEvent tells of one tool call. Args are as checked; before the gate has seen
// them, as the model wrote them.
type CallEvent struct {
	ID       string          `json:"id"`
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"args,omitempty"`
	Decision *gate.Decision  `json:"-"`
	Verdict  gate.Verdict    `json:"verdict,omitempty"`
	Tier     string          `json:"tier,omitempty"`
	Code     string          `json:"code,omitempty"` // of the decision, or of the result
	Reason   string          `json:"reason,omitempty"`
	Output   string          `json:"output,omitempty"` // what the model gets
	IsError  bool            `json:"is_error,omitempty"`
	Elapsed  time.Duration   `json:"-"`
}

// Retry tells that a step is asked again.
type Retry struct {
	Attempt int           `json:"attempt"` // of the coming request, from 2
	Wait    time.Duration `json:"wait_ns"`
	Code    string        `json:"code"`
	Message string        `json:"message"`
}

// Stop says why a turn ended.
type Stop string

// The stops.
const (
	StopEnd       Stop = "end"
	StopSteps     Stop = "max_steps"  // model steps or tool calls
	StopTokens    Stop = "max_tokens" // of the turn, or the model's bound for one answer
	StopTime      Stop = "max_time"
	StopCancelled Stop = "cancelled"
	StopModel     Stop = "model_error"
	StopRefused   Stop = "refused" // by the model, or the turn could not start
	StopLoop      Stop = "loop_detected"
	StopOffline   Stop = "offline"
	StopError     Stop = "error" // a fault that is not the model's

	// StopInterrupted is of no event: the process was killed in the turn, as the transcript
	// says of it.
	StopInterrupted Stop = "interrupted"
)

// End tells how a turn ended. Code and Message are of the error, if there was one.
type End struct {
	Stop    Stop          `json:"stop"`
	Answer  string        `json:"answer"` // text of the last step
	Steps   int           `json:"steps"`
	Calls   int           `json:"calls"`
	Usage   model.Usage   `json:"usage"`
	Elapsed time.Duration `json:"elapsed_ns"`
	Code    string        `json:"code,omitempty"`
	Message string        `json:"message,omitempty"`
}
