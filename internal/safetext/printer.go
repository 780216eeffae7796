package safetext

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
)

// Policy says what the reader of a Printer can take. The zero value is a plain
// file: no colour.
type Policy struct {
	Terminal bool // a person watches: progress and questions make sense
	Color    bool // styles become escape sequences; else they vanish
	Width    int  // columns; 0 = unknown
}

// Safe is text that a program's own code vouches for: words of its catalogue,
// styled text that Paint made. Converting to it is a promise; never convert what
// came from outside.
type Safe string

// Style is a look of terminal text.
type Style string

// The styles: parameters of the terminal's select-graphic-rendition sequence.
const (
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Blue   Style = "34"
	Cyan   Style = "36"
)

// Printer writes for people and programs, and lets nothing hostile through: every
// argument is cleaned with Line, every text with Text. It remembers the first write
// error and drops what comes after it, so that callers check once, at the end. A
// reader that closed its pipe is no error. A Printer is safe for concurrent use.
type Printer struct {
	policy Policy

	mu     sync.Mutex
	w      io.Writer
	err    error
	closed bool
}

// NewPrinter returns a Printer that writes to w.
func NewPrinter(w io.Writer, p Policy) *Printer { return &Printer{w: w, policy: p} }

// Policy returns what the Printer was made with.
func (p *Printer) Policy() Policy { return p.policy }

// Printf formats as fmt.Printf does. The format is the program's own; every
// argument but numbers, booleans and Safe is made harmless and one line first.
func (p *Printer) Printf(format string, args ...any) {
	p.write([]byte(fmt.Sprintf(format, clean(args)...)))
}

// Println writes its arguments, each made harmless and one line, separated by
// blanks, and a newline.
func (p *Printer) Println(args ...any) {
	p.write([]byte(fmt.Sprintln(clean(args)...)))
}

// Text writes s, of any number of lines, made harmless, exactly once and without a
// newline of its own.
func (p *Printer) Text(s string) { p.write([]byte(Text(s))) }

// Bytes writes b exactly as it is: JSON, and output whose bytes are the point. Not
// for text that a person reads on a terminal.
func (p *Printer) Bytes(b []byte) { p.write(b) }

// Write makes a Printer an io.Writer of exact bytes, as Bytes; it never fails, see
// Err. It is for encoders.
func (p *Printer) Write(b []byte) (int, error) {
	p.write(b)
	return len(b), nil
}

// Paint returns s, made harmless and one line, in a style where the Printer shows
// colour, and without where not.
func (p *Printer) Paint(style Style, s string) Safe {
	if !p.policy.Color || s == "" {
		return Safe(Line(s))
	}
	return Safe("\x1b[" + string(style) + "m" + Line(s) + "\x1b[0m")
}

// Err returns the first write error, nil when all was written or the reader closed
// its end.
func (p *Printer) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Closed reports whether nobody reads any more, so that long work may stop.
func (p *Printer) Closed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

func (p *Printer) write(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(b) == 0 {
		return
	}
	_, err := p.w.Write(b)
	if err == nil {
		return
	}
	p.closed = true
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, io.ErrClosedPipe) {
		p.err = fmt.Errorf("output: %w", err)
	}
}

func clean(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case string:
			out[i] = Line(v)
		case Safe:
			out[i] = string(v)
		case bool, int, int8, int16, int64, uint, uint16, uint32, uint64, uintptr, float32, float64, nil:
			out[i] = a
		default:
			out[i] = guarded{a}
		}
	}
	return out
}

// guarded cleans the formatted form of any other argument, whatever the verb.
type guarded struct{ value any }

// Format implements fmt.Formatter.
func (g guarded) Format(f fmt.State, verb rune) {
	_, _ = io.WriteString(f, Line(fmt.Sprintf(fmt.FormatString(f, verb), g.value)))
}
