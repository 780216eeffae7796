// Package text holds the words of the command line in each language it speaks.
//
// en.json and zh.json have the same keys and the same placeholders; a test holds
// that. fixes_zh.json has what diagnostics tell to do. Codes, JSON and identifiers are not here: they are English everywhere.
package text

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed *.json
var files embed.FS

// Words is the catalogue of one language.
type Words map[string]string

// Load returns the words of a language: "zh" is Simplified Chinese, all else
// English. The catalogue is part of the program, so a damaged one is a fault.
func Load(language string) Words {
	name := "en.json"
	if language == "zh" {
		name = "zh.json"
	}
	return load(name)
}

func load(name string) Words {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	var w Words
	if err := json.Unmarshal(data, &w); err != nil {
		panic(fmt.Errorf("%s: %w", name, err))
	}
	return w
}

// fixesName is the file of the phrases that say what to do about a diagnostic. The
// rooms write them in English; "*" stands for what they fill in.
const fixesName = "fixes_zh.json"

// Fix returns the phrase of a diagnostic in the language of w; one that the catalogue
// does not have stays as it is.
func (w Words) Fix(phrase string) string {
	if w["language"] != "zh" || phrase == "" {
		return phrase
	}
	fixes := load(fixesName)
	if s, ok := fixes[phrase]; ok {
		return s
	}
	for pattern, s := range fixes {
		if start, open := strings.CutSuffix(pattern, "*"); open {
			if rest, ok := strings.CutPrefix(phrase, start); ok {
				return strings.Replace(s, "*", rest, 1)
			}
		}
	}
	return phrase
}

// Say returns the words for key with its placeholders filled as fmt.Sprintf does; where
// the first of args is 1 and there are words for key + ".one", those.
// A missing key is shown as itself, so that nothing is lost.
func (w Words) Say(key string, args ...any) string {
	s, ok := w[key]
	if !ok {
		return key
	}
	if len(args) == 0 {
		return s
	}
	if one, ok := w[key+".one"]; ok && args[0] == 1 {
		s = one
	}
	return fmt.Sprintf(s, args...)
}

// reasonsName is the file of the reasons of explain, by code.
const reasonsName = "reasons_zh.json"

// Reason returns the sentence of a reason in the language of w: {by} stands for what
// decided, {at} for its place. English is what the rooms write, and so is a reason
// that the catalogue does not have.
func (w Words) Reason(code, message, by, at string) string {
	s, ok := w.reason(code)
	if !ok {
		return message
	}
	return strings.TrimSuffix(strings.NewReplacer("{by}", by, "{at}", at).Replace(s), "：")
}

// ReasonFix returns what to do about a reason.
func (w Words) ReasonFix(code, fix string) string {
	if fix == "" {
		return ""
	}
	if s, ok := w.reason(code + ".fix"); ok {
		return s
	}
	return w.Fix(fix)
}

func (w Words) reason(key string) (string, bool) {
	if w["language"] != "zh" {
		return "", false
	}
	s, ok := load(reasonsName)[key]
	return s, ok
}
