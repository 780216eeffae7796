package anthropic_test

import (
	"encoding/json"
	"testing"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/agent/model/anthropic"
	"github.com/deftskills/deft/internal/modeltest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(s *modeltest.Server) model.Model {
	return anthropic.New(anthropic.Options{Name: "test-model", Key: modeltest.Key, BaseURL: s.Anthropic()})
}

func TestSuite(t *testing.T) { modeltest.Suite(t, open) }

func TestCacheMarkIsOnTheMarkedBlockAlone(t *testing.T) {
	s := modeltest.NewServer(modeltest.Step{Text: "ok"})
	defer s.Close()
	r := model.Request{
		System:   []model.Block{{Text: "one"}, {Text: "two", Cache: true}},
		Messages: []model.Message{{Role: model.User, Text: "hi"}},
	}
	for _, err := range open(s).Stream(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var body struct {
		System []struct {
			Text  string
			Cache *struct{ Type string } `json:"cache_control"`
		}
	}
	if err := json.Unmarshal(s.Requests()[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	if len(body.System) != 2 || body.System[0].Cache != nil || body.System[1].Cache == nil || body.System[1].Cache.Type != "ephemeral" {
		t.Errorf("got %+v", body.System)
	}
}
