package openai

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

func eventsOf(text string) (events []string, err error) {
	readEvents(strings.NewReader(text), func(data []byte, e error) bool {
		if e != nil {
			err = e
			return false
		}
		events = append(events, string(data))
		return true
	})
	return events, err
}

func TestEventsOfAStream(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"two events":               {"data: {\"a\":1}\n\ndata: {}\n\n", []string{`{"a":1}`, "{}"}},
		"other line ends":          {"data: {}\r\n\r\ndata:{\"b\":2}\r\n\r\n", []string{"{}", `{"b":2}`}},
		"names, ids and comments":  {": hello\nevent: x\nid: 7\ndata: {}\nretry: 5\n\n: ping\n\n", []string{"{}"}},
		"data in several lines":    {"data: {\ndata: \"a\": 1}\n\n", []string{"{\n\"a\": 1}"}},
		"nothing after the end":    {"data: {}\n\ndata: [DONE]\n\ndata: {}\n\n", []string{"{}"}},
		"an event without its end": {"data: {}\n\ndata: {\"b\":2}\n", []string{"{}"}},
		"an error that is none":    {"data: {\"error\":null}\n\n", []string{`{"error":null}`}},
	} {
		got, err := eventsOf(tt.text)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	got, err := eventsOf("data: {}\n\ndata: {\"error\":{\"message\":\"no\"}}\n\ndata: {}\n\n")
	var within *withinError
	if !slices.Equal(got, []string{"{}"}) || !errors.As(err, &within) || string(within.data) != `{"error":{"message":"no"}}` {
		t.Errorf("an error inside: %q, %v", got, err)
	}
	if got, err := eventsOf("data: {\n\n"); err == nil {
		t.Errorf("half an object: %q", got)
	}
	if got, err := eventsOf("data: " + strings.Repeat("1", maxEvent+1) + "\n\n"); err == nil {
		t.Errorf("an event without end: %d events", len(got))
	}
}

// Whatever a server sends, each event is one JSON value.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{"data: {}\n\n", "data: {\ndata: }\r\n\r\n", ":\n\ndata\n\ndata:[DONE]\n\n", "data: {\"error\":0}\n\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		events, _ := eventsOf(text)
		for _, e := range events {
			if !json.Valid([]byte(e)) {
				t.Errorf("%q is an event", e)
			}
		}
	})
}
