// Package toolset holds the tools that a model calls: those that concern skills, those
// that find and call other tools, the six that concern files of the workspace and the
// list of things to do, the one that runs shell commands, the one that fetches pages, the
// one that runs sub-agents, and those for notes that outlive a conversation.
//
// What belongs here: one file a tool with its schema, its description for the model
// (text/<tool>.md), and its handler; which tools exist when; the texts of refusals.
// What may not come in: verdicts on calls (gate), what is active (session), how a
// name finds a skill (registry), the loop (agent). Handlers join no paths: files of
// skills are opened through source, files of the workspace through workspace.go.
//
// Tools keep no state of their own. What is loaded lives in the session; what was
// read before a write lives in the Seen value given at construction. A handler
// returns a Go error only for a cancelled context or a broken invariant; everything
// that a model can repair is a Result with a stable code.
//
// To change what a tool says of itself open text/<tool>.md; which tools a dialect has,
// under which names and when, dialects.json (read by face.go); the moments themselves,
// expose.go; names and other spellings of arguments, input.go and normal.go; the
// reading of a skill's files, skill_read.go; loading on demand, on_demand.go; tools that
// are not in the model's list, tool_search.go; scripts, skill_run.go; shell commands,
// bash.go; how a run ended, ran.go; confinement to the workspace, workspace.go; ignore
// files, ignore.go; notes, memory.go; pages of the web, web_fetch.go, their text, html.go;
// sub-agents, task.go; tools that come and go, provider.go; what parts a foreign text from
// the rest of an answer, apart.go.
package toolset
