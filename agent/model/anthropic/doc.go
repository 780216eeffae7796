// Package anthropic speaks Anthropic's Messages API through its official library.
//
// What belongs here: turning a model.Request into the library's and its events into
// model.Delta. What may not come in: retries (the library's are off; the loop counts
// its own), environment variables, prompts. Which file to open: anthropic.go for the
// request, stream.go for the events and errors.
package anthropic
