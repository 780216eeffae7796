package model

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Choice says which model to build an adapter for, and from what it followed.
type Choice struct {
	Provider string // scripted, anthropic, openai, gemini, ollama, local, openai-compatible
	Name     string // "" = the adapter's default; of scripted: the file
	BaseURL  string // "" = the provider's own
	Key      string // never printed; "" where none is needed
	Why      string // "flag", "config", the variable's name, or the address that answered
}

// provider is what is known of a name before the slash in PROVIDER/NAME.
type provider struct {
	name, keyVar, base, baseVar, model string
	needsKey                           bool
}

// providers in the order in which their keys are looked for. The model is what runs
// when a key is all there is; the user names another with --model.
var providers = []provider{
	{name: "anthropic", keyVar: "ANTHROPIC_API_KEY", baseVar: "ANTHROPIC_BASE_URL", model: "claude-sonnet-4-5", needsKey: true},
	{name: "openai", keyVar: "OPENAI_API_KEY", baseVar: "OPENAI_BASE_URL", model: "gpt-5", needsKey: true},
	{name: "gemini", keyVar: "GEMINI_API_KEY", baseVar: "GEMINI_BASE_URL", base: "https://generativelanguage.googleapis.com/v1beta/openai/", model: "gemini-2.5-flash", needsKey: true},
	{name: "ollama", baseVar: "OLLAMA_BASE_URL", base: "http://127.0.0.1:11434/v1/"},
	{name: "local", base: "http://127.0.0.1:8000/v1/"},
	{name: "openai-compatible", keyVar: "OPENAI_COMPATIBLE_API_KEY", baseVar: "OPENAI_COMPATIBLE_BASE_URL"},
}

// probeTime is how long a local server may take to answer: it runs before every
// first turn of a machine without keys.
const probeTime = 200 * time.Millisecond

// Providers returns the names that may stand before the slash.
func Providers() []string {
	names := []string{"scripted"}
	for _, p := range providers {
		names = append(names, p.name)
	}
	return names
}

// Choose finds the model to use: flag, else config (both PROVIDER/NAME, a PROVIDER
// alone, or scripted:FILE), else the first provider whose key is in the environment,
// else a local server that answers at once, else none, with ok false. It fails only
// for a flag or config that names no provider, or one whose key is missing.
// client is used for the probe of local servers alone; nil = no probe.
func Choose(ctx context.Context, flag, config string, env func(string) string, client *http.Client) (c Choice, ok bool, err error) {
	for _, said := range []struct{ text, why string }{{flag, "flag"}, {config, "config"}} {
		if said.text != "" {
			c, err := named(said.text, env)
			c.Why = said.why
			return c, err == nil, err
		}
	}
	for _, p := range providers {
		if p.needsKey && env(p.keyVar) != "" {
			c := p.choice(p.model, env)
			c.Why = p.keyVar
			return c, true, nil
		}
	}
	if client == nil {
		return Choice{}, false, nil
	}
	for _, p := range providers {
		if p.needsKey || p.base == "" {
			continue
		}
		c := p.choice("", env)
		if c.Name = firstModel(ctx, client, c.BaseURL); c.Name != "" {
			c.Why = c.BaseURL
			return c, true, nil
		}
	}
	return Choice{}, false, nil
}

func named(text string, env func(string) string) (Choice, error) {
	if file, ok := strings.CutPrefix(text, "scripted:"); ok {
		return Choice{Provider: "scripted", Name: file}, nil
	}
	before, name, _ := strings.Cut(text, "/")
	for _, p := range providers {
		if p.name != before {
			continue
		}
		if name == "" {
			name = p.model
		}
		c := p.choice(name, env)
		switch {
		case name == "":
			return c, fmt.Errorf("model %q: the name of a model is missing: %s/NAME", text, before)
		case p.needsKey && c.Key == "":
			return c, fmt.Errorf("model %q: no key: set %s", text, p.keyVar)
		case c.BaseURL == "" && !p.needsKey:
			return c, fmt.Errorf("model %q: no address: set %s", text, p.baseVar)
		}
		return c, nil
	}
	return Choice{}, fmt.Errorf("model %q: unknown provider; known are %s", text, strings.Join(Providers(), ", "))
}

func (p provider) choice(name string, env func(string) string) Choice {
	c := Choice{Provider: p.name, Name: name, BaseURL: p.base}
	if p.keyVar != "" {
		c.Key = env(p.keyVar)
	}
	if p.baseVar != "" {
		if base := env(p.baseVar); base != "" {
			c.BaseURL = base
		}
	}
	return c
}

// firstModel asks an OpenAI-compatible server which models it has and returns the
// first, "" if nobody answers in time or the answer is another's.
func firstModel(ctx context.Context, client *http.Client, base string) string {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/models", nil)
	if err != nil {
		return ""
	}
	res, err := client.Do(req)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if res.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&list) != nil || len(list.Data) == 0 {
		return ""
	}
	return list.Data[0].ID
}
