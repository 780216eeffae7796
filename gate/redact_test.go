package gate

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/quick"
)

func TestRedactionTableIsReadAndEachShapeNeedsItsLiteral(t *testing.T) {
	t.Parallel()
	r, err := parseRedactions(redactText)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.shapes) < 20 || !r.keys["authorization"] {
		t.Fatalf("%d shapes, keys %v", len(r.shapes), r.keys)
	}
	for _, s := range r.shapes {
		for _, l := range s.literals {
			if l == "" {
				t.Errorf("shape %s has an empty literal: it would be tried on every text", s.kind)
			}
		}
	}
	for _, bad := range []string{"github ghp_", "x y ("} {
		if _, err := parseRedactions(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// Tokens are put together here so that no scanner takes this file for a leak.
func TestSecretsOfEveryKindGoAndWhatStandsAroundThemStays(t *testing.T) {
	t.Parallel()
	alnum := strings.Repeat("a1B2", 12)
	for _, c := range []struct{ in, want string }{
		{"push with ghp_" + alnum + " now", "push with [redacted:github] now"},
		{"x=github_pat_" + alnum, "x=[redacted:github]"},
		{"glpat-" + alnum, "[redacted:gitlab]"},
		{"sk-ant-api03-" + alnum, "[redacted:anthropic]"},
		{"OPENAI_API_KEY=sk-proj-" + alnum + " make", "OPENAI_API_KEY=[redacted:openai] make"},
		{"xoxb-" + alnum, "[redacted:slack]"},
		{"https://hooks.slack.com/services/T0/B0/" + alnum, "https://hooks.slack.com/services/[redacted:slack]"},
		{"AKIA" + "ABCDEFGHIJKLMNOP", "[redacted:aws]"},
		{"aws_secret_access_key = " + alnum, "aws_secret_access_key = [redacted:aws]"},
		{"AIza" + alnum, "[redacted:google]"},
		{"sk_live_" + alnum, "[redacted:stripe]"},
		{"npm_" + alnum, "[redacted:npm]"},
		{"hf_" + alnum, "[redacted:huggingface]"},
		{"eyJhbGciOiJIUzI1." + "eyJzdWIiOiIxMjM0." + "c2lnbmF0dXJl", "[redacted:jwt]"},
		{`curl -H "Authorization: Bearer short" https://a.test`, `curl -H "Authorization: [redacted:authorization]" https://a.test`},
		{`curl -H 'authorization: Basic dXNlcjpwdw==' x`, `curl -H 'authorization: [redacted:authorization]' x`},
		{"Authorization: AWS4-HMAC-SHA256 Credential=A/b, Signature=c\nHost: a", "Authorization: [redacted:authorization]\nHost: a"},
		{"use Bearer abcdefghijklmnop here", "use Bearer [redacted:authorization] here"},
		{"Cookie: sid=1; theme=dark\nAccept: */*", "Cookie: [redacted:cookie]\nAccept: */*"},
		{"Set-Cookie: sid=1; HttpOnly", "Set-Cookie: [redacted:cookie]"},
		{"curl --cookie sid=abc https://a.test", "curl --cookie [redacted:cookie] https://a.test"},
		{"psql postgres://me:pw@host/db", "psql postgres://me:[redacted:password]@host/db"},
		{"mysql --password=geheim x", "mysql --password=[redacted:password] x"},
		{"tool --token 12345678abc", "tool --token [redacted:token]"},
		{"two: ghp_" + alnum + " ghp_" + alnum, "two: [redacted:github] [redacted:github]"},
	} {
		got, changed := Redactor{}.Text(c.in)
		if got != c.want || !changed {
			t.Errorf("%q\n got %q\nwant %q", c.in, got, c.want)
		}
		if again, changed := (Redactor{}).Text(got); changed {
			t.Errorf("%q is redacted again to %q", got, again)
		}
	}
}

func TestPlainTextsStay(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "go test ./...", "the authorization of a call", "a cookie recipe", "sk-short", "ghp_", "https://a.test/x:y@z",
		"git clone git@github.com:a/b.git", "export TOKEN=$TOKEN", "mysql --password=$PW", "npm_config_cache", "hf_hub download", "user:pass",
		"AKIA is a prefix", "see task-force-and-other-long-hyphenated-words", "postgres://host/db", "eyJ alone",
	} {
		if got, changed := (Redactor{}).Text(s); changed || got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func TestDeclaredValuesGo(t *testing.T) {
	t.Parallel()
	r := Redactor{Values: func(s string) string { return strings.ReplaceAll(s, "hunter22", "[secret:DB_PASS]") }}
	if got, changed := r.Text("login hunter22"); got != "login [redacted:DB_PASS]" || !changed {
		t.Errorf("%q", got)
	}
	if got, changed := r.Text("[secret:X] stays"); got != "[secret:X] stays" || changed {
		t.Errorf("%q", got)
	}
}

func TestArgumentsKeepTheirFormAndLoseTheirSecrets(t *testing.T) {
	t.Parallel()
	in := `{"url":"https://a.test","headers":{"Authorization":"x","X_API_KEY":["a","b"],"Accept":"*/*","cookie":""},"n":1.50,"list":["Cookie: a=b",null,true],"password":12}`
	want := `{"headers":{"Accept":"*/*","Authorization":"[redacted:authorization]","X_API_KEY":"[redacted:x-api-key]","cookie":""},"list":["Cookie: [redacted:cookie]",null,true],"n":1.5,"password":"[redacted:password]","url":"https://a.test"}`
	got, changed := Redactor{}.JSON(json.RawMessage(in))
	if string(got) != want || !changed {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, changed := (Redactor{}).JSON(json.RawMessage(`{ "b":1,"a":"x" }`)); string(got) != `{"a":"x","b":1}` || changed {
		t.Errorf("%s %v", got, changed)
	}
	for _, unread := range []string{`{"password":"x"`, `{"password":"x","password":"y"}`, `["` + strings.Repeat("x", maxArgs) + `"]`} {
		if got, changed := (Redactor{}).JSON(json.RawMessage(unread)); string(got) != `"[redacted:unread]"` || !changed {
			t.Errorf("%s %v", got, changed)
		}
	}
	if got, changed := (Redactor{}).JSON(nil); got != nil || changed {
		t.Errorf("%s %v", got, changed)
	}
}

// Whatever surrounds a token, it is gone.
func TestNoTokenSurvivesItsSurroundings(t *testing.T) {
	t.Parallel()
	token := "ghp_" + strings.Repeat("Zz9", 12)
	f := func(before, after string) bool {
		text, _ := Redactor{}.Text(before + " " + token + " " + after)
		args, _ := json.Marshal(map[string]any{"k": before + " " + token + "\n" + after, before: []string{token}})
		clean, changed := Redactor{}.JSON(args)
		return !strings.Contains(text, token) && changed && !strings.Contains(string(clean), token)
	}
	if err := quick.Check(f, &quick.Config{MaxCount: 500}); err != nil {
		t.Error(err)
	}
}

func BenchmarkRedactArguments(b *testing.B) {
	args := json.RawMessage(`{"command":"git log --oneline -n 20 -- internal/cli | head","timeout_s":20,"dir":"/srv/project"}`)
	for b.Loop() {
		Redactor{}.JSON(args)
	}
}

func TestQuestionIsKeptWithoutSecretsAndItsRowSaysSo(t *testing.T) {
	t.Parallel()
	kept := &keeping{}
	g, sink := testGate(t, func(o *Options) { kept.Memory, o.Confirms = NewMemory(o.Audit), kept })
	token := "ghp_" + strings.Repeat("Zz9", 12)
	secret, err := g.Check(t.Context(), call("send", `{"to":"`+token+`"}`))
	if err != nil || secret.Verdict != Ask || !secret.Secret || !strings.Contains(string(secret.Args), token) {
		t.Fatalf("%+v %v", secret, err)
	}
	plain, err := g.Check(t.Context(), call("send", `{"to":"you"}`))
	if err != nil || plain.Secret {
		t.Fatalf("%+v %v", plain, err)
	}
	if len(kept.opened) != 2 {
		t.Fatalf("kept %+v", kept.opened)
	}
	first, second := string(kept.opened[0].Shown), string(kept.opened[1].Shown)
	if strings.Contains(first, token) || !strings.Contains(first, "[redacted:github]") || !strings.Contains(second, `"to":"you"`) {
		t.Errorf("kept %q, %q", first, second)
	}
	if len(sink.rows) != 2 || !sink.rows[0].Secret || sink.rows[1].Secret {
		t.Errorf("rows %+v", sink.rows)
	}
}
