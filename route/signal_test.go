package route

import (
	"errors"
	"reflect"
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
		`{"source":"moon"}`:                                                          "1:11: /source:",
		`{"source":7}`:                                                               "1:11: /source: not a text",
		`{"source":"cron","source":"cron"}`:                                          "/source: key stands twice",
		`{"source":"cron","extra":1}`:                                                "/extra: key is unknown",
		`{"source":"cron","asset":{"symbol":7}}`:                                     "/asset/symbol: not a text",
		`{"source":"cron","asset":{"class":"x"}}`:                                    "/asset/class: key is unknown",
		`{"source":"cron","asset":"x"}`:                                              "/asset: not an object",
		`{"source":"cron","signal_id":"a b"}`:                                        "/signal_id: character ' '",
		`{"source":"cron","signal_id":"é"}`:                                          "/signal_id: character 'é'",
		`{"source":"cron","trace_id":"a:b"}`:                                         "/trace_id: character ':'",
		`{"source":"cron","suggested_stages":["panic"]}`:                             `/suggested_stages/0: stage "panic"`,
		`{"source":"cron","suggested_stages":"decide"}`:                              "/suggested_stages: not a list",
		`{"source":"cron","preload_skills":[1]}`:                                     "/preload_skills/0: not a text",
		`{"source":"cron","signal_id":null}`:                                         "/signal_id: not a text",
		`{"source":"cron","signal_id":"` + strings.Repeat("x", 129) + `"}`:           "/signal_id: text has 129 characters, not 1 to 128",
		`{"source":"cron","payload":"` + strings.Repeat("x", 64<<10) + `"}`:          "/payload: payload has 65538 bytes, the limit is 65536",
		`{"source":"cron","preload_skills":[` + strings.Repeat(`"a",`, 16) + `"a"]}`: "/preload_skills: list has 17 entries, the limit is 16",
	} {
		_, err := ParseSignal([]byte(src))
		var bad *SignalError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: error is %v, want %s", src, err, want)
		}
	}
}

func FuzzParseSignal(f *testing.F) {
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
		}
	})
}
