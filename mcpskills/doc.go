// Package mcpskills speaks the Model Context Protocol: today it takes in the tools of
// other servers, so that a model can call them through the same gate as every other tool.
//
// What belongs here: which servers there are and how one is reached, what of their tools
// is taken and under which names and tiers, what a model is told of a result. What may not
// come in: settings files and consents (the caller hands over servers that may be started),
// verdicts on calls (gate), the loop (agent), anything that is printed.
//
// Everything a server says is a stranger's word. Its descriptions pass internal/safetext,
// its schemas are bounded and never fetch anything, its hints can only raise a tier, its
// links are shown and not opened, and it gets neither a model nor the person's secrets:
// sampling is refused, questions to the person carry the server's name.
//
// A server is reached when a turn first needs its tools, and never before; one that does
// not answer costs ten seconds once, and its tools are away with the reason.
//
// Which file to open:
//
//   - server.go: what a server is, its name, what identifies it
//   - host.go: all servers of a program; provider.go: one as a toolset.Provider, when it
//     is connected, asked again and given up
//   - child.go, child_unix.go, child_other.go: a server as a process; remote.go: over HTTP
//   - tools.go: names, tiers, descriptions, changes; schema.go: what schemas are taken
//   - call.go: a call, its time, its progress; result.go: what the model is told of it
//   - skills.go: the skills that a server serves
//   - question.go: what a server may ask the person
package mcpskills
