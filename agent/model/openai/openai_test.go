package openai_test

import (
	"testing"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/agent/model/openai"
	"github.com/deftskills/deft/internal/modeltest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestChatSuite(t *testing.T) {
	modeltest.Suite(t, func(s *modeltest.Server) model.Model {
		return openai.New(openai.Options{Name: "test-model", Key: modeltest.Key, BaseURL: s.OpenAI()})
	})
}

func TestResponsesSuite(t *testing.T) {
	modeltest.Suite(t, func(s *modeltest.Server) model.Model {
		return openai.New(openai.Options{Name: "gpt-5-test", Key: modeltest.Key, BaseURL: s.OpenAI(), API: openai.Responses})
	})
}

func TestAServerWithoutAKey(t *testing.T) {
	s := modeltest.NewServer(modeltest.Step{Text: "ok"})
	defer s.Close()
	m := openai.New(openai.Options{Provider: "ollama", Name: "qwen", BaseURL: s.OpenAI()})
	for _, err := range m.Stream(t.Context(), model.Request{Messages: []model.Message{{Role: model.User, Text: "hi"}}}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Requests()[0].Header.Get("Authorization"); got != "" {
		t.Errorf("authorization %q", got)
	}
	if got := m.Info().String(); got != "ollama/qwen" {
		t.Errorf("name %q", got)
	}
}
