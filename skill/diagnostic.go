package skill

// Level says what a diagnostic means for the skill that has it.
type Level string

// The levels: an error makes the skill invalid (or the file refused), a warning
// says that something was repaired or lost, info is a note.
const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
	LevelInfo    Level = "info"
)

// Diagnostic is one finding about a file, as a value. Line and Column count from
// 1, Column in code points; 0 means that the finding has no line. Offset is a byte
// offset for findings about bytes, else -1. Message is lower case, noun then cause,
// and names limit and measured value where there are such; Fix is an imperative
// phrase, "" when there is nothing to do.
type Diagnostic struct {
	Code    string `json:"code"`
	Level   Level  `json:"level"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Offset  int64  `json:"-"`
	Message string `json:"message"`
	Fix     string `json:"fix"`
}
