package modeltest

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// The checks refuse what the providers refuse, so that a test cannot pass with a
// request that would fail in earnest.

var errNoKey = errors.New("no key")

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func checkAnthropic(body map[string]any, h http.Header) error {
	if h.Get("X-Api-Key") == "" {
		return errNoKey
	}
	if h.Get("Anthropic-Version") == "" {
		return errors.New("anthropic-version: header is required")
	}
	if n, ok := body["max_tokens"].(float64); !ok || n < 1 {
		return errors.New("max_tokens: field required")
	}
	if err := common(body, "messages"); err != nil {
		return err
	}
	for _, b := range list(body["system"]) {
		if strings.TrimSpace(text(b, "text")) == "" {
			return errors.New("system: text content blocks must contain non-whitespace text")
		}
	}
	var open []string
	last := ""
	for i, m := range list(body["messages"]) {
		role := text(m, "role")
		if role == last {
			return fmt.Errorf("messages.%d: roles must alternate", i)
		}
		last = role
		var asked, answered []string
		for _, b := range list(field(m, "content")) {
			switch text(b, "type") {
			case "text":
				if strings.TrimSpace(text(b, "text")) == "" {
					return fmt.Errorf("messages.%d: text content blocks must contain non-whitespace text", i)
				}
			case "tool_use":
				if _, ok := field(b, "input").(map[string]any); !ok {
					return fmt.Errorf("messages.%d: tool_use.input: input should be an object", i)
				}
				if !toolName.MatchString(text(b, "name")) {
					return fmt.Errorf("messages.%d: tool_use.name: string should match pattern", i)
				}
				asked = append(asked, text(b, "id"))
			case "tool_result":
				answered = append(answered, text(b, "tool_use_id"))
			}
		}
		if err := sameCalls(open, answered); err != nil {
			return fmt.Errorf("messages.%d: %w", i, err)
		}
		open = asked
	}
	return sameCalls(open, nil)
}

func checkChat(body map[string]any, _ http.Header) error {
	if err := common(body, "messages"); err != nil {
		return err
	}
	var open []string
	for i, m := range list(body["messages"]) {
		role := text(m, "role")
		if role == "tool" {
			id := text(m, "tool_call_id")
			at := slices.Index(open, id)
			if at < 0 {
				return fmt.Errorf("messages.%d: no call %q stands before this result", i, id)
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("messages.%d: calls without a result: %s", i, strings.Join(open, ", "))
		}
		for _, c := range list(field(m, "tool_calls")) {
			open = append(open, text(c, "id"))
		}
	}
	return sameCalls(open, nil)
}

func checkResponses(body map[string]any, h http.Header) error {
	if h.Get("Authorization") == "" {
		return errNoKey
	}
	if err := common(body, "input"); err != nil {
		return err
	}
	var open []string
	for i, item := range list(body["input"]) {
		switch text(item, "type") {
		case "function_call":
			open = append(open, text(item, "call_id"))
		case "function_call_output":
			at := slices.Index(open, text(item, "call_id"))
			if at < 0 {
				return fmt.Errorf("input.%d: no call %q stands before this output", i, text(item, "call_id"))
			}
			open = slices.Delete(open, at, at+1)
		}
	}
	return sameCalls(open, nil)
}

func common(body map[string]any, messages string) error {
	switch {
	case text(body, "model") == "":
		return errors.New("model: field required")
	case body["stream"] != true:
		return errors.New("this server streams only: stream must be true")
	case len(list(body[messages])) == 0:
		return fmt.Errorf("%s: at least one is required", messages)
	}
	for _, t := range list(body["tools"]) {
		if f := field(t, "function"); f != nil {
			t = f
		}
		if text(t, "name") == "" {
			return errors.New("tools: name: field required")
		}
	}
	return nil
}

func sameCalls(asked, answered []string) error {
	a, b := slices.Clone(asked), slices.Clone(answered)
	slices.Sort(a)
	slices.Sort(b)
	if !slices.Equal(a, b) {
		return fmt.Errorf("calls [%s], results [%s]", strings.Join(a, " "), strings.Join(b, " "))
	}
	return nil
}

func list(v any) []any { l, _ := v.([]any); return l }

func field(v any, key string) any {
	m, _ := v.(map[string]any)
	return m[key]
}

func text(v any, key string) string { s, _ := field(v, key).(string); return s }
