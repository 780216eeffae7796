package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// target is where documents of one kind go.
type target struct {
	url, what string
	header    http.Header
	timeout   time.Duration
	report    func(error)
	once      sync.Once
}

// send posts a document. What cannot be delivered is dropped, and that is told once: the
// caller has turns to run.
func (t *target) send(ctx context.Context, doc any) {
	if err := t.post(ctx, doc); err != nil && t.report != nil {
		t.once.Do(func() { t.report(fmt.Errorf("%s for %s: %w", t.what, t.url, err)) })
	}
}

func (t *target) post(ctx context.Context, doc any) error {
	body, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = t.header.Clone()
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // headers may hold a key
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	const enough = 64 << 10
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, enough)) // the connection is used again
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers %s", res.Status)
	}
	return nil
}
