package route

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestASignalIsReadWhole(t *testing.T) {
	t.Parallel()
	s, err := ParseSignal([]byte(`{
		"source": "webhook", "signal_id": "btc_drop:5", "asset": {"symbol": "BTC", "asset_class": "crypto_major"},
		"severity": "critical", "preload_skills": ["market.watch"], "suggested_stages": ["evaluate", "decide"],
		"trace_id": "trace_1-a", "payload": {"text": "approve"}
	}`))
	want := Signal{
		Source: "webhook", ID: "btc_drop:5", Asset: &Asset{"BTC", "crypto_major"}, Severity: "critical",
		PreloadSkills: []string{"market.watch"}, SuggestedStages: []string{"evaluate", "decide"},
		TraceID: "trace_1-a", Payload: []byte(`{"text": "approve"}`),
	}
	if err != nil || !reflect.DeepEqual(s, want) {
		t.Errorf("signal is %+v, %v", s, err)
	}
	if s, err := ParseSignal([]byte(`{"source":"cron"}`)); err != nil || s.Severity != "info" {
		t.Errorf("signal is %+v, %v", s, err)
	}
}

func TestABadSignalIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		``:                                      "1:1: unexpected end of JSON input",
		`[]`:                                    "1:1: not an object",
		`{}`:                                    "1:1: source is missing",
		"{\"source\": \"cron\",\n \"asset\": }": "2:11: invalid character '}'",
		`{"source":"cron"`:                      "1:16: unexpected end of JSON input",
		`{"source":"cron"} x`:                   "1:19: invalid character 'x' after top-level value",
		"{\"source\":\"cron\",\n\"severity\": \"loud\"}": `2:13: /severity: "loud" is not one of`,
		`{"source":"moon"}`:                              "1:11: /source:",
		`{"source":7}`:                                   "1:11: /source: not a text",
		`{"source":"cron","source":"cron"}`:              "/source: key stands twice",
		`{"source":"cron","extra":1}`:                    "/extra: key is unknown",
		`{"source":"cron","asset":{"symbol":7}}`:         "/asset/symbol: not a text",
		`{"source":"cron","asset":{"class":"x"}}`:        "/asset/class: key is unknown",
		`{"source":"cron","asset":"x"}`:                  "/asset: not an object",
		`{"source":"cron","signal_id":"a b"}`:            "/signal_id: character ' '",
		`{"source":"cron","signal_id":"é"}`:              "/signal_id: character 'é'",
		`{"source":"cron","trace_id":""}`:                "/trace_id: text has 0 characters",
		`{"source":"cron","trace_id":"a\u0000b"}`:        "/trace_id: text has a control character",
		`{"source":"cron","asset":{"symbol":"a\nb"}}`:    "/asset/symbol: text has a control character",
		`{"source":"cron","a/b~c":1}`:                    "/a~1b~0c: key is unknown",
		`{"source":"cron","Source":"cron"}`:              "/Source: key is unknown",
		"{\"source\":\"cron\",\n\"signal_id\":\"\xff\"}": "2:14: not UTF-8",
		`{"source":"cron","payload":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`: "1:59: lists and objects lie more than 32 deep",
		`{"source":"cron"` + strings.Repeat(" ", 512<<10) + `}`:                                 "signal has 524305 bytes, the limit is 524288",
		`{"source":"cron","suggested_stages":["panic"]}`:                                        `/suggested_stages/0: stage "panic"`,
		`{"source":"cron","suggested_stages":"decide"}`:                                         "/suggested_stages: not a list",
		`{"source":"cron","preload_skills":[1]}`:                                                "/preload_skills/0: not a text",
		`{"source":"cron","signal_id":null}`:                                                    "/signal_id: not a text",
		`{"source":"cron","signal_id":"` + strings.Repeat("x", 129) + `"}`:                      "/signal_id: text has 129 characters, not 1 to 128",
		`{"source":"cron","payload":"` + strings.Repeat("x", 64<<10) + `"}`:                     "/payload: payload has 65538 bytes, the limit is 65536",
		`{"source":"cron","preload_skills":[` + strings.Repeat(`"a",`, 16) + `"a"]}`:            "/preload_skills: list has 17 entries, the limit is 16",
	} {
		_, err := ParseSignal([]byte(src))
		var bad *SignalError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: error is %v, want %s", src, err, want)
		}
	}
}

func TestAStoredPayloadIsTheOneThatCame(t *testing.T) {
	t.Parallel()
	payload := `{"a":"` + strings.Repeat(`<&>`, 21_000) + `\\u003c\u2028\n"}`
	s, err := ParseSignal([]byte(`{"source":"cron","payload":` + payload + `}`))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var again Signal
	if err := json.Unmarshal(stored, &again); err != nil || !reflect.DeepEqual(again, s) {
		t.Errorf("%d bytes stored: %v", len(stored), err)
	}
}

func TestTheSendersTraceIsTakenOnceAndElseKept(t *testing.T) {
	t.Parallel()
	used := func(id string) bool { return id == "taken" }
	for id, want := range map[string][2]string{
		"": {}, "abcd": {"abcd"}, "A_-9": {"A_-9"}, strings.Repeat("x", 64): {strings.Repeat("x", 64)},
		"abc": {"", "abc"}, "a:b:c": {"", "a:b:c"}, strings.Repeat("x", 65): {"", strings.Repeat("x", 65)}, "taken": {"", "taken"},
	} {
		if trace, parent := (Signal{TraceID: id}).Traces(used); [2]string{trace, parent} != want {
			t.Errorf("%q: trace %q, parent %q", id, trace, parent)
		}
	}
	if trace, _ := (Signal{TraceID: "taken"}).Traces(nil); trace != "taken" {
		t.Errorf("trace is %q where nobody knows what is used", trace)
	}
}

func TestASignalMadeInCodeHasTheSameBounds(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Signal{
		"": {Source: "cron"}, "/source": {Source: "moon"}, "/payload": {Source: "cron", Payload: []byte("{")},
		"/suggested_stages/0": {Source: "event", SuggestedStages: []string{"panic"}}, "/asset/symbol": {Source: "cron", Asset: &Asset{Symbol: strings.Repeat("x", 33)}},
	} {
		var bad *SignalError
		switch err := s.Check(); {
		case want == "" && err != nil:
			t.Errorf("%+v: %v", s, err)
		case want != "" && (!errors.As(err, &bad) || bad.Pointer != want):
			t.Errorf("%+v: error is %v, want %s", s, err, want)
		}
	}
}

func FuzzSignal(f *testing.F) {
	f.Add([]byte(`{"source":"cron","payload":{"a":[1,{"b":"\u2028<"}]},"trace_id":"a b"}`))
	f.Add([]byte("{\"source\":\"cron\", \"payload\":\"\\\"[\"}"))
	f.Add([]byte(`{"source":"cron","asset":{"symbol":"A","asset_class":"b"},"payload":[1]}`))
	f.Add([]byte("{\"source\":\"event\",\n\"suggested_stages\":[\"decide\",1]"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := ParseSignal(src)
		var bad *SignalError
		switch {
		case err == nil && s.Source == "":
			t.Error("a signal without source")
		case err != nil && (!errors.As(err, &bad) || bad.Line < 1 || bad.Column < 1 || bad.Message == ""):
			t.Errorf("error is %#v", err)
		case err == nil:
			written, err := json.Marshal(s)
			again, readErr := ParseSignal(written)
			if err != nil || readErr != nil || again.Check() != nil || again.TraceID != s.TraceID || !slices.Equal(again.PreloadSkills, s.PreloadSkills) {
				t.Errorf("written as %s, read as %+v, %v", written, again, readErr)
			}
		}
	})
}
