package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
)

// Bounds of what a server may send: its words for a refusal, and one event.
const (
	maxRefusal = 64 << 10
	maxEvent   = 32 << 20
)

// statusError is an answer that is no success.
type statusError struct {
	status int
	header http.Header
	body   string
}

func (e *statusError) Error() string { return http.StatusText(e.status) }

// withinError is a failure that the server says inside a stream.
type withinError struct{ data []byte }

func (e *withinError) Error() string { return "the stream holds an error" }

var errEventLength = errors.New("an event without end")

// events asks and returns the data of each event until the stream ends or says so.
func (m *Model) events(ctx context.Context, path string, body any) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		raw, err := json.Marshal(body)
		if err != nil {
			yield(nil, err)
			return
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.o.BaseURL+path, bytes.NewReader(raw))
		if err != nil {
			yield(nil, err)
			return
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "text/event-stream")
		req.Header.Set("User-Agent", "deft")
		if m.o.Key != "" {
			req.Header.Set("Authorization", "Bearer "+m.o.Key)
		}
		res, err := m.o.Client.Do(req)
		if err != nil {
			yield(nil, err)
			return
		}
		defer res.Body.Close()
		if res.StatusCode/100 != 2 {
			words, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal))
			yield(nil, &statusError{res.StatusCode, res.Header, string(words)})
			return
		}
		readEvents(res.Body, yield)
	}
}

// readEvents reads the event stream format: lines of fields, an empty line ends an
// event, and the lines of one event's data are joined. What is neither data nor an end
// (comments, names, ids) means nothing here.
func readEvents(r io.Reader, yield func([]byte, error) bool) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxEvent)
	var data []byte
	held := false
	for lines.Scan() {
		if line := lines.Bytes(); len(line) > 0 {
			if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				if held {
					data = append(data, '\n')
				}
				data, held = append(data, bytes.TrimPrefix(rest, []byte(" "))...), true
			}
			if len(data) > maxEvent {
				yield(nil, errEventLength)
				return
			}
			continue
		}
		if !held {
			continue
		}
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			return
		}
		if !handOn(data, yield) {
			return
		}
		data, held = data[:0], false
	}
	if err := lines.Err(); err != nil {
		yield(nil, err)
	}
}

// handOn hands on one event, or the error that it is.
func handOn(data []byte, yield func([]byte, error) bool) bool {
	var within struct {
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(data, &within); err != nil {
		yield(nil, err)
		return false
	}
	if len(within.Error) > 0 && !bytes.Equal(within.Error, []byte("null")) {
		yield(nil, &withinError{bytes.Clone(data)})
		return false
	}
	return yield(data, nil)
}
