package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Kind sorts the failures of a step by what helps.
type Kind string

// The kinds.
const (
	KindAuth     Kind = "auth"             // the key is missing or refused
	KindRequest  Kind = "bad_request"      // the provider does not take this request
	KindNotFound Kind = "not_found"        // no such model or address
	KindOverflow Kind = "context_overflow" // the conversation is longer than the window
	KindRate     Kind = "rate_limit"       // too many requests; RetryAfter may say how long
	KindServer   Kind = "server"           // the provider is at fault
	KindNetwork  Kind = "network"          // nobody answers, or the connection broke before the stream
	KindCut      Kind = "cut"              // the stream ended before the step did, or fell silent
	KindGarbage  Kind = "garbage"          // the answer is not the provider's format
	KindCanceled Kind = "cancelled"        // the context ended
)

// Error is a failed step. Message is the provider's, one line, without keys.
type Error struct {
	Kind       Kind
	Status     int           // of HTTP; 0 without an answer
	RetryAfter time.Duration // 0 = not said
	Message    string
	Err        error // the cause, for errors.Is; may be nil
}

// Error implements error.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("model %s (HTTP %d): %s", e.Kind, e.Status, e.Message)
	}
	return fmt.Sprintf("model %s: %s", e.Kind, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case KindRate, KindServer, KindNetwork, KindCut, KindGarbage:
		return true
	}
	return false
}

const longestMessage = 500

// Oneline makes a provider's text fit for a message: one line, bounded, and without
// any of the secrets.
func Oneline(text string, secrets ...string) string {
	for _, s := range secrets {
		if len(s) >= 8 {
			text = strings.ReplaceAll(text, s, "[key]")
		}
	}
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "\uFFFD")
	if len(text) > longestMessage {
		text = strings.ToValidUTF8(text[:longestMessage], "") + "…"
	}
	return text
}

// FromStatus makes the error of an HTTP answer that is no success.
func FromStatus(status int, header http.Header, message string) *Error {
	e := &Error{Status: status, Message: message, Kind: KindRequest}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		e.Kind = KindAuth
	case status == http.StatusNotFound:
		e.Kind = KindNotFound
	case status == http.StatusTooManyRequests:
		e.Kind = KindRate
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status >= 500:
		e.Kind = KindServer
	case overflow(message):
		e.Kind = KindOverflow
	}
	if header != nil {
		e.RetryAfter = retryAfter(header)
	}
	return e
}

// overflow knows how providers and local servers say that the window is full; there
// is no status of its own for it.
func overflow(message string) bool {
	m := strings.ToLower(message)
	for _, sign := range []string{"context length", "context_length", "context window", "prompt is too long", "maximum context", "too many tokens"} {
		if strings.Contains(m, sign) {
			return true
		}
	}
	return false
}

// retryAfter reads the header in its seconds form and in milliseconds, which
// some providers add. The date form is not used by them.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	if s, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	return 0
}

// FromTransport makes the error of a call that got no HTTP answer, or whose stream
// broke after begun. A nil err with begun means that the stream just ended.
func FromTransport(ctx context.Context, err error, begun bool) *Error {
	switch {
	case ctx.Err() != nil:
		return &Error{Kind: KindCanceled, Message: "cancelled", Err: context.Cause(ctx)}
	case begun && (err == nil || broken(err)):
		return &Error{Kind: KindCut, Message: "the stream ended before the answer did", Err: err}
	case err != nil && broken(err):
		return &Error{Kind: KindNetwork, Message: Oneline(err.Error()), Err: err}
	case err == nil:
		return &Error{Kind: KindGarbage, Message: "the answer holds no event"}
	}
	return &Error{Kind: KindGarbage, Message: "the answer is not the provider's format: " + Oneline(err.Error()), Err: err}
}

func broken(err error) bool {
	var n net.Error
	return errors.As(err, &n) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed)
}
