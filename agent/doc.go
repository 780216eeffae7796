// Package agent runs one turn: it puts the prompt together, asks the model, passes
// each tool call through the gate, runs what was allowed, and goes on until the model
// is done or a budget ends it. It decides nothing about files, winners, relevance,
// tiers or texts: it asks the rooms that do, through interfaces that it is given.
//
// What belongs here: the loop, the prompt's blocks and their order, events, budgets,
// retries, cancellation. What may not come in: a provider's library (agent/model has
// one package for each), file names, verdicts, anything that prints.
//
// Promises: turn_finished is the last event and comes once; a tool runs only after
// the gate allowed those very arguments; the stable blocks are the same bytes in
// every turn of a session while Snapshot and configuration are; whatever happens, the
// session's turn layer is gone when Run returns.
//
// Which file to open:
//
//   - runner.go: Deps, New, Run and how a turn ends; input.go: what a turn starts from
//   - prepare.go: skills that start before the first model call, the plan, and Prepare
//     for hosts without a model; own.go: turns of hosts that have a loop of their own;
//     blocks.go and skeleton.md: the prompt
//   - loop.go: from step to step; step.go: one request to the model with its retries
//   - signal.go: turns that a signal starts, and what of it counts; scenario.go: which
//     scenarios a request shows, playbooks; placement.go: tools that run where the session does
//   - tools.go: tools that are found instead of shown, calls that stand for others, tools
//     that need a skill
//   - calls.go: one tool call; order.go: which calls of a step run first, alone or
//     side by side; preview.go: calls that are shown before they are done; result.go: what
//     the model gets back
//   - hooks.go: where a turn hears hooks, and how their commands pass the gate
//   - texts.go: what the gate says to the commands of a text that is loaded
//   - transcript.go: what a conversation goes on with in another process; keep.go: how a
//     turn writes it; record.go: the rows that a turn leaves; uses.go: what it
//     made of skills, for counting
//   - compact.go: conversations that are too long for the model; sub.go: sub-agents, what
//     they share with their caller; definition.go: their kinds; definition_read.go: the
//     form of a definition; inbox.go: how others have the loop do something
//   - budget.go, repeat.go: when to stop; events.go: what a consumer sees; observe.go: spans,
//     figures and log lines
package agent
