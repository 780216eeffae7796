package search

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Embedder turns texts into vectors, one for each, in the same order. Texts are close
// in meaning when their vectors point the same way. Embed must give up when ctx ends,
// and be safe for concurrent use.
type Embedder interface {
	// Model names what makes the vectors; those of two models cannot be compared.
	Model() string
	// Dim is the length of each vector; 0 = whatever the first one has.
	Dim() int
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// HTTPEmbedderOptions say how a provider's embeddings endpoint is reached. Zero
// fields but BaseURL and Model are useful.
type HTTPEmbedderOptions struct {
	BaseURL     string // up to, and without, /embeddings
	Model       string
	APIKeyEnv   string                   // the variable that holds the key; "" = no key is sent
	Env         func(name string) string // reads the variable at each call; nil = it is empty
	Dim         int                      // 0 = not asked for and not checked but for being the same
	Batch       int                      // texts a request; 0 = 64
	Timeout     time.Duration            // of one request; 0 = 30 seconds
	Concurrency int                      // requests at once; 0 = 4
	Client      *http.Client             // nil = http.DefaultClient
	Clock       func() time.Time         // for a Retry-After that is a date; nil = time.Now
}

const (
	embedTries    = 3
	embedPause    = 500 * time.Millisecond // before the first new try, doubled for each
	maxRetryAfter = 10 * time.Second
	maxEmbedReply = 64 << 20
)

// NewHTTPEmbedder returns an Embedder that asks POST {BaseURL}/embeddings, as most
// providers and local servers offer it. The error is for a BaseURL that is none.
func NewHTTPEmbedder(o HTTPEmbedderOptions) (Embedder, error) {
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("embedder: base URL %q is not an http address", o.BaseURL)
	}
	if o.Model == "" {
		return nil, errors.New("embedder: model is empty")
	}
	if o.Batch <= 0 {
		o.Batch = 64
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Concurrency <= 0 {
		o.Concurrency = 4
	}
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &httpEmbedder{o: o, address: strings.TrimRight(o.BaseURL, "/") + "/embeddings", pause: pause}, nil
}

type httpEmbedder struct {
	o       HTTPEmbedderOptions
	address string
	pause   func(ctx context.Context, d time.Duration) error
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *httpEmbedder) Model() string { return e.o.Model }
func (e *httpEmbedder) Dim() int      { return e.o.Dim }

// Embed asks for batches, several at once. The first failure ends the others.
func (e *httpEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	slots := make(chan struct{}, e.o.Concurrency)
	var wg sync.WaitGroup
	for from := 0; from < len(texts) && ctx.Err() == nil; from += e.o.Batch {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			to := min(from+e.o.Batch, len(texts))
			if err := e.batch(ctx, texts[from:to], out[from:to], from); err != nil {
				stop(err)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return out, checkVectors(out, len(texts), e.o.Dim)
}

// batch asks until it gets an answer, at most embedTries times.
func (e *httpEmbedder) batch(ctx context.Context, texts []string, out [][]float32, first int) error {
	body, err := json.Marshal(struct {
		Model  string   `json:"model"`
		Input  []string `json:"input"`
		Format string   `json:"encoding_format"`
	}{e.o.Model, texts, "float"})
	if err != nil {
		return err
	}
	for try, wait := 1, embedPause; ; try, wait = try+1, 2*wait {
		again, after, err := e.ask(ctx, body, out, first)
		if err == nil || !again || try == embedTries {
			return err
		}
		if after == 0 {
			after = wait/2 + rand.N(wait/2) //nolint:gosec // spreads requests; nothing is guarded by it
		}
		if err := e.pause(ctx, after); err != nil {
			return err
		}
	}
}

// ask sends one request. again says that another may help, after that time if it is
// not 0.
func (e *httpEmbedder) ask(ctx context.Context, body []byte, out [][]float32, first int) (again bool, after time.Duration, err error) {
	ctx, stop := context.WithTimeout(ctx, e.o.Timeout)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.address, bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	if e.o.APIKeyEnv != "" && e.o.Env != nil {
		if key := e.o.Env(e.o.APIKeyEnv); key != "" {
			req.Header.Set("Authorization", "Bearer "+key)
		}
	}
	resp, err := e.o.Client.Do(req)
	if err != nil {
		var in *url.Error
		if errors.As(err, &in) {
			err = in.Err // the address is the caller's own
		}
		return ctx.Err() == nil, 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		again = resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500
		return again, e.retryAfter(resp.Header.Get("Retry-After")), fmt.Errorf("HTTP status %d", resp.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxEmbedReply+1))
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return ctx.Err() == nil, 0, fmt.Errorf("reply: %w", err)
	}
	if len(raw) > maxEmbedReply {
		return false, 0, fmt.Errorf("reply is larger than %d bytes", maxEmbedReply)
	}
	return false, 0, readVectors(raw, out, first)
}

// retryAfter reads the header's seconds or date; 0 when it says nothing.
func (e *httpEmbedder) retryAfter(value string) time.Duration {
	d := time.Duration(0)
	if n, err := strconv.Atoi(value); err == nil {
		d = time.Duration(min(n, 3600)) * time.Second
	} else if t, err := http.ParseTime(value); err == nil {
		d = t.Sub(e.o.Clock())
	}
	return min(max(d, 0), maxRetryAfter)
}

// readVectors puts the vectors of a reply where their index says. first is the number
// of the batch's first text, for messages.
func readVectors(raw []byte, out [][]float32, first int) error {
	var reply struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(raw, &reply); err != nil {
		return fmt.Errorf("reply: %w", err)
	}
	if len(reply.Data) != len(out) {
		return fmt.Errorf("%w: %d vectors for %d texts", ErrBadVector, len(reply.Data), len(out))
	}
	for i, d := range reply.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= len(out) || out[at] != nil {
			return fmt.Errorf("%w: input %d: its index %d is out of range or there twice", ErrBadVector, first+i, at)
		}
		out[at] = d.Embedding
	}
	return nil
}

// checkVectors refuses what cannot be compared: a wrong number, a wrong length,
// numbers that are none, and a vector without a direction.
func checkVectors(list [][]float32, want, dim int) error {
	if len(list) != want {
		return fmt.Errorf("%w: %d vectors for %d texts", ErrBadVector, len(list), want)
	}
	for i, v := range list {
		if dim == 0 {
			dim = len(v)
		}
		if len(v) != dim || dim == 0 {
			return fmt.Errorf("%w: input %d: %d numbers, not %d", ErrBadVector, i, len(v), dim)
		}
		sum := 0.0
		for _, x := range v {
			sum = float64(sum + float64(float64(x)*float64(x)))
		}
		if math.IsNaN(sum) || math.IsInf(sum, 0) || sum == 0 {
			return fmt.Errorf("%w: input %d: no direction", ErrBadVector, i)
		}
	}
	return nil
}

// breaker stops asking an embedder that keeps failing.
type breaker struct {
	mu     sync.Mutex
	failed int // in a row
	until  time.Time
}

const (
	breakerFails = 5
	breakerRest  = 30 * time.Second
)

// closed reports whether the embedder may be asked.
func (b *breaker) closed(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !now.Before(b.until)
}

// note counts an answer or a failure.
func (b *breaker) note(err error, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.failed = 0
		return
	}
	if b.failed++; b.failed >= breakerFails {
		b.until = now.Add(breakerRest)
	}
}
