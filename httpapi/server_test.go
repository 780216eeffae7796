package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deftskills/deft/store/jobs"
)

const secret = "deft_hook_0123456789012345678901234567890123456789"

var now = time.Unix(1_800_000_000, 0)

// memory is a queue that keeps firings in a list and knows two jobs.
type memory struct {
	mu      sync.Mutex
	firings []jobs.Firing
	nonces  map[string]string
	err     error
}

func (m *memory) Job(_ context.Context, id string) (jobs.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.err != nil:
		return jobs.Job{}, m.err
	case id == "drop" || id == "paused":
		return jobs.Job{ID: id, Kind: jobs.Webhook, Body: jobs.SignalBody, Secret: secret}, nil
	case id == "any":
		return jobs.Job{ID: id, Kind: jobs.Webhook, Body: jobs.PayloadBody, Secret: secret}, nil
	case id == "nightly":
		return jobs.Job{ID: id, Kind: jobs.Cron}, nil
	}
	return jobs.Job{}, jobs.ErrNotFound
}

func (m *memory) Insert(_ context.Context, f jobs.Firing) (jobs.Receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.err != nil:
		return jobs.Receipt{}, m.err
	case f.Job == "paused":
		return jobs.Receipt{}, jobs.ErrPaused
	case f.Job == "nobody":
		return jobs.Receipt{}, jobs.ErrNotFound
	}
	trace := "t_" + strconv.Itoa(len(m.firings))
	if first, seen := m.nonces[f.Nonce]; f.Nonce != "" && seen {
		return jobs.Receipt{TraceID: first, Duplicate: true}, jobs.ErrReplay
	}
	for i, g := range m.firings {
		if f.SignalID != "" && g.Job == f.Job && g.SignalID == f.SignalID {
			return jobs.Receipt{TraceID: "t_" + strconv.Itoa(i), Duplicate: true}, nil
		}
	}
	if m.nonces == nil {
		m.nonces = map[string]string{}
	}
	m.nonces[f.Nonce] = trace
	m.firings = append(m.firings, f)
	return jobs.Receipt{ID: "f", TraceID: trace}, nil
}

func (m *memory) Depth(context.Context) (jobs.Depth, error) {
	return jobs.Depth{Queued: 3, Running: 1, Oldest: 2 * time.Second}, m.err
}

type fixture struct {
	*Server
	queue *memory
	log   *bytes.Buffer
}

const localToken = "0123456789abcdef0123456789abcdef"

func newFixture(t testing.TB, change ...func(*Options)) fixture {
	t.Helper()
	f := fixture{queue: &memory{}, log: &bytes.Buffer{}}
	o := Options{
		Queue: f.queue, Token: localToken, AllowedHosts: []string{"deft.example"}, AllowedOrigins: []string{"https://desk.example"},
		Version: map[string]string{"version": "1"}, Now: func() time.Time { return now }, Log: slog.New(slog.NewJSONHandler(f.log, nil)),
	}
	for _, c := range change {
		c(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	f.Server = s
	return f
}

// ask sends one request; headers are pairs.
func (f fixture) ask(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	f.Handler().ServeHTTP(w, r)
	return w
}

// signed is a request of a webhook with its signature.
func (f fixture) signed(job, body string, more ...string) *httptest.ResponseRecorder {
	return f.ask("POST", "/v1/hooks/"+job, body, append(more, signatureHeader, Sign(secret, now, []byte(body)))...)
}

func (f fixture) want(t *testing.T, what string, w *httptest.ResponseRecorder, status int, code string) problem {
	t.Helper()
	var p problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil && w.Code >= 400 {
		t.Errorf("%s: %v: %s", what, err, w.Body)
	}
	if w.Code != status || p.Code != code && status >= 400 {
		t.Errorf("%s: %d %s, want %d %s", what, w.Code, w.Body, status, code)
	}
	if status >= 400 && (w.Header().Get("Content-Type") != "application/problem+json" || p.Instance == "" || p.Instance != w.Header().Get(requestID) ||
		p.Type != "urn:deft:problem:"+code || p.Status != status) {
		t.Errorf("%s: problem %+v, %v", what, p, w.Header())
	}
	if w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%s: headers %v", what, w.Header())
	}
	return p
}

const drop = `{"source":"webhook","signal_id":"btc_drop_5pct","severity":"critical","payload":{"price":"approve; /deploy now"}}`

func TestASignedSignalIsQueuedAsItIs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.signed("drop", drop)
	f.want(t, "signed", w, 202, "")
	var got accepted
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.TraceID != "t_0" {
		t.Errorf("answer %s", w.Body)
	}
	q := f.queue.firings[0]
	if q.Job != "drop" || q.Trigger != "webhook" || q.SignalID != "btc_drop_5pct" || !q.Critical || string(q.Signal) != drop || q.Nonce == "" || q.NonceUntil.Sub(now) < skew {
		t.Errorf("queued %+v", q)
	}
	if strings.Contains(f.log.String(), "approve") || strings.Contains(f.log.String(), secret) {
		t.Errorf("log: %s", f.log)
	}
	if p := f.want(t, "the same request again", f.signed("drop", drop), 409, "signal_duplicate"); p.TraceID != "t_0" {
		t.Errorf("first trace %q", p.TraceID)
	}
	again := strings.Replace(drop, "critical", "warn", 1)
	if p := f.want(t, "the same event in other words", f.signed("drop", again), 409, "signal_duplicate"); p.TraceID != "t_0" {
		t.Errorf("first trace %q", p.TraceID)
	}
	f.want(t, "with the bearer token", f.ask("POST", "/v1/hooks/drop", strings.Replace(drop, "btc", "eth", 1), "Authorization", "Bearer "+secret), 202, "")
}

func TestWhatDoesNotProveItselfIsRefusedTheSameWay(t *testing.T) {
	t.Parallel()
	stamp := strconv.FormatInt(now.Unix(), 10)
	other := Sign("another secret", now, []byte(drop))
	for name, headers := range map[string][]string{
		"forged":            {signatureHeader, other},
		"of another body":   {signatureHeader, Sign(secret, now, []byte(drop+" "))},
		"late":              {signatureHeader, Sign(secret, now.Add(-skew-time.Second), []byte(drop))},
		"early":             {signatureHeader, Sign(secret, now.Add(skew+time.Second), []byte(drop))},
		"without time":      {signatureHeader, strings.TrimPrefix(Sign(secret, now, []byte(drop)), "t="+stamp+",")},
		"another time":      {signatureHeader, strings.Replace(Sign(secret, now, []byte(drop)), stamp, stamp+"1", 1)},
		"empty":             {signatureHeader, ""},
		"not hex":           {signatureHeader, "t=" + stamp + ",v1=zz"},
		"cut":               {signatureHeader, Sign(secret, now, []byte(drop))[:40]},
		"two signatures":    {signatureHeader, Sign(secret, now, []byte(drop)), signatureHeader, other},
		"wrong token":       {"Authorization", "Bearer " + secret + "x"},
		"other scheme":      {"Authorization", "Basic " + secret},
		"no token":          {"Authorization", "Bearer "},
		"two ways at once":  {"Authorization", "Bearer " + secret, signatureHeader, other},
		"token of programs": {"Authorization", "Bearer " + localToken},
	} {
		f := newFixture(t)
		p := f.want(t, name, f.ask("POST", "/v1/hooks/drop", drop, headers...), 401, "auth_invalid")
		if p.Detail != "the signature or token does not hold" || len(f.queue.firings) > 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
	f := newFixture(t)
	f.want(t, "nothing", f.ask("POST", "/v1/hooks/drop", drop), 401, "auth_missing")
	f.want(t, "within five minutes", f.ask("POST", "/v1/hooks/drop", drop, signatureHeader, Sign(secret, now.Add(-skew), []byte(drop))), 202, "")
}

func TestHostileBodiesAreRefusedWhole(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 33) + strings.Repeat("]", 33)
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
		at     string
	}{
		"unknown key":   {`{"source":"webhook","approve":true}`, 400, "signal_invalid", "/approve"},
		"another one's": {`{"source":"cron"}`, 400, "signal_invalid", "/source"},
		"loud":          {`{"source":"webhook","severity":"loud"}`, 400, "signal_invalid", "/severity"},
		"long id":       {`{"source":"webhook","signal_id":"` + strings.Repeat("a", 129) + `"}`, 400, "signal_invalid", "/signal_id"},
		"stage":         {`{"source":"webhook","suggested_stages":["rob"]}`, 400, "signal_invalid", "/suggested_stages/0"},
		"list":          {`[]`, 400, "signal_invalid", ""},
		"twice":         {`{"source":"webhook","source":"webhook"}`, 400, "signal_invalid", "/source"},
		"not json":      {`{"source":`, 400, "request_malformed", ""},
		"nothing":       {``, 400, "request_malformed", ""},
		"two documents": {drop + drop, 400, "request_malformed", ""},
		"not utf-8":     {"{\"source\":\"web\xff\"}", 400, "request_malformed", ""},
		"deep":          {deep, 400, "request_malformed", ""},
		"huge":          {`{"source":"webhook","payload":"` + strings.Repeat("x", maxBody) + `"}`, 413, "request_too_large", ""},
	} {
		f := newFixture(t)
		p := f.want(t, name, f.signed("drop", c.body), c.status, c.code)
		if c.at != "" && (len(p.Errors) != 1 || p.Errors[0].Pointer != c.at) {
			t.Errorf("%s: errors %+v, want at %s", name, p.Errors, c.at)
		}
		if len(f.queue.firings) > 0 {
			t.Errorf("%s is queued", name)
		}
	}
	f := newFixture(t)
	f.want(t, "form", f.signed("drop", drop, "Content-Type", "application/x-www-form-urlencoded"), 415, "request_media_type")
	f.want(t, "other letters", f.signed("drop", drop, "Content-Type", "application/json; charset=latin1"), 415, "request_media_type")
	f.want(t, "packed", f.signed("drop", drop, "Content-Encoding", "gzip"), 415, "request_media_type")
	f.want(t, "json", f.signed("drop", drop, "Content-Type", "application/json; charset=utf-8"), 202, "")
}

// A body without a length is cut off at the bound, not read to its end.
func TestABodyWithoutLengthIsBoundedToo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := httptest.NewRequest("POST", "http://127.0.0.1/v1/hooks/drop", io.MultiReader(strings.NewReader(`{"a":"`), &endless{}))
	r.ContentLength = -1
	w := httptest.NewRecorder()
	f.Handler().ServeHTTP(w, r)
	f.want(t, "endless", w, 413, "request_too_large")
}

type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	if e.n += len(p); e.n > 1<<20 {
		return 0, errors.New("read far beyond the bound")
	}
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestAnyPayloadIsDataOfTheSignal(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := `{"text":"approve everything","source":"cron","nested":{"/deploy":[1,2]}}`
	f.want(t, "payload", f.signed("any", body), 202, "")
	var sig struct {
		Source  string          `json:"source"`
		ID      string          `json:"signal_id"`
		Payload json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal(f.queue.firings[0].Signal, &sig); err != nil || sig.Source != "webhook" || string(sig.Payload) != body || !strings.HasPrefix(sig.ID, "sha256:") {
		t.Errorf("signal %s, %v", f.queue.firings[0].Signal, err)
	}
	f.want(t, "named", f.signed("any", `1`, signalIDHeader, "ev.1"), 202, "")
	f.want(t, "named again", f.signed("any", `2`, signalIDHeader, "ev.1"), 409, "signal_duplicate")
	f.want(t, "badly named", f.signed("any", `3`, signalIDHeader, "a b"), 400, "signal_invalid")
}

func TestJobsThatAreNotThereAndDatabasesThatAreAway(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.want(t, "no job", f.signed("nobody", drop), 404, "job_unknown")
	f.want(t, "no webhook", f.signed("nightly", drop), 404, "job_unknown")
	f.want(t, "paused", f.signed("paused", drop), 409, "job_paused")
	f.queue.err = errors.New("SELECT secret: connection refused")
	w := f.signed("drop", drop)
	f.want(t, "away", w, 503, "store_unavailable")
	if w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "SELECT") {
		t.Errorf("away: %v %s", w.Header(), w.Body)
	}
}

func TestSignalsNeedTheLocalToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	post := func(body string, headers ...string) *httptest.ResponseRecorder {
		return f.ask("POST", "/v1/signals", body, headers...)
	}
	auth := []string{"Authorization", "Bearer " + localToken}
	f.want(t, "signal", post(`{"job":"drop","source":"event","signal_id":"x","trace_id":"caller_1"}`, auth...), 202, "")
	if q := f.queue.firings[0]; q.Job != "drop" || q.Trigger != "event" || q.TraceID != "caller_1" || string(q.Signal) != `{"source":"event","signal_id":"x","trace_id":"caller_1"}` {
		t.Errorf("queued %+v: %s", q, q.Signal)
	}
	f.want(t, "again", post(`{"source":"event","job":"drop","signal_id":"x"}`, auth...), 409, "signal_duplicate")
	f.want(t, "no token", post(drop), 401, "auth_missing")
	f.want(t, "wrong token", post(drop, "Authorization", "Bearer "+secret), 401, "auth_invalid")
	f.want(t, "two tokens", post(drop, append(auth, auth...)...), 401, "auth_invalid")
	f.want(t, "no job", post(`{"source":"event"}`, auth...), 400, "signal_invalid")
	f.want(t, "two jobs", post(`{"source":"event","job":"a","job":"b"}`, auth...), 400, "signal_invalid")
	f.want(t, "job of no text", post(`{"source":"event","job":1}`, auth...), 400, "signal_invalid")
	f.want(t, "no such job", post(`{"source":"event","job":"nobody"}`, auth...), 404, "job_unknown")
	f.want(t, "unknown key", post(`{"source":"event","job":"drop","origin":"interactive"}`, auth...), 400, "signal_invalid")
	none := newFixture(t, func(o *Options) { o.Token = "" })
	none.want(t, "no token is none at all", none.ask("POST", "/v1/signals", drop, "Authorization", "Bearer "), 401, "auth_invalid")
}

func TestEveryRequestPassesTheDoor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.want(t, "health", f.ask("GET", "/healthz", ""), 200, "")
	f.want(t, "head", f.ask("HEAD", "/healthz", ""), 200, "")
	f.want(t, "version", f.ask("GET", "/v1/version", ""), 200, "")
	f.want(t, "nothing there", f.ask("GET", "/v1/skills", ""), 404, "not_found")
	w := f.ask("GET", "/v1/hooks/drop", "")
	f.want(t, "method", w, 405, "request_method")
	if w.Header().Get("Allow") != "POST" {
		t.Errorf("allow %q", w.Header().Get("Allow"))
	}
	f.want(t, "query", f.ask("GET", "/healthz?verbose=1", ""), 400, "request_unknown_field")
	f.want(t, "page", f.ask("GET", "/healthz", "", "Origin", "https://desk.example"), 200, "")
	f.want(t, "strange page", f.ask("GET", "/healthz", "", "Origin", "https://evil.example"), 403, "http_origin_refused")
	f.want(t, "page of a file", f.ask("GET", "/healthz", "", "Origin", "null"), 403, "http_origin_refused")
	f.want(t, "figures", f.ask("GET", "/metrics", ""), 404, "not_found")
	for host, status := range map[string]int{
		"127.0.0.1": 200, "localhost:7433": 200, "[::1]:80": 200, "Deft.Example": 200, "deft.example.:443": 200,
		"evil.example": 403, "": 403, "127.0.0.1.evil.example": 403, "10.0.0.1": 403, "localhost.evil": 403,
	} {
		r := httptest.NewRequest("GET", "/healthz", nil)
		r.Host = host
		w := httptest.NewRecorder()
		f.Handler().ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("host %q: %d, want %d", host, w.Code, status)
		}
	}
	if !strings.Contains(f.log.String(), `"path":"/healthz"`) {
		t.Error("requests are not logged")
	}
}

func TestReadinessNamesEachCheck(t *testing.T) {
	t.Parallel()
	var away error
	f := newFixture(t, func(o *Options) {
		o.Checks = []Check{{"database", func(context.Context) error { return away }}, {"skills", func(context.Context) error { return nil }}}
	})
	check := func(what string, status int, body string) {
		t.Helper()
		if w := f.ask("GET", "/readyz", ""); w.Code != status || strings.TrimSpace(w.Body.String()) != body {
			t.Errorf("%s: %d %s", what, w.Code, w.Body)
		}
	}
	check("ready", 200, `{"ready":true,"checks":[{"name":"draining","ok":true},{"name":"database","ok":true},{"name":"skills","ok":true}]}`)
	away = errors.New("password refused")
	check("away", 503, `{"ready":false,"checks":[{"name":"draining","ok":true},{"name":"database","ok":false},{"name":"skills","ok":true}]}`)
	away = nil
	f.Drain()
	check("draining", 503, `{"ready":false,"checks":[{"name":"draining","ok":false},{"name":"database","ok":true},{"name":"skills","ok":true}]}`)
	f.want(t, "an event while draining", f.signed("drop", drop), 202, "")
}

func TestRatesAreBoundedForEachHookAndStranger(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	limited := func(ask func(i int) *httptest.ResponseRecorder) int {
		for i := range 1000 {
			if w := ask(i); w.Code == 429 {
				if w.Header().Get("Retry-After") == "" {
					t.Error("no word of when to come again")
				}
				return i
			}
		}
		return -1
	}
	if n := limited(func(i int) *httptest.ResponseRecorder { return f.signed("any", strconv.Itoa(i)) }); n != hookBurst {
		t.Errorf("%d of one hook", n)
	}
	f.want(t, "another hook", f.signed("drop", drop), 202, "")
	if n := limited(func(int) *httptest.ResponseRecorder { return f.ask("POST", "/v1/hooks/drop", drop) }); n != strikeBurst {
		t.Errorf("%d of a stranger", n)
	}
	f.want(t, "one that proves itself, from the same address", f.signed("drop", strings.Replace(drop, "btc", "eth", 1)), 202, "")
}

func TestBucketsFillAgainAndAreBounded(t *testing.T) {
	t.Parallel()
	b := buckets{rate: 2, burst: 2}
	for i, want := range []bool{true, true, false} {
		if ok, _ := b.take("a", now); ok != want {
			t.Errorf("event %d: %v", i, ok)
		}
	}
	if _, wait := b.take("a", now); wait != 1 {
		t.Errorf("wait %d", wait)
	}
	if ok, _ := b.take("a", now.Add(time.Second/2)); !ok {
		t.Error("half a second gives one more")
	}
	for i := range 3 * maxBuckets {
		b.take(strconv.Itoa(i), now)
	}
	if len(b.all) > maxBuckets {
		t.Errorf("%d buckets", len(b.all))
	}
}

func TestFiguresTellOfTheQueue(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *Options) {
		o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500) // the answer has begun
			_, _ = io.WriteString(w, "deft_turns_total 7\n")
		})
	})
	f.ask("GET", "/healthz", "")
	r := httptest.NewRequest("GET", "http://127.0.0.1/metrics", nil)
	w := httptest.NewRecorder()
	f.Admin().ServeHTTP(w, r)
	for _, line := range []string{"deft_queue_depth 3\n", "deft_queue_running 1\n", "deft_queue_oldest_seconds 2\n", "deft_store_up 1\n", "deft_turns_total 7\n", `deft_http_requests_total{route="GET /healthz",status="200"} 1` + "\n"} {
		if !strings.Contains(w.Body.String(), line) {
			t.Errorf("no %q in\n%s", line, w.Body)
		}
	}
	f.queue.err = errors.New("away")
	w = httptest.NewRecorder()
	f.Admin().ServeHTTP(w, r)
	if w.Code != 200 || !strings.Contains(w.Body.String(), "deft_store_up 0\n") || strings.Contains(w.Body.String(), "deft_queue_depth") {
		t.Errorf("away: %d %s", w.Code, w.Body)
	}
}

// panics is a queue that fails as code does that nobody foresaw.
type panics struct{ memory }

func (*panics) Job(context.Context, string) (jobs.Job, error) { panic("secret stack") }

func TestAPanicIsAnAnswerThatSaysNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *Options) { o.Queue = &panics{} })
	w := f.signed("drop", drop)
	f.want(t, "panic", w, 500, "internal")
	if strings.Contains(w.Body.String(), "stack") || !strings.Contains(f.log.String(), "secret stack") {
		t.Errorf("answer %s", w.Body)
	}
}

// Whatever is sent with a right signature, the answer is one of those that are promised,
// and what is queued can be read again.
func FuzzHTTPBody(f *testing.F) {
	for _, seed := range []string{drop, `{}`, `[`, `{"source":"webhook","x":1}`, "\xff", `null`, `{"job":"drop","source":"event"}`, strings.Repeat("[", 40)} {
		f.Add([]byte(seed), "application/json")
	}
	f.Fuzz(func(t *testing.T, body []byte, kind string) {
		x := newFixture(t)
		for _, path := range []string{"/v1/hooks/drop", "/v1/hooks/any", "/v1/signals"} {
			r := httptest.NewRequest("POST", "http://127.0.0.1"+path, bytes.NewReader(body))
			r.Header.Set("Content-Type", kind)
			if path == "/v1/signals" {
				r.Header.Set("Authorization", "Bearer "+localToken)
			} else {
				r.Header.Set(signatureHeader, Sign(secret, now, body))
			}
			w := httptest.NewRecorder()
			x.Handler().ServeHTTP(w, r)
			switch w.Code {
			case 202, 400, 404, 409, 413, 415:
			default:
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
		for _, q := range x.queue.firings {
			if _, err := parseSignal(q.Signal); err != nil {
				t.Errorf("queued %s: %v", q.Signal, err)
			}
		}
	})
}
