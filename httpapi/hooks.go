package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"regexp"
	"unicode/utf8"

	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/store/jobs"
)

// Bounds of an event's body.
const (
	maxBody  = 64 << 10
	maxDepth = 32
)

// signalIDHeader names the event of a webhook whose body is all payload.
const signalIDHeader = "X-Deft-Signal-Id"

var signalID = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)

// hook takes a request of a webhook job.
func (s *Server) hook(w http.ResponseWriter, r *http.Request) {
	body, ok := s.body(w, r)
	if !ok {
		return
	}
	job, err := s.o.Queue.Job(r.Context(), r.PathValue("job"))
	if errors.Is(err, jobs.ErrNotFound) || err == nil && job.Kind != jobs.Webhook {
		if s.stranger(w, r) {
			refuse(w, http.StatusNotFound, "job_unknown", "there is no such webhook")
		}
		return
	}
	if err != nil {
		s.unavailable(w, err)
		return
	}
	proof, err := proven(r, job.Secret, body, s.o.Now())
	if err != nil {
		if s.stranger(w, r) {
			unproven(w, err)
		}
		return
	}
	if ok, wait := s.hooks.take(job.ID, s.o.Now()); !ok {
		limited(w, wait)
		return
	}
	sig, ok := s.hookSignal(w, r, job, body)
	if !ok {
		return
	}
	f := firingOf(job.ID, sig)
	f.Nonce, f.NonceUntil = proof.nonce, proof.until
	s.insert(w, r, f)
}

// stranger counts a request that proved nothing, and answers it itself where its address
// has sent too many. One that proves itself passes from the same address: behind a proxy
// all have one.
func (s *Server) stranger(w http.ResponseWriter, r *http.Request) bool {
	ok, wait := s.strikes.take(address(r), s.o.Now())
	if !ok {
		limited(w, wait)
	}
	return ok
}

func unproven(w http.ResponseWriter, err error) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	if errors.Is(err, errNoProof) {
		refuse(w, http.StatusUnauthorized, "auth_missing", "want a signature or a bearer token")
		return
	}
	refuse(w, http.StatusUnauthorized, "auth_invalid", "the signature or token does not hold")
}

func limited(w http.ResponseWriter, wait int) {
	answerProblem(w, problem{Status: http.StatusTooManyRequests, Code: "rate_limited", Detail: "too many requests", retry: wait})
}

// address is who asks, without the port.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// body reads a JSON body within its bounds, or answers why not.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if kind := r.Header.Get("Content-Type"); kind != "" {
		media, params, err := mime.ParseMediaType(kind)
		charset := params["charset"]
		if err != nil || media != "application/json" || charset != "" && charset != "utf-8" && charset != "UTF-8" {
			refuse(w, http.StatusUnsupportedMediaType, "request_media_type", "want application/json in UTF-8")
			return nil, false
		}
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		refuse(w, http.StatusUnsupportedMediaType, "request_media_type", "want a body that is not compressed")
		return nil, false
	}
	if r.ContentLength > maxBody {
		w.Header().Set("Connection", "close")
		refuse(w, http.StatusRequestEntityTooLarge, "request_too_large", "the body has more than 65536 bytes")
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		refuse(w, http.StatusRequestEntityTooLarge, "request_too_large", "the body has more than 65536 bytes")
	case err != nil:
		refuse(w, http.StatusBadRequest, "request_malformed", "the body ends early")
	case !utf8.Valid(body):
		refuse(w, http.StatusBadRequest, "request_malformed", "the body is not UTF-8")
	case !json.Valid(body):
		refuse(w, http.StatusBadRequest, "request_malformed", "the body is not JSON")
	case depth(body) > maxDepth:
		refuse(w, http.StatusBadRequest, "request_malformed", "the body is nested deeper than 32")
	default:
		return body, true
	}
	return nil, false
}

// depth is how deep valid JSON is nested.
func depth(body []byte) (deepest int) {
	quoted, escaped, now := false, false, 0
	for _, c := range body {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// hookSignal reads the body as the job says that it is meant.
func (s *Server) hookSignal(w http.ResponseWriter, r *http.Request, job jobs.Job, body []byte) (signal, bool) {
	if job.Body != jobs.PayloadBody {
		sig, err := parseSignal(body)
		if err == nil && sig.Source != "webhook" {
			err = &route.SignalError{Pointer: "/source", Message: "a webhook's signal has the source webhook"}
		}
		if err != nil {
			invalidSignal(w, err)
			return signal{}, false
		}
		return sig, true
	}
	id := r.Header.Get(signalIDHeader)
	if id == "" {
		sum := sha256.Sum256(body)
		id = "sha256:" + hex.EncodeToString(sum[:])
	}
	if !signalID.MatchString(id) {
		refuse(w, http.StatusBadRequest, "signal_invalid", signalIDHeader+": want 1 to 128 of A-Z a-z 0-9 . _ : -")
		return signal{}, false
	}
	raw, err := json.Marshal(map[string]any{"source": "webhook", "signal_id": id, "payload": json.RawMessage(body)})
	if err != nil {
		s.unavailable(w, err)
		return signal{}, false
	}
	return signal{Signal: route.Signal{Source: "webhook", ID: id}, raw: raw}, true
}
