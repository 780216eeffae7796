package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"
)

// Step is one answer of the server. The zero value is an empty text.
type Step struct {
	Text      string `yaml:"text"` // sent in pieces
	Reasoning string `yaml:"reasoning"`
	Calls     []Call `yaml:"calls"`
	Stop      string `yaml:"stop"` // "" = as fits; length; refused
	Usage     Usage  `yaml:"usage"`

	// Status answers with an error instead of a stream; RetryAfter is its header.
	Status     int           `yaml:"status"`
	RetryAfter string        `yaml:"retry_after"`
	Message    string        `yaml:"message"`
	Hang       bool          `yaml:"hang"`    // no answer at all until the client goes
	Stall      bool          `yaml:"stall"`   // the text, then silence until the client goes
	Cut        bool          `yaml:"cut"`     // the text and the calls, then the connection is gone
	Garbage    bool          `yaml:"garbage"` // the text, then an event that is no JSON
	Delay      time.Duration `yaml:"delay"`   // before the answer
}

// Call is a tool call. Input is sent as its JSON; Raw, if it is not "", as it is,
// also where that is no JSON.
type Call struct {
	ID    string `yaml:"id"` // "" = made
	Name  string `yaml:"name"`
	Input any    `yaml:"input"`
	Raw   string `yaml:"raw"`
}

func (c Call) arguments() string {
	if c.Raw != "" {
		return c.Raw
	}
	if c.Input == nil {
		return "{}"
	}
	src, err := json.Marshal(c.Input)
	if err != nil {
		return "{}"
	}
	return string(src)
}

// Usage is what the server says it counted.
type Usage struct {
	Input  int `yaml:"input"`
	Cached int `yaml:"cached"`
	Output int `yaml:"output"`
}

// Parse reads steps from YAML or JSON: {steps: [{text: …}, …]}.
func Parse(src []byte) ([]Step, error) {
	var s struct {
		Steps []Step `yaml:"steps"`
	}
	d := yaml.NewDecoder(bytes.NewReader(src))
	d.KnownFields(true)
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("model script: %w", err)
	}
	return s.Steps, nil
}

// pieces cuts text into parts of a few characters, long ones into about a hundred.
func pieces(text string) []string {
	var out []string
	runes := []rune(text)
	size := max(7, len(runes)/100)
	for len(runes) > 0 {
		n := min(size, len(runes))
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return out
}
