// Package openai speaks OpenAI's two APIs: Responses, for OpenAI itself, and Chat
// Completions, for every server that is compatible with it: Ollama, vLLM, LM Studio,
// Gemini's endpoint and others.
//
// What belongs here: turning a model.Request into a body of the API and its events into
// model.Delta. What may not come in: retries (the loop counts them), environment
// variables, prompts. Which file to open: openai.go for options and errors, stream.go
// for the request and the events on the wire, chat.go and responses.go for one API each.
package openai
