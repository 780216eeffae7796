package deft_test

import (
	"context"
	"fmt"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/source"
)

// Catalog is the text that tells a model which skills there are, and the report of
// what the budget cut.
func ExampleEngine_Catalog() {
	ctx := context.Background()
	engine, err := deft.Open(ctx, deft.Options{
		Workspace:   "/src",
		OnlySources: true,
		Data: []source.Definition{
			{Name: "greet", Description: "Greet a person by name.", Content: "Say hello."},
			{Name: "bill", Description: "Write an invoice.", Content: "List the items."},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	shown, err := engine.Catalog(ctx, deft.CatalogOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(shown.Stable.Text)
	fmt.Println(shown.Report.Shown, "of", shown.Report.Total)
	// Output:
	// <available_skills>
	// - bill: Write an invoice.
	// - greet: Greet a person by name.
	// </available_skills>
	// 2 of 2
}
