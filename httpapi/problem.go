package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// problem is a refusal, as application/problem+json.
type problem struct {
	Type     string  `json:"type"`
	Title    string  `json:"title"`
	Status   int     `json:"status"`
	Code     string  `json:"code"`
	Detail   string  `json:"detail"`
	Instance string  `json:"instance"`
	Errors   []fault `json:"errors,omitempty"`
	TraceID  string  `json:"trace_id,omitempty"` // of a duplicate: the first one's
	retry    int     // seconds; 0 = not said
}

// fault is one thing that is wrong with a request.
type fault struct {
	Pointer   string `json:"pointer,omitempty"`
	Parameter string `json:"parameter,omitempty"`
	Code      string `json:"code"`
	Message   string `json:"message"`
}

// refuse answers with a problem.
func refuse(w http.ResponseWriter, status int, code, detail string) {
	answerProblem(w, problem{Status: status, Code: code, Detail: detail})
}

func answerProblem(w http.ResponseWriter, p problem) {
	p.Type, p.Title, p.Instance = "urn:deft:problem:"+p.Code, http.StatusText(p.Status), w.Header().Get(requestID)
	if p.Status >= http.StatusInternalServerError {
		p.Detail = "" // what went wrong inside is in the log
	}
	if p.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.retry))
	}
	write(w, "application/problem+json", p.Status, p)
}

func answer(w http.ResponseWriter, status int, body any) { write(w, "application/json", status, body) }

func write(w http.ResponseWriter, kind string, status int, body any) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(body) // a reader that went away hears nothing
}
