package toolset

import "context"

// Provider brings tools that come and go while a session lasts, such as those of a server
// of tools. It must be safe for concurrent use.
type Provider interface {
	// Name is what people call it: the name of the server.
	Name() string
	// Provide returns what there is for the turn that begins, and connects first where that
	// is needed. It ends with ctx, and by its own bounds before that.
	Provide(ctx context.Context) Provided
	// Knows reports whether the provider has, or before it was first asked might have, a
	// tool of that name; one that ends in "*" asks for any that begins so. It never connects.
	Knows(tool string) bool
	// Lost reports whether the provider was asked and could not be had. It never connects.
	Lost() bool
	// State identifies what Knows and Lost answer now.
	State() string
}

// Provided is what a Provider has for one turn.
type Provided struct {
	Tools []Tool
	Away  string // why there are none, in a sentence for the model; "" = they are there
}
