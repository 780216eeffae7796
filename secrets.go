package deft

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/registry"
)

// Secrets gives the value of a variable that a person bound to a skill. key is the one of
// registry.Bindings under which it is bound. Safe for concurrent use. An error says why
// there is no value, without anything of it.
type Secrets interface {
	Value(ctx context.Context, key, name string) (string, error)
}

// vault hands the values of variables to the commands of the skills that they are bound
// to, and hides those that it handed out in everything that is printed. One belongs to an
// engine, so that what one session's command wrote is hidden in another too.
type vault struct {
	mu    sync.RWMutex
	given map[string]string // value → name
	hides *hider            // of given; nil = nothing was given
}

// of returns the environment of a skill's commands, NAME=value: the variables that it
// declares and that a person bound to it. have is what its commands see anyway.
func (v *vault) of(ctx context.Context, e *Engine, all []*registry.Record, r *registry.Record, have []string) ([]string, error) {
	wants := registry.Wants(&r.Skill.Meta)
	if len(wants) == 0 {
		return nil, nil
	}
	if !e.granted(ctx, r) {
		return nil, &command.ScriptError{Code: "env_untrusted", Message: fmt.Sprintf("skill %q is given no variables: nobody granted its code", r.Skill.Name)}
	}
	key, bound := e.judge.decided().Binding(r, all)
	var env, missing []string
	for _, name := range wants {
		if !slices.Contains(bound, name) {
			if !slices.ContainsFunc(have, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
				missing = append(missing, name)
			}
			continue
		}
		if e.o.Secrets == nil {
			return nil, unread(r, name, "nothing gives values here")
		}
		value, err := e.o.Secrets.Value(ctx, key, name)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, unread(r, name, err.Error())
		case strings.ContainsRune(value, 0) || len(value) > maxSecret:
			return nil, unread(r, name, fmt.Sprintf("its value is longer than %d bytes or holds a NUL", maxSecret))
		}
		v.give(name, value)
		env = append(env, name+"="+value)
	}
	if len(missing) > 0 {
		return nil, &command.ScriptError{
			Code:    "env_missing",
			Message: fmt.Sprintf("skill %q needs %s; bind it under %s", r.Skill.Name, strings.Join(missing, ", "), registry.Setting(key)),
		}
	}
	return env, nil
}

// maxSecret bounds one value in bytes: an environment has to fit in what a system takes.
const maxSecret = 64 << 10

func unread(r *registry.Record, name, why string) error {
	return &command.ScriptError{Code: "env_unreadable", Message: fmt.Sprintf("%s of skill %q cannot be had: %s", name, r.Skill.Name, why)}
}

// give remembers a value to hide.
func (v *vault) give(name, value string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, known := v.given[value]; known || len(value) < minHidden {
		return
	}
	if v.given == nil {
		v.given = map[string]string{}
	}
	v.given[value] = name
	v.hides = newHider(v.given)
}

// hide replaces every value that was handed out by its name.
func (v *vault) hide(text string) string {
	v.mu.RLock()
	h := v.hides
	v.mu.RUnlock()
	if h == nil || text == "" {
		return text
	}
	return h.hide(text)
}

// hideIn does so with what a command printed. An end that may be the beginning of a value
// goes too where the output was cut.
func (v *vault) hideIn(res *command.Result) {
	v.mu.RLock()
	h := v.hides
	v.mu.RUnlock()
	if h == nil {
		return
	}
	for _, stream := range []*[]byte{&res.Stdout, &res.Stderr} {
		text := string(*stream)
		if res.Truncated {
			text = h.withoutBegun(text)
		}
		*stream = []byte(h.hide(text))
	}
}

// minHidden is the length in bytes from which a value is hidden: a shorter one occurs by
// chance.
const minHidden = 6

// hider finds values in text, as they are and in the forms that programs print.
type hider struct {
	forms []form // longest first
}

type form struct {
	text, name string
	wrapped    bool // programs break it into lines
}

func newHider(given map[string]string) *hider {
	h := &hider{}
	for value, name := range given {
		seen := map[string]bool{}
		add := func(text string, wrapped bool) {
			if len(text) >= minHidden && !seen[text] {
				seen[text] = true
				h.forms = append(h.forms, form{text, name, wrapped})
			}
		}
		add(value, false)
		for _, encoded := range []string{url.QueryEscape(value), url.PathEscape(value), percent(value)} {
			add(encoded, false)
			add(lowerHex(encoded), false)
		}
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			for shift := range 3 {
				add(inBase64(enc, value, shift), true)
			}
		}
	}
	slices.SortFunc(h.forms, func(a, b form) int {
		if n := len(b.text) - len(a.text); n != 0 {
			return n
		}
		return strings.Compare(a.text+a.name, b.text+b.name)
	})
	return h
}

// percent writes every byte as %XX, as strict encoders do with all but letters and digits.
func percent(value string) string {
	var b strings.Builder
	for i := range len(value) {
		c := value[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

// lowerHex spells the digits behind each % small.
func lowerHex(text string) string {
	out := []byte(text)
	for i := 0; i+2 < len(out); i++ {
		if out[i] == '%' {
			copy(out[i+1:], strings.ToLower(text[i+1:i+3]))
		}
	}
	return string(out)
}

// inBase64 is what of a value is the same in every base64 text that holds it shift bytes
// behind a border of three: the characters that other bytes take part in are left out.
func inBase64(enc *base64.Encoding, value string, shift int) string {
	whole := enc.WithPadding(base64.NoPadding).EncodeToString([]byte(strings.Repeat("\x00", shift) + value))
	from := [...]int{0, 2, 3}[shift]
	to := len(whole)
	if (shift+len(value))%3 != 0 {
		to-- // its last character depends on what follows
	}
	return whole[min(from, to):to]
}

func (h *hider) hide(text string) string {
	whole := lines.Replace(text)
	for _, f := range h.forms {
		if text = strings.ReplaceAll(text, f.text, "[secret:"+f.name+"]"); f.wrapped && strings.Contains(whole, f.text) {
			text = hideWrapped(text, f)
		}
	}
	return text
}

// lines joins what was broken into lines.
var lines = strings.NewReplacer("\n", "", "\r", "")

// hideWrapped replaces a form where line ends stand in it.
func hideWrapped(text string, f form) string {
	bare := make([]byte, 0, len(text))
	at := make([]int, 0, len(text)) // where each byte of bare stands in text
	for i := range len(text) {
		if text[i] != '\n' && text[i] != '\r' {
			bare, at = append(bare, text[i]), append(at, i)
		}
	}
	var out strings.Builder
	from, done := 0, 0
	for plain := string(bare); ; {
		i := strings.Index(plain[from:], f.text)
		if i < 0 {
			break
		}
		first, last := at[from+i], at[from+i+len(f.text)-1]
		out.WriteString(text[done:first])
		out.WriteString("[secret:" + f.name + "]")
		from, done = from+i+len(f.text), last+1
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

// withoutBegun drops an end of text that a value begins with.
func (h *hider) withoutBegun(text string) string {
	for _, f := range h.forms {
		for n := min(len(f.text)-1, len(text)); n >= minHidden/2; n-- {
			if strings.HasSuffix(text, f.text[:n]) {
				return text[:len(text)-n]
			}
		}
	}
	return text
}

// base is the environment that runs have without any skill's variables.
func (o Options) base() []string {
	return sandbox.Environment(o.Environ, nil, o.Commands.PassEnv)
}
