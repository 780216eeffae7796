package skill

// Names is a set of names that a condition can ask about.
type Names interface {
	Has(name string) bool
	// Digest identifies the set: equal sets, equal digests.
	Digest() [32]byte
}

// Environment is what conditions are judged against. A nil set holds nothing.
type Environment struct {
	Vars     Names  // environment variables that are set and not empty
	Tools    Names  // registered tools
	Toolsets Names  // active toolsets
	Bins     Names  // programs on the search path
	Servers  Names  // configured MCP servers
	Skills   Names  // names of available skills
	OS       string // a Go name: linux, darwin, windows
}
