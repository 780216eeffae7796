package deft_test

import (
	"context"
	"fmt"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model/scripted"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/source"
)

// Run runs a turn with a model and tells what happens. The scripted model plays the
// steps it is given; a program puts an adapter of a provider in its place.
func ExampleSession_Run() {
	ctx := context.Background()
	engine, err := deft.Open(ctx, deft.Options{
		Workspace:   "/src",
		OnlySources: true,
		Data:        []source.Definition{{Name: "greet", Description: "Greet a person.", Content: "Say hello, then ask how they are."}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	script, err := scripted.Parse("demo.yaml", []byte(`
steps:
  - calls:
      - {name: skill, input: {name: greet}}
  - text: Hello, Ada. How are you?
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := engine.NewSession(ctx, deft.SessionOptions{Model: scripted.New("demo", script)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	for event, err := range session.Run(ctx, deft.Input{Text: "greet Ada", Origin: gate.Interactive}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch event.Type {
		case agent.SkillActivated:
			fmt.Println("skill:", event.Skill.Name, "by", event.Skill.By)
		case agent.TurnFinished:
			fmt.Println(event.End.Answer)
		}
	}
	// Output:
	// skill: greet by model
	// Hello, Ada. How are you?
}
