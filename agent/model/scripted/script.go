package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/deftskills/deft/agent/model"
	"go.yaml.in/yaml/v3"
)

// Script is what the model will say, one step a request.
type Script struct {
	Steps []Step `yaml:"steps"`
}

// Step is one answer. The zero value is an empty text that ends the turn.
type Step struct {
	Text      string     `yaml:"text"`
	Reasoning string     `yaml:"reasoning"`
	Calls     []Call     `yaml:"calls"`
	Stop      model.Stop `yaml:"stop"` // "" = tools where there are calls, else end
	Usage     *Usage     `yaml:"usage"`
	Error     *Failure   `yaml:"error"` // instead of an answer; after Text if there is one
	Cut       bool       `yaml:"cut"`
	Hang      bool       `yaml:"hang"`
}

// Call is a tool call. Input is any value; Raw, for tests in Go, is sent as it is.
type Call struct {
	ID    string          `yaml:"id"`
	Name  string          `yaml:"name"`
	Input any             `yaml:"input"`
	Raw   json.RawMessage `yaml:"-"`
}

// JSON returns the input as the model sends it; an absent one is {}.
func (c Call) JSON() (json.RawMessage, error) {
	switch {
	case c.Raw != nil:
		return c.Raw, nil
	case c.Input == nil:
		return json.RawMessage("{}"), nil
	}
	return json.Marshal(c.Input)
}

// Usage counts the step's tokens.
type Usage struct {
	Input  int `yaml:"input"`
	Cached int `yaml:"cached"`
	Output int `yaml:"output"`
}

// Failure is an error of the provider.
type Failure struct {
	Kind       model.Kind    `yaml:"kind"` // "" = server
	Status     int           `yaml:"status"`
	RetryAfter time.Duration `yaml:"retry_after"`
	Message    string        `yaml:"message"`
}

// maxScript bounds a script file: a demonstration is written by hand.
const maxScript = 16 << 20

// Parse reads a script, YAML or JSON. name stands in errors.
func Parse(name string, src []byte) (Script, error) {
	if len(src) > maxScript {
		return Script{}, fmt.Errorf("script %s: %d bytes, at most %d", name, len(src), maxScript)
	}
	d := yaml.NewDecoder(bytes.NewReader(src))
	d.KnownFields(true)
	var s Script
	if err := d.Decode(&s); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is empty")
		}
		return Script{}, fmt.Errorf("script %s: %w", name, err)
	}
	for i, step := range s.Steps {
		if err := step.check(); err != nil {
			return Script{}, fmt.Errorf("script %s: step %d: %w", name, i+1, err)
		}
	}
	return s, nil
}

func (s Step) check() error {
	switch s.Stop {
	case "", model.StopEnd, model.StopTools, model.StopLength, model.StopRefused:
	default:
		return fmt.Errorf("stop %q is none of end, tools, length, refused", s.Stop)
	}
	for _, c := range s.Calls {
		if c.Name == "" {
			return errors.New("a call without a name")
		}
		if _, err := c.JSON(); err != nil {
			return fmt.Errorf("input of %s: %w", c.Name, err)
		}
	}
	return nil
}
