// Package model is what the loop knows of a language model: a request, a stream of
// normalised deltas, usage, and errors that say whether trying again makes sense.
//
// What belongs here: the shapes, the bounds on what a model may send, and the choice
// of a model by flag, key or local server. What may not come in: any provider's
// library (each has a package of its own below this one), retries (the loop counts
// them), prompts, tools that run.
//
// Which file to open: model.go for the shapes, step.go to read a whole step from a
// stream, errors.go for kinds of failure, choose.go for which model is used. A new
// provider is a new package beside anthropic and openai that passes the suite of
// internal/modeltest.
package model
