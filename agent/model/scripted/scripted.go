package scripted

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/deftskills/deft/agent/model"
)

// Model plays a script. It is safe for concurrent use; steps go out in order of the
// requests.
type Model struct {
	name string

	mu       sync.Mutex
	steps    []Step
	taken    int
	requests []model.Request
}

// New returns a model that plays s. name stands in Info and errors.
func New(name string, s Script) *Model { return &Model{name: name, steps: s.Steps} }

// Info implements model.Model.
func (m *Model) Info() model.Info {
	return model.Info{Provider: "scripted", Name: m.name, Window: 200_000, MaxOutput: 8192, Caches: true}
}

// Requests returns what was asked so far.
func (m *Model) Requests() []model.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]model.Request(nil), m.requests...)
}

func (m *Model) next(r model.Request) (Step, int, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, r)
	if m.taken == len(m.steps) {
		return Step{}, m.taken, false
	}
	m.taken++
	return m.steps[m.taken-1], m.taken, true
}

// Stream implements model.Model.
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		fail := func(e *model.Error) { yield(model.Delta{}, e) }
		if ctx.Err() != nil {
			fail(model.FromTransport(ctx, ctx.Err(), false))
			return
		}
		step, number, ok := m.next(r)
		if !ok {
			fail(&model.Error{Kind: model.KindRequest, Message: fmt.Sprintf("script %s has no step %d", m.name, number+1)})
			return
		}
		for _, d := range step.deltas(number) {
			if ctx.Err() != nil {
				fail(model.FromTransport(ctx, ctx.Err(), true))
				return
			}
			if !yield(d, nil) {
				return
			}
		}
		switch {
		case step.Hang:
			<-ctx.Done()
			fail(model.FromTransport(ctx, ctx.Err(), true))
		case step.Cut:
			fail(model.FromTransport(ctx, nil, true))
		case step.Error != nil:
			fail(step.Error.error())
		}
	}
}

// deltas are the step's pieces up to its fault, if it has one.
func (s Step) deltas(number int) []model.Delta {
	var out []model.Delta
	for _, piece := range strings.SplitAfter(s.Reasoning, " ") {
		if piece != "" {
			out = append(out, model.Delta{Reasoning: piece})
		}
	}
	for _, piece := range strings.SplitAfter(s.Text, " ") {
		if piece != "" {
			out = append(out, model.Delta{Text: piece})
		}
	}
	if s.Hang || s.Cut || s.Error != nil {
		return out
	}
	for i, c := range s.Calls {
		input, _ := c.JSON() // checked by Parse
		id := c.ID
		if id == "" {
			id = fmt.Sprintf("call_%d_%d", number, i+1)
		}
		out = append(out, model.Delta{Call: &model.Call{ID: id, Name: c.Name, Input: input}})
	}
	stop := s.Stop
	switch {
	case stop == "" && len(s.Calls) > 0:
		stop = model.StopTools
	case stop == "":
		stop = model.StopEnd
	}
	last := model.Delta{Stop: stop}
	if s.Usage != nil {
		last.Usage = &model.Usage{Input: s.Usage.Input, Cached: s.Usage.Cached, Output: s.Usage.Output}
	}
	return append(out, last)
}

func (f Failure) error() *model.Error {
	kind := f.Kind
	if kind == "" {
		kind = model.KindServer
	}
	return &model.Error{Kind: kind, Status: f.Status, RetryAfter: f.RetryAfter, Message: f.Message}
}
