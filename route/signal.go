package route

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Signal is the event that started a turn without a person. The router reads Source,
// SuggestedStages and Asset; a host activates PreloadSkills and hands them in as
// Preload.
type Signal struct {
	Source          string // cron, webhook or event; +25 for skills that declare it
	ID              string // of the event, for a host that runs each once; may be ""
	Asset           *Asset // +15 for skills that declare its class
	Severity        string // info, warn or critical
	PreloadSkills   []string
	SuggestedStages []string        // united with the stages of the message
	TraceID         string          // of the sender, whatever it looks like; see Traces
	Payload         json.RawMessage // never matched: data of a stranger; nil = there is none
}

// CodeSignalInvalid is the code of a signal that is refused.
const CodeSignalInvalid = "signal_invalid"

// Traces says under which trace a turn for the signal runs: the sender's id where it is
// 4 to 64 of A-Z, a-z, 0-9, "_" and "-" and used reports that no turn has it yet (nil =
// none has any); else trace is "", the host draws one, and the sender's is its parent.
func (s Signal) Traces(used func(trace string) bool) (trace, parent string) {
	switch id := s.TraceID; {
	case id == "":
		return "", ""
	case len(id) < minTrace || len(id) > maxTrace || wrong(id, "_-") >= 0, used != nil && used(id):
		return "", id
	default:
		return id, ""
	}
}

// signalDocument is a signal as JSON has it.
type signalDocument struct {
	Source          string          `json:"source"`
	ID              string          `json:"signal_id,omitempty"`
	Asset           *assetDocument  `json:"asset,omitempty"`
	Severity        string          `json:"severity,omitempty"`
	PreloadSkills   []string        `json:"preload_skills,omitempty"`
	SuggestedStages []string        `json:"suggested_stages,omitempty"`
	TraceID         string          `json:"trace_id,omitempty"`
	Payload         json.RawMessage `json:"payload,omitempty"`
}

type assetDocument struct {
	Symbol string `json:"symbol,omitempty"`
	Class  string `json:"asset_class,omitempty"`
}

// MarshalJSON writes the document that ParseSignal reads.
func (s Signal) MarshalJSON() ([]byte, error) {
	d := signalDocument{
		Source: s.Source, ID: s.ID, Severity: s.Severity, PreloadSkills: s.PreloadSkills,
		SuggestedStages: s.SuggestedStages, TraceID: s.TraceID, Payload: s.Payload,
	}
	if s.Asset != nil {
		d.Asset = &assetDocument{s.Asset.Symbol, s.Asset.Class}
	}
	return json.Marshal(d)
}

// UnmarshalJSON is ParseSignal.
func (s *Signal) UnmarshalJSON(src []byte) (err error) {
	*s, err = ParseSignal(src)
	return err
}

// Check holds a signal that was made in code to the bounds of one that is read. The error
// is a *SignalError.
func (s Signal) Check() error {
	src, err := json.Marshal(s)
	if err != nil {
		return &SignalError{Pointer: "/payload", Line: 1, Column: 1, Message: "not JSON"}
	}
	_, err = ParseSignal(src)
	return err
}

// SignalError says what is wrong with a signal's JSON, and where. Its code is
// CodeSignalInvalid.
type SignalError struct {
	Pointer      string // JSON pointer of the value; "" is the whole
	Line, Column int    // from 1
	Message      string
}

// Error gives the place, the pointer if there is one, and the message.
func (e *SignalError) Error() string {
	at := fmt.Sprintf("%d:%d: ", e.Line, e.Column)
	if e.Pointer != "" {
		at += e.Pointer + ": "
	}
	return at + e.Message
}

// Bounds of a signal.
const (
	maxSignalID      = 128
	maxSymbol        = 32
	maxAssetClass    = 64
	maxPreloadSkills = 16
	maxPayload       = 64 << 10
	maxSignal        = 8 * maxPayload // of the whole: an escaped character has six bytes
	maxSignalDepth   = 32             // of lists and objects in each other, as in the arguments of a tool
	minTrace         = 4
	maxTrace         = 64
	maxSenderTrace   = 128 // of an id that is only kept
)

// signalReader reads one signal.
type signalReader struct {
	src []byte
	s   Signal
}

// ParseSignal reads a signal: one JSON object of source, signal_id, asset{symbol,
// asset_class}, severity, preload_skills, suggested_stages, trace_id and payload, of
// which source alone is required. A signal with an unknown or doubled key, a wrong
// type or a value out of bounds is refused as a whole, by a *SignalError. Its texts hold
// no control characters; its payload is any JSON, kept but for escapes that it does not need.
func ParseSignal(src []byte) (Signal, error) {
	r := signalReader{src: src, s: Signal{Severity: "info"}}
	if len(src) > maxSignal {
		return Signal{}, r.fault(0, "", "signal has %d bytes, the limit is %d", len(src), maxSignal)
	}
	if at := invalidUTF8(src); at >= 0 {
		return Signal{}, r.fault(at, "", "not UTF-8")
	}
	if at := tooDeep(src); at >= 0 {
		return Signal{}, r.fault(at, "", "lists and objects lie more than %d deep", maxSignalDepth)
	}
	var whole json.RawMessage
	var syntax *json.SyntaxError
	if err := json.Unmarshal(src, &whole); errors.As(err, &syntax) {
		return Signal{}, r.fault(max(int(syntax.Offset)-1, 0), "", "%s", err)
	}
	if err := r.object(src, 0, "", r.field); err != nil {
		return Signal{}, err
	}
	if r.s.Source == "" {
		return Signal{}, r.fault(0, "", "source is missing")
	}
	return r.s, nil
}

func invalidUTF8(src []byte) int {
	for at := 0; at < len(src); {
		c, n := utf8.DecodeRune(src[at:])
		if c == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return -1
}

// tooDeep returns where src goes deeper than it may, below 0 for nowhere.
func tooDeep(src []byte) int {
	depth, text := 0, false
	for at := 0; at < len(src); at++ {
		switch c := src[at]; {
		case text && c == '\\':
			at++
		case c == '"':
			text = !text
		case text:
		case c == '{', c == '[':
			if depth++; depth > maxSignalDepth {
				return at
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return -1
}

// fault is an error at an offset of the whole.
func (r *signalReader) fault(at int, pointer, format string, args ...any) error {
	before := r.src[:min(max(at, 0), len(r.src))]
	line := bytes.LastIndexByte(before, '\n') + 1
	return &SignalError{
		Pointer: pointer, Line: 1 + bytes.Count(before, []byte("\n")), Column: 1 + utf8.RuneCount(before[line:]),
		Message: fmt.Sprintf(format, args...),
	}
}

// object calls see for each member of the JSON object raw, which begins at base and
// has been found to be JSON.
func (r *signalReader) object(raw []byte, base int, pointer string, see func(key string, v json.RawMessage, at int) error) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	bad := func(err error) error { return r.fault(base+int(dec.InputOffset()), pointer, "%s", err) }
	open, err := dec.Token()
	if err != nil {
		return bad(err)
	}
	if open != json.Delim('{') {
		return r.fault(base, pointer, "not an object")
	}
	var seen []string
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return bad(err)
		}
		key, _ := token.(string)
		at := base + int(dec.InputOffset())
		if slices.Contains(seen, key) {
			return r.fault(at, pointer+"/"+escaped(key), "key stands twice")
		}
		seen = append(seen, key)
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return bad(err)
		}
		if err := see(key, v, base+int(dec.InputOffset())-len(v)); err != nil {
			return err
		}
	}
	return nil
}

// escaped is a key as a part of a JSON pointer.
func escaped(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

func (r *signalReader) field(key string, v json.RawMessage, at int) error {
	p := "/" + escaped(key)
	switch key {
	case "source":
		return r.oneOf(&r.s.Source, v, at, p, "cron", "webhook", "event")
	case "severity":
		return r.oneOf(&r.s.Severity, v, at, p, "info", "warn", "critical")
	case "signal_id":
		return r.token(&r.s.ID, v, at, p, maxSignalID, "._:-")
	case "trace_id":
		return r.text(&r.s.TraceID, v, at, p, maxSenderTrace)
	case "asset":
		r.s.Asset = &Asset{}
		return r.object(v, at, p, r.asset)
	case "preload_skills":
		return r.texts(&r.s.PreloadSkills, v, at, p, maxPreloadSkills)
	case "suggested_stages":
		if err := r.texts(&r.s.SuggestedStages, v, at, p, int(stageCount)); err != nil {
			return err
		}
		for i, name := range r.s.SuggestedStages {
			if _, ok := ParseStage(name); !ok {
				return r.fault(at, p+"/"+strconv.Itoa(i), "stage %q is not one of discover, evaluate, decide, manage", name)
			}
		}
		return nil
	case "payload":
		r.s.Payload = unescaped(v)
		if n := len(r.s.Payload); n > maxPayload {
			return r.fault(at, p, "payload has %d bytes, the limit is %d", n, maxPayload)
		}
		return nil
	}
	return r.fault(at, p, "key is unknown")
}

// unescaped is JSON without the escapes that Go's own writer adds for pages: a payload that
// was stored has the bytes, and so the size, that it came with.
func unescaped(v []byte) []byte {
	out := make([]byte, 0, len(v))
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' {
			out = append(out, v[i])
			continue
		}
		end := min(i+6, len(v))
		if plain, ok := pageEscapes[string(v[i:end])]; ok {
			out, i = append(out, plain...), end-1
			continue
		}
		out = append(out, v[i:min(i+2, len(v))]...)
		i++
	}
	return out
}

var pageEscapes = map[string]string{
	`\u003c`: "<", `\u003e`: ">", `\u0026`: "&", `\u2028`: "\u2028", `\u2029`: "\u2029",
}

func (r *signalReader) asset(key string, v json.RawMessage, at int) error {
	switch p := "/asset/" + escaped(key); key {
	case "symbol":
		return r.text(&r.s.Asset.Symbol, v, at, p, maxSymbol)
	case "asset_class":
		return r.text(&r.s.Asset.Class, v, at, p, maxAssetClass)
	default:
		return r.fault(at, p, "key is unknown")
	}
}

func (r *signalReader) text(into *string, v json.RawMessage, at int, pointer string, limit int) error {
	if len(v) == 0 || v[0] != '"' || json.Unmarshal(v, into) != nil {
		return r.fault(at, pointer, "not a text")
	}
	if n := utf8.RuneCountInString(*into); n == 0 || n > limit {
		return r.fault(at, pointer, "text has %d characters, not 1 to %d", n, limit)
	}
	if i := strings.IndexFunc(*into, unicode.IsControl); i >= 0 {
		return r.fault(at, pointer, "text has a control character")
	}
	return nil
}

func (r *signalReader) oneOf(into *string, v json.RawMessage, at int, pointer string, values ...string) error {
	if err := r.text(into, v, at, pointer, maxAssetClass); err != nil {
		return err
	}
	if !slices.Contains(values, *into) {
		return r.fault(at, pointer, "%q is not one of %q", *into, values)
	}
	return nil
}

// token wants ASCII letters, digits and the signs of extra.
func (r *signalReader) token(into *string, v json.RawMessage, at int, pointer string, limit int, extra string) error {
	if err := r.text(into, v, at, pointer, limit); err != nil {
		return err
	}
	if i := wrong(*into, extra); i >= 0 {
		c, _ := utf8.DecodeRuneInString((*into)[i:])
		return r.fault(at, pointer, "character %q is not allowed", c)
	}
	return nil
}

// wrong returns the place of the first character that is no ASCII letter or digit and not
// in extra, below 0 for none.
func wrong(s, extra string) int {
	return strings.IndexFunc(s, func(c rune) bool {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		return !plain && !strings.ContainsRune(extra, c)
	})
}

func (r *signalReader) texts(into *[]string, v json.RawMessage, at int, pointer string, limit int) error {
	var list []json.RawMessage
	if len(v) == 0 || v[0] != '[' || json.Unmarshal(v, &list) != nil {
		return r.fault(at, pointer, "not a list")
	}
	if len(list) > limit {
		return r.fault(at, pointer, "list has %d entries, the limit is %d", len(list), limit)
	}
	*into = make([]string, len(list))
	for i, item := range list {
		if err := r.text(&(*into)[i], item, at, pointer+"/"+strconv.Itoa(i), maxSignalID); err != nil {
			return err
		}
	}
	return nil
}
