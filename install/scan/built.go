package scan

import "slices"

// builtRule is a rule that patterns can't say. Its id can be disabled as any other.
type builtRule struct {
	id, class string
	level     Level
	why       string
	ast       []string
}

// built lists the rules that are code.
func built() []builtRule {
	return []builtRule{
		{"UN001", "evasion", Block, "invisible tag characters carry text that only a model reads", []string{"AST01", "AST05"}},
		{"UN002", "evasion", Block, "invisible characters split or hide words where no script needs them", []string{"AST05"}},
		{"UN003", "evasion", Block, "direction controls make a reader see another order than the machine", []string{"AST05"}},
		{"UN004", "evasion", Block, "terminal escape sequences rewrite what a person sees", []string{"AST05"}},
		{"UN005", "evasion", Warn, "control characters have no business in a text", []string{"AST05"}},
		{"UN006", "evasion", Block, "a run of variation selectors can carry hidden bytes", []string{"AST01", "AST05"}},
		{"UN007", "evasion", Warn, "letters that show nothing hide words or names", []string{"AST05"}},
		{"UN008", "evasion", Warn, "a word mixes scripts so that it reads as a Latin one", []string{"AST05"}},
		{"UN009", "evasion", Block, "a name or host mixes scripts so that it reads as another", []string{"AST02", "AST05"}},
		{"UN010", "evasion", Warn, "an invisible character stands where no script needs it", []string{"AST05"}},
		{"HC101", "evasion", Block, "text stands far to the right, where nobody scrolls", []string{"AST01"}},
		{"HC102", "evasion", Block, "text stands far below the end that a reader sees", []string{"AST01"}},
		{"OB101", "evasion", Warn, "an address or a command is written in encoded form", []string{"AST05"}},
		{"PI101", "instruction", Block, "the header closes or forges the tags that a catalogue is made of", []string{"AST01"}},
		{"PM101", "privilege", Warn, "the header asks for every shell command", []string{"AST03"}},
		{"HK101", "execution", Info, "a hook runs a command", []string{"AST03"}},
		{"SC101", "dependency", Warn, "the name is one or two letters away from a well-known one", []string{"AST02"}},
		{"SC102", "dependency", Warn, "a package is installed whose name is one or two letters away from a well-known one", []string{"AST02"}},
		{"MM101", "disclosure", Warn, "a script uses the network and the skill does not say so", []string{"AST03"}},
		{"MM102", "execution", Warn, "a script starts programs and the skill's tools leave that out", []string{"AST03"}},
		{"ST101", "integrity", Block, "a link leaves the skill", []string{"AST06"}},
		{"ST102", "integrity", Block, "neither a file nor a directory: reading it has effects", []string{"AST06"}},
		{"ST103", "execution", Warn, "a compiled program, whose deeds no text shows", []string{"AST01"}},
		{"ST104", "evasion", Block, "the content is not what the name says", []string{"AST05"}},
		{"ST105", "evasion", Block, "the file is two kinds of file at once", []string{"AST05"}},
		{"ST106", "integrity", Block, "two paths are one where case is folded: which file counts depends on the machine", []string{"AST06"}},
		{"ST107", "resource", Warn, "a bound was reached: what lies beyond was not read", []string{"AST08"}},
		{"ST108", "integrity", Warn, "it could not be read", []string{"AST08"}},
		{"ST109", "integrity", Info, "bytes of a kind that is not known: not read", []string{"AST08"}},
		{"ST110", "integrity", Block, "an entry of an archive leaves its folder", []string{"AST06"}},
		{"ST111", "resource", Block, "an archive unpacks to far more than it is", []string{"AST08"}},
		{"ST112", "evasion", Block, "an archive hides its content behind a password", []string{"AST05"}},
		{"ST113", "evasion", Block, "a file's name hides what it is", []string{"AST05"}},
		{"ST114", "resource", Block, "values of the header multiply each other", []string{"AST08"}},
		{"MODEL001", "instruction", Warn, "a model that read the texts takes it for harmful", []string{"AST01"}},
		{"MODEL002", "integrity", Warn, "a model was asked to read the texts, and what it said does not count", []string{"AST08"}},
		{"ST115", "integrity", Warn, "a key stands twice: readers disagree on which one counts", []string{"AST06"}},
	}
}

// built returns a finding of a rule that is code; a rule that is disabled gives one
// without an id, which is dropped.
func (f *file) built(id string, line, column int, text string) Finding {
	i := slices.IndexFunc(f.scan.built, func(b builtRule) bool { return b.id == id })
	if i < 0 {
		return Finding{}
	}
	b := f.scan.built[i]
	return Finding{
		Rule: b.id, Class: b.class, Level: b.level, File: f.name, Line: line, Column: column,
		Evidence: evidence(text), Why: b.why, AST: b.ast,
	}
}
