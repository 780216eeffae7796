package deft_test

import (
	"context"
	"fmt"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/source"
)

// Open finds skills and decides which win. Here they are given in code; a host gives
// a workspace and a home instead, and gets what agents keep there.
func ExampleOpen() {
	ctx := context.Background()
	engine, err := deft.Open(ctx, deft.Options{
		Workspace:   "/src",
		OnlySources: true,
		Data: []source.Definition{{
			Name: "greet", Description: "Greet a person by name. Use at the start of a talk.", Content: "Say hello to $ARGUMENTS.",
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	for _, r := range engine.Snapshot().Winners {
		fmt.Println(r.Address, r.State, r.Source.Kind)
	}
	// Output: greet available data
}
