package model

import (
	"context"
	"encoding/json"
	"iter"
)

// Model is one model of one provider. Implementations are safe for concurrent use.
type Model interface {
	Info() Info
	// Stream asks for one step. The sequence ends after the Delta that carries Stop,
	// or with one error, which is an *Error. A consumer that stops reading, or a
	// cancelled context, closes the connection. Nothing is retried.
	Stream(ctx context.Context, r Request) iter.Seq2[Delta, error]
}

// Info describes a model. Zero numbers are unknown.
type Info struct {
	Provider  string // as in PROVIDER/NAME
	Name      string
	Window    int  // tokens of input and output together
	MaxOutput int  // tokens of one step
	Caches    bool // the adapter marks what the provider is to cache
}

// String returns PROVIDER/NAME, or scripted:FILE: what --model takes.
func (i Info) String() string {
	if i.Provider == "scripted" {
		return "scripted:" + i.Name
	}
	return i.Provider + "/" + i.Name
}

// Request is what one step is asked from.
type Request struct {
	System    []Block
	Messages  []Message
	Tools     []Tool
	NoTools   bool   // tools are shown, since earlier calls need them, but none may be called
	MaxOutput int    // tokens; 0 = the adapter's default
	Effort    string // low, medium, high, xhigh, max; "" = the provider's default
}

// Block is one part of the system text. Cache asks the provider to keep everything
// up to and with this block.
type Block struct {
	Text  string
	Cache bool
}

// Role says who a message is from.
type Role string

// The roles. Results of tools are a message of their own.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one entry of the conversation. Text is of User and Assistant, Calls of
// Assistant, Results of ToolRole.
type Message struct {
	Role    Role
	Text    string
	Calls   []Call
	Results []Result
}

// Call is a tool call that the model wrote. Input is JSON as the model sent it, which
// may be none at all: whoever runs the call checks it.
type Call struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// Result answers the call of that id.
type Result struct {
	CallID, Text string
	IsError      bool
}

// Tool describes a tool to the model. Schema is a JSON Schema of an object.
type Tool struct {
	Name, Description string
	Schema            json.RawMessage
}

// Delta is one piece of a step. Exactly one of its parts is set, but for the last
// Delta, which may carry Usage beside Stop.
type Delta struct {
	Text      string
	Reasoning string
	Call      *Call  // complete
	Usage     *Usage // of the whole step; a later one replaces an earlier one
	Stop      Stop
}

// Usage counts tokens. Input includes Cached.
type Usage struct {
	Input  int `json:"input_tokens"`
	Cached int `json:"cached_tokens"`
	Output int `json:"output_tokens"`
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{Input: u.Input + v.Input, Cached: u.Cached + v.Cached, Output: u.Output + v.Output}
}

// Stop says why a step ended.
type Stop string

// The stops.
const (
	StopEnd     Stop = "end"     // the model is done
	StopTools   Stop = "tools"   // it waits for the results of its calls
	StopLength  Stop = "length"  // the output bound was reached; the last call may be missing
	StopRefused Stop = "refused" // the provider or the model declined
)
