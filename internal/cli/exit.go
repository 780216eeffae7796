package cli

// Exit is an exit code of deft. Scripts rely on the numbers.
type Exit int

// The exit codes.
const (
	Done        Exit = 0   // done
	Negative    Exit = 1   // nothing found, lint errors, a threshold missed
	Usage       Exit = 2   // wrong arguments
	Refused     Exit = 3   // by the gate, by policy, or for want of an answer
	Partial     Exit = 4   // done, but a source could not be read or a limit was reached
	Busy        Exit = 5   // a lock is held
	Network     Exit = 6   // network or model provider
	Damaged     Exit = 7   // state on disk is damaged
	Fault       Exit = 70  // a panic of ours; the message names the log
	Interrupted Exit = 130 // by the person
)

// exits describes every code, worst first: of several in one run the first counts.
var exits = []struct {
	code Exit
	text string
}{
	{Fault, "a fault of deft itself; the message names the log"},
	{Interrupted, "interrupted"},
	{Damaged, "damaged state"},
	{Network, "network or provider"},
	{Busy, "busy: a lock is held"},
	{Refused, "refused by the gate, by policy, or for want of an answer"},
	{Usage, "wrong arguments"},
	{Partial, "partial: a source could not be read, or a limit was reached"},
	{Negative, "a negative result: nothing found, lint errors, a threshold missed"},
	{Done, "done"},
}

// worst returns the code that counts among several.
func worst(codes ...Exit) Exit {
	for _, e := range exits {
		for _, c := range codes {
			if c == e.code {
				return c
			}
		}
	}
	return Done
}
