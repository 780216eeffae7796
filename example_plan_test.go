package deft_test

import (
	"context"
	"fmt"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/source"
)

// Plan does everything of a turn but the call of a model.
func ExampleSession_Plan() {
	ctx := context.Background()
	engine, err := deft.Open(ctx, deft.Options{
		Workspace:   "/src",
		OnlySources: true,
		Data: []source.Definition{{
			Name: "bill", Description: "Write an invoice.", Content: "Bill $ARGUMENTS.", AllowedTools: []string{"read", "write"},
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	session, err := engine.NewSession(ctx, deft.SessionOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	plan, err := session.Plan(ctx, deft.Input{Text: "/bill ACME", Origin: gate.Interactive})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range plan.Active {
		fmt.Println("active:", a.Name, "by", a.Actor)
	}
	for _, t := range plan.Tools {
		fmt.Println(t.Name, t.Decision.Tier, t.Decision.Verdict, t.Decision.Code)
	}
	// Output:
	// active: bill by user
	// read READ_ONLY allow read_only
	// write CONFIRM_ONCE deny no_answerer
}
