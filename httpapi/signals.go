package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/store/jobs"
)

// signal is a signal with its text.
type signal struct {
	route.Signal
	raw json.RawMessage
}

func parseSignal(raw []byte) (signal, error) {
	sig, err := route.ParseSignal(raw)
	return signal{sig, raw}, err
}

func firingOf(job string, s signal) jobs.Firing {
	return jobs.Firing{
		Job: job, Trigger: s.Source, Signal: s.raw, SignalID: s.ID, TraceID: s.TraceID, Critical: s.Severity == "critical",
	}
}

// signal takes a signal of a program that has the local token. Its body is the signal's
// object with one more key, job.
func (s *Server) signal(w http.ResponseWriter, r *http.Request) {
	bearer := r.Header.Values("Authorization")
	err := errNoProof
	if len(bearer) > 0 {
		err = token(bearer[0], s.o.Token)
	}
	if err != nil || len(bearer) > 1 {
		if s.stranger(w, r) {
			unproven(w, err)
		}
		return
	}
	body, ok := s.body(w, r)
	if !ok {
		return
	}
	job, raw, err := splitJob(body)
	if err != nil {
		invalidSignal(w, err)
		return
	}
	sig, err := parseSignal(raw)
	if err != nil {
		invalidSignal(w, err)
		return
	}
	if ok, wait := s.hooks.take(job, s.o.Now()); !ok {
		limited(w, wait)
		return
	}
	s.insert(w, r, firingOf(job, sig))
}

// splitJob takes the key job out of an object and leaves the rest as it is.
func splitJob(body []byte) (job string, rest []byte, err error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return "", nil, &route.SignalError{Message: "not an object"}
	}
	var out bytes.Buffer
	found := false
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return "", nil, &route.SignalError{Message: err.Error()}
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return "", nil, &route.SignalError{Message: err.Error()}
		}
		if key == "job" {
			if found || json.Unmarshal(v, &job) != nil {
				return "", nil, &route.SignalError{Pointer: "/job", Message: "want one text"}
			}
			found = true
			continue
		}
		name, _ := json.Marshal(key)
		if out.Len() > 0 {
			out.WriteByte(',')
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(v)
	}
	if job == "" {
		return "", nil, &route.SignalError{Pointer: "/job", Message: "job is missing"}
	}
	return job, []byte("{" + out.String() + "}"), nil
}

func invalidSignal(w http.ResponseWriter, err error) {
	f := fault{Code: "signal_invalid", Message: err.Error()}
	var e *route.SignalError
	if errors.As(err, &e) {
		f.Pointer, f.Message = e.Pointer, e.Message
	}
	answerProblem(w, problem{Status: http.StatusBadRequest, Code: "signal_invalid", Detail: "the signal is refused as a whole", Errors: []fault{f}})
}

// accepted is the answer to an event that was taken.
type accepted struct {
	TraceID string `json:"trace_id"`
	ID      string `json:"id"` // of the firing
}

func (s *Server) insert(w http.ResponseWriter, r *http.Request, f jobs.Firing) {
	got, err := s.o.Queue.Insert(r.Context(), f)
	switch {
	case errors.Is(err, jobs.ErrReplay) || err == nil && got.Duplicate:
		answerProblem(w, problem{
			Status: http.StatusConflict, Code: "signal_duplicate", Detail: "this event was taken before", TraceID: got.TraceID,
		})
	case errors.Is(err, jobs.ErrNotFound):
		refuse(w, http.StatusNotFound, "job_unknown", "there is no such job")
	case errors.Is(err, jobs.ErrPaused):
		refuse(w, http.StatusConflict, "job_paused", "the job is paused")
	case err != nil:
		s.unavailable(w, err)
	default:
		s.o.Log.Info("event taken", "category", "signals", "event", "queued", "trace_id", got.TraceID, "job", f.Job, "request", w.Header().Get(requestID))
		answer(w, http.StatusAccepted, accepted{got.TraceID, got.ID})
	}
}

// unavailable answers for a database that does not.
func (s *Server) unavailable(w http.ResponseWriter, err error) {
	s.o.Log.Error("the queue does not answer", "category", "http", "event", "store_unavailable", "request", w.Header().Get(requestID), "error", err.Error())
	answerProblem(w, problem{Status: http.StatusServiceUnavailable, Code: "store_unavailable", retry: 5})
}
