package deft_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/source"
)

// askMyModel stands for a host's own client: it gets the system text, the messages
// and the tools, and answers with tool calls or with text.
func askMyModel(step int, system, user string, tools []string) (calls []model.Call, text string) {
	if step == 0 {
		return []model.Call{{ID: "1", Name: "skill", Input: json.RawMessage(`{"name":"greet"}`)}}, ""
	}
	return nil, "Hello, Ada."
}

// A host with a loop of its own takes the prompt and the tools from a Turn and hands
// each tool call back to it, where it passes the gate.
func ExampleSession_Begin() {
	ctx := context.Background()
	engine, err := deft.Open(ctx, deft.Options{
		Workspace:   "/src",
		OnlySources: true,
		Data:        []source.Definition{{Name: "greet", Description: "Greet a person.", Content: "Say hello and nothing else."}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	session, err := engine.NewSession(ctx, deft.SessionOptions{Identity: "You are my agent."})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()

	turn, err := session.Begin(ctx, deft.Input{Text: "greet Ada", Origin: gate.Interactive})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer turn.End()
	system, user := turn.Prompt()
	for step := 0; ; step++ {
		var tools []string
		for _, spec := range turn.Tools() {
			tools = append(tools, spec.Name)
		}
		calls, text := askMyModel(step, system, user, tools)
		if len(calls) == 0 {
			fmt.Println(text)
			return
		}
		for _, result := range turn.Call(calls...) {
			fmt.Println(strings.Contains(result.Text, "Say hello and nothing else."), result.IsError)
		}
	}
	// Output:
	// true false
	// Hello, Ada.
}
