package route

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
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
	SuggestedStages []string // united with the stages of the message
	TraceID         string
	Payload         json.RawMessage // never matched: data of a stranger
}

// SignalError says what is wrong with a signal's JSON, and where.
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
)

// signalReader reads one signal.
type signalReader struct {
	src []byte
	s   Signal
}

// ParseSignal reads a signal: one JSON object of source, signal_id, asset{symbol,
// asset_class}, severity, preload_skills, suggested_stages, trace_id and payload, of
// which source alone is required. A signal with an unknown or doubled key, a wrong
// type or a value out of bounds is refused as a whole, by a *SignalError.
func ParseSignal(src []byte) (Signal, error) {
	r := signalReader{src: src, s: Signal{Severity: "info"}}
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
			return r.fault(at, pointer+"/"+key, "key stands twice")
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

func (r *signalReader) field(key string, v json.RawMessage, at int) error {
	p := "/" + key
	switch key {
	case "source":
		return r.oneOf(&r.s.Source, v, at, p, "cron", "webhook", "event")
	case "severity":
		return r.oneOf(&r.s.Severity, v, at, p, "info", "warn", "critical")
	case "signal_id":
		return r.token(&r.s.ID, v, at, p, maxSignalID, "._:-")
	case "trace_id":
		return r.token(&r.s.TraceID, v, at, p, 64, "_-")
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
		if len(v) > maxPayload {
			return r.fault(at, p, "payload has %d bytes, the limit is %d", len(v), maxPayload)
		}
		r.s.Payload = slices.Clone(v)
		return nil
	}
	return r.fault(at, p, "key is unknown")
}

func (r *signalReader) asset(key string, v json.RawMessage, at int) error {
	switch p := "/asset/" + key; key {
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
	for _, c := range *into {
		if c >= utf8.RuneSelf || c == ' ' || !isWord(c) && !containsRune(extra, c) || c == '_' && !containsRune(extra, c) {
			return r.fault(at, pointer, "character %q is not allowed", c)
		}
	}
	return nil
}

func containsRune(s string, c rune) bool { return slices.Contains([]rune(s), c) }

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
