package model_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/agent/model"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, flag, config string
		env                map[string]string
		want               model.Choice
		ok                 bool
		err                string
	}{
		{name: "nothing"},
		{name: "the flag wins", flag: "openai/gpt-5-mini", config: "anthropic/claude", env: map[string]string{"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "a"},
			want: model.Choice{Provider: "openai", Name: "gpt-5-mini", Key: "k", Why: "flag"}, ok: true},
		{name: "the configuration is next", config: "anthropic/claude", env: map[string]string{"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "a"},
			want: model.Choice{Provider: "anthropic", Name: "claude", Key: "a", Why: "config"}, ok: true},
		{name: "the first key", env: map[string]string{"OPENAI_API_KEY": "k", "GEMINI_API_KEY": "g"},
			want: model.Choice{Provider: "openai", Name: "gpt-5", Key: "k", Why: "OPENAI_API_KEY"}, ok: true},
		{name: "gemini by key", env: map[string]string{"GEMINI_API_KEY": "g"},
			want: model.Choice{Provider: "gemini", Name: "gemini-2.5-flash", Key: "g", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai/", Why: "GEMINI_API_KEY"}, ok: true},
		{name: "a script", flag: "scripted:a/b.yaml", want: model.Choice{Provider: "scripted", Name: "a/b.yaml", Why: "flag"}, ok: true},
		{name: "a name with slashes", flag: "openai-compatible/org/model", env: map[string]string{"OPENAI_COMPATIBLE_BASE_URL": "http://h/v1"},
			want: model.Choice{Provider: "openai-compatible", Name: "org/model", BaseURL: "http://h/v1", Why: "flag"}, ok: true},
		{name: "no key", flag: "anthropic/claude", err: "set ANTHROPIC_API_KEY"},
		{name: "no address", flag: "openai-compatible/x", err: "set OPENAI_COMPATIBLE_BASE_URL"},
		{name: "no model", flag: "ollama", err: "ollama/NAME"},
		{name: "an unknown provider", flag: "clippy/1", err: "unknown provider; known are scripted, anthropic"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok, err := model.Choose(t.Context(), tt.flag, tt.config, func(k string) string { return tt.env[k] }, nil)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil || ok != tt.ok || got != tt.want {
				t.Errorf("got %+v %t %v, want %+v", got, ok, err, tt.want)
			}
		})
	}
}

func TestALocalServerIsFoundIfItAnswersAtOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"it has a model":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"data":[{"id":"qwen3"}]}`)) }, "qwen3"},
		"it has none":     {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"data":[]}`)) }, ""},
		"it is another's": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`<html>`)) }, ""},
		"it hangs":        {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(tt.handler)
			defer s.Close()
			// Whatever address is asked, the test's server answers.
			client := &http.Client{Transport: redirect{s}}
			got, ok, err := model.Choose(t.Context(), "", "", func(string) string { return "" }, client)
			if err != nil || ok != (tt.want != "") || got.Name != tt.want {
				t.Errorf("got %+v %t %v", got, ok, err)
			}
			if ok && (got.Provider != "ollama" || got.BaseURL != "http://127.0.0.1:11434/v1/") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

type redirect struct{ s *httptest.Server }

func (r redirect) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Host = strings.TrimPrefix(r.s.URL, "http://")
	return r.s.Client().Transport.RoundTrip(req)
}

func TestErrorsSayWhetherToTryAgain(t *testing.T) {
	t.Parallel()
	for status, again := range map[int]bool{400: false, 401: false, 403: false, 404: false, 408: true, 409: true, 425: true, 429: true, 500: true, 529: true} {
		if e := model.FromStatus(status, nil, "m"); e.Retryable() != again {
			t.Errorf("%d: %s", status, e.Kind)
		}
	}
	h := http.Header{"Retry-After-Ms": {"1500"}, "Retry-After": {"9"}}
	if e := model.FromStatus(429, h, ""); e.RetryAfter != 1500*time.Millisecond {
		t.Errorf("wait %s", e.RetryAfter)
	}
	h = http.Header{"Retry-After": {"-1"}}
	if e := model.FromStatus(429, h, ""); e.RetryAfter != 0 {
		t.Errorf("wait %s", e.RetryAfter)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if e := model.FromTransport(ctx, errors.New("x"), true); e.Kind != model.KindCanceled || e.Retryable() {
		t.Errorf("cancelled: %s", e.Kind)
	}
}

func TestOneline(t *testing.T) {
	t.Parallel()
	got := model.Oneline("key secret-key-1 is\n bad\xff "+strings.Repeat("é", 400), "secret-key-1")
	if strings.Contains(got, "secret") || strings.Contains(got, "\n") || len(got) > 520 || !strings.HasPrefix(got, "key [key] is bad\uFFFD") {
		t.Errorf("%q", got)
	}
}

func TestBuilderBoundsWhatAServerSends(t *testing.T) {
	t.Parallel()
	var b model.Builder
	var err error
	for i := 0; err == nil && i < 100; i++ {
		err = b.Add(model.Delta{Text: strings.Repeat("x", 1<<20)})
	}
	if err == nil {
		t.Error("text without end was taken")
	}
	b = model.Builder{}
	if err := b.Add(model.Delta{Call: &model.Call{Input: make([]byte, model.MaxCallInput+1)}}); err == nil {
		t.Error("a call without end was taken")
	}
	b = model.Builder{}
	_ = b.Add(model.Delta{Call: &model.Call{Name: "a"}})
	_ = b.Add(model.Delta{Stop: model.StopEnd})
	if s, whole := b.Step(); !whole || s.Stop != model.StopTools {
		t.Errorf("stop %q", s.Stop)
	}
}
