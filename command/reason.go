package command

// Reason is why a command gave no output, as a word for programs. "" = it gave its output.
type Reason string

// The reasons.
const (
	ReasonExit      Reason = "exit"      // it ended with a code that is not 0
	ReasonSignal    Reason = "signal"    // a signal ended it
	ReasonTimeout   Reason = "timeout"   // it, or the whole load, took too long
	ReasonCancelled Reason = "cancelled" // the session was cancelled
	ReasonMissing   Reason = "not_found" // its program or its shell is not there
	ReasonList      Reason = "policy"    // the list of allowed commands does not admit it
	ReasonRefused   Reason = "refused"   // the gate refused it
	ReasonApproval  Reason = "approval"  // the gate would ask, and nobody is there
	ReasonCount     Reason = "count"     // more commands than one load may run
	ReasonParse     Reason = "parse"     // no shell command, or characters that nobody sees
	ReasonArgument  Reason = "argument"  // an argument would be read as a program
	ReasonSandbox   Reason = "sandbox"   // the machine cannot confine it as asked
	ReasonEnv       Reason = "env"       // a variable that the skill needs is not bound to it
	ReasonDir       Reason = "dir"       // its directory is outside the workspace
)
