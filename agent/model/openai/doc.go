// Package openai speaks OpenAI's two APIs through its official library: Responses,
// for OpenAI itself, and Chat Completions, for every server that is compatible with
// it: Ollama, vLLM, LM Studio, Gemini's endpoint and others.
//
// What belongs here: turning a model.Request into the library's and its events into
// model.Delta. What may not come in: retries (the library's are off; the loop counts
// its own), environment variables, prompts. Which file to open: openai.go for options
// and errors, chat.go and responses.go for one API each.
package openai
