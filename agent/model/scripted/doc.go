// Package scripted is a model that says what a file tells it to: for demonstrations,
// for tests of skills and tools, and for trying a set-up without a key.
//
// The file is YAML or JSON: one key, steps, with a list. Each request to the model
// takes the next step:
//
//	steps:
//	  - text: "I will read the file first."      # streamed word by word
//	    reasoning: "…"                           # optional
//	    calls:                                   # optional; then the stop is tools
//	      - name: read
//	        input: {path: README.md}
//	        id: call_1                           # optional; made if absent
//	    stop: end                                # end, tools, length or refused
//	    usage: {input: 1200, output: 40}         # optional
//	  - error: {kind: rate_limit, status: 429, retry_after: 2s, message: slow down}
//	  - text: "half a sen"
//	    cut: true                                # the stream ends before the step does
//	  - hang: true                               # nothing comes until the turn is cancelled
//
// A script that has run out answers with an error, so that a run that asks for more
// than it was written for does not pass unseen.
//
// What may not come in: templates, conditions, anything that makes the file a
// program. Which file to open: script.go reads the file, scripted.go plays it.
package scripted
