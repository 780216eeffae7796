package cli

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/deftskills/deft/registry"
)

// A listing of 10,000 skills is ten megabytes of JSON, most of what the verb does. It is
// written here skill by skill, byte for byte as encoding/json writes and indents it
// (TestAListingIsWrittenAsEncodingJSONWritesIt), without holding the document.

// flushAt is how much of a listing is kept before it is handed to the printer.
const flushAt = 64 << 10

// indented appends JSON with two blanks a level, and remembers whether the next value
// is the first of its object or list.
type indented struct {
	b     []byte
	depth int
	first bool
}

func (w *indented) line() {
	w.b = append(w.b, '\n')
	for range w.depth {
		w.b = append(w.b, "  "...)
	}
}

// item begins an element of a list.
func (w *indented) item() {
	if !w.first {
		w.b = append(w.b, ',')
	}
	w.first = false
	w.line()
}

// key begins a member of an object; names are the program's own and need no escape.
func (w *indented) key(name string) {
	w.item()
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, `": `...)
}

func (w *indented) open(c byte) {
	w.b = append(w.b, c)
	w.depth++
	w.first = true
}

func (w *indented) close(c byte) {
	w.depth--
	if !w.first {
		w.line()
	}
	w.b, w.first = append(w.b, c), false
}

func (w *indented) string(name, s string) {
	w.key(name)
	w.text(s)
}

func (w *indented) bool(name string, v bool) {
	w.key(name)
	w.b = strconv.AppendBool(w.b, v)
}

func (w *indented) number(name string, n *int) {
	w.key(name)
	if n == nil {
		w.b = append(w.b, "null"...)
		return
	}
	w.b = strconv.AppendInt(w.b, int64(*n), 10)
}

// text appends a string; what has to be escaped, or might, is left to encoding/json.
func (w *indented) text(s string) {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			w.any(s)
			return
		}
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, s...)
	w.b = append(w.b, '"')
}

// any appends what is rare.
func (w *indented) any(v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(string(bytes.Repeat([]byte("  "), w.depth)), "  ")
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	w.b = append(w.b, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// list appends a list, empty ones on one line.
func list[T any](w *indented, name string, values []T) {
	w.key(name)
	if len(values) == 0 {
		w.b = append(w.b, "[]"...)
		return
	}
	w.any(values)
}

func (w *indented) skill(j *skillJSON) {
	w.open('{')
	w.string("name", j.Name)
	w.string("id", string(j.ID))
	w.string("title", j.Title)
	w.string("description", j.Description)
	w.string("location", j.Location)
	w.string("dir", j.Dir)
	w.string("digest", string(j.Digest))
	w.string("state", string(j.State))
	w.key("source")
	w.open('{')
	w.string("id", j.Source.ID)
	w.string("kind", string(j.Source.Kind))
	w.string("path", j.Source.Path)
	w.string("trust", string(j.Source.Trust))
	w.string("version", j.Source.Version)
	w.close('}')
	w.bool("model_invocable", j.ModelInvocable)
	w.bool("user_invocable", j.UserInvocable)
	w.key("tokens")
	w.open('{')
	w.number("catalog", j.Tokens.Catalog)
	w.number("body", j.Tokens.Body)
	w.close('}')
	w.key("shadowed_by")
	if j.ShadowedBy == nil {
		w.b = append(w.b, "null"...)
	} else {
		w.text(*j.ShadowedBy)
	}
	list(w, "diagnostics", j.Diagnostics)
	w.string("address", j.Address)
	w.string("group", j.Group)
	list(w, "aliases", j.Aliases)
	w.string("argument_hint", j.ArgumentHint)
	list(w, "reasons", j.Reasons)
	w.close('}')
}

// printListing writes the document of deft list --json.
func (r *run) printListing(snap *registry.Snapshot, show, shadowed []*registry.Record, counts map[*registry.Record]tokensJSON) {
	w := &indented{b: make([]byte, 0, flushAt+4<<10)}
	flush := func() {
		r.out.Bytes(w.b)
		w.b = w.b[:0]
	}
	w.open('{')
	for _, part := range [...]struct {
		name    string
		records []*registry.Record
	}{{"skills", show}, {"shadowed", shadowed}} {
		w.key(part.name)
		w.open('[')
		for _, rec := range part.records {
			j := recordJSON(rec)
			j.Tokens = counts[rec]
			w.item()
			w.skill(&j)
			if len(w.b) >= flushAt {
				flush()
			}
		}
		w.close(']')
	}
	list(w, "diagnostics", snap.Diagnostics)
	w.key("metrics")
	w.any(snap.Metrics)
	w.bool("complete", snap.Complete)
	w.close('}')
	w.b = append(w.b, '\n')
	flush()
}
