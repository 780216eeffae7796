package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/deftskills/deft/gate"
)

const (
	maxTodo     = 100 // items of the list
	maxTodoText = 500 // bytes of an item
)

// Status is the state of one item of the list of things to do.
type Status string

// The states of an item.
const (
	Pending Status = "pending"
	Active  Status = "active"
	Done    Status = "done"
)

// statuses maps what models write to a state.
var statuses = map[string]Status{
	"": Pending, "pending": Pending, "todo": Pending, "open": Pending,
	"active": Active, "in_progress": Active, "doing": Active,
	"done": Done, "completed": Done,
}

// Item is one thing to do.
type Item struct {
	Text   string `json:"text"`
	Status Status `json:"status"`
}

// Todo is the list of one session; it is safe for concurrent use.
type Todo struct {
	mu    sync.Mutex
	items []Item
}

// Items returns the list, in order.
func (t *Todo) Items() []Item {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.items)
}

// todoTool replaces the list.
type todoTool struct{ list *Todo }

const todoSchema = `{"type":"object","properties":{"items":{"type":"array","maxItems":100,"items":{"type":"object","properties":{"text":{"type":"string","minLength":1,"maxLength":500},"status":{"type":"string","enum":["pending","active","done"]}},"required":["text","status"],"additionalProperties":false}}},"required":["items"],"additionalProperties":false}`

func (t *todoTool) Spec() Spec {
	return Spec{
		Name: "todo", Description: description("todo"), Toolset: "todo",
		Input: json.RawMessage(todoSchema),
		Tier:  gate.ReadOnly, Mode: Parallel,
	}
}

func (t *todoTool) Call(_ context.Context, c Call) (Result, error) {
	in := parseInput(c.Input)
	raw, ok := in.take("items")
	var items []Item
	switch {
	case !ok:
		in.bad("items is missing")
	case json.Unmarshal(raw, &items) != nil:
		in.bad("items: got %s, want a list of objects with text and status", kindOf(raw))
	case len(items) > maxTodo:
		in.bad("items: %d entries, limit %d", len(items), maxTodo)
	}
	counts := map[Status]int{}
	for i := range items {
		status, known := statuses[strings.ToLower(strings.TrimSpace(string(items[i].Status)))]
		items[i].Text, items[i].Status = strings.TrimSpace(items[i].Text), status
		switch {
		case !known:
			in.bad("items[%d].status is none of pending, active, done", i)
		case items[i].Text == "":
			in.bad("items[%d].text is empty", i)
		case len(items[i].Text) > maxTodoText:
			in.bad("items[%d].text: %d bytes, limit %d", i, len(items[i].Text), maxTodoText)
		}
		counts[status]++
	}
	if in.fault != nil {
		return *in.fault, nil
	}
	t.list.mu.Lock()
	t.list.items = items
	t.list.mu.Unlock()
	return Result{
		Text:       fmt.Sprintf("%s%d items: %d done, %d active, %d pending.", in.note(), len(items), counts[Done], counts[Active], counts[Pending]),
		Structured: items,
	}, nil
}

// State implements Stateful.
func (t *todoTool) State() json.RawMessage {
	items := t.list.Items()
	if len(items) == 0 {
		return nil
	}
	src, err := json.Marshal(items)
	if err != nil {
		return nil // texts and states: it cannot fail
	}
	return src
}

// Restore implements Stateful.
func (t *todoTool) Restore(state json.RawMessage) error {
	var items []Item
	if err := json.Unmarshal(state, &items); err != nil || len(items) > maxTodo {
		return fmt.Errorf("list of things to do: not one: %v", err)
	}
	t.list.mu.Lock()
	defer t.list.mu.Unlock()
	t.list.items = items
	return nil
}
