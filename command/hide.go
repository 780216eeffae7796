package command

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Hider replaces values that nobody should read by [secret:NAME] in what is printed, also
// where a program printed them URL-encoded or in base64. Values shorter than six bytes stay.
// The zero Hider hides nothing. Safe for concurrent use.
type Hider struct {
	mu    sync.RWMutex
	given map[string]string // value → name
	forms forms             // of given
}

// Give remembers a value, to be hidden behind name.
func (v *Hider) Give(name, value string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, known := v.given[value]; known || len(value) < minHidden {
		return
	}
	if v.given == nil {
		v.given = map[string]string{}
	}
	v.given[value] = name
	v.forms = formsOf(v.given)
}

// Hide replaces every value that was given by its name.
func (v *Hider) Hide(text string) string { return v.now().hide(text) }

func (v *Hider) now() forms {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.forms
}

// HideIn does so with what a command printed. An end that may be the beginning of a value
// goes too where the output was cut.
func (v *Hider) HideIn(res *Result) {
	f := v.now()
	if len(f) == 0 {
		return
	}
	for _, stream := range []*[]byte{&res.Stdout, &res.Stderr} {
		text := string(*stream)
		if res.Truncated {
			text = f.withoutBegun(text)
		}
		*stream = []byte(f.hide(text))
	}
}

// minHidden is the length in bytes from which a value is hidden: a shorter one occurs by
// chance.
const minHidden = 6

// forms are values as they are and as programs print them, longest first.
type forms []form

type form struct {
	text, name string
	wrapped    bool // programs break it into lines
}

func formsOf(given map[string]string) forms {
	var h forms
	for value, name := range given {
		seen := map[string]bool{}
		add := func(text string, wrapped bool) {
			if len(text) >= minHidden && !seen[text] {
				seen[text] = true
				h = append(h, form{text, name, wrapped})
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
	slices.SortFunc(h, func(a, b form) int {
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

func (h forms) hide(text string) string {
	if len(h) == 0 || text == "" {
		return text
	}
	whole := unbroken.Replace(text)
	for _, f := range h {
		if text = strings.ReplaceAll(text, f.text, "[secret:"+f.name+"]"); f.wrapped && strings.Contains(whole, f.text) {
			text = hideWrapped(text, f)
		}
	}
	return text
}

// unbroken joins what was broken into lines.
var unbroken = strings.NewReplacer("\n", "", "\r", "")

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
func (h forms) withoutBegun(text string) string {
	for _, f := range h {
		for n := min(len(f.text)-1, len(text)); n >= minHidden/2; n-- {
			if strings.HasSuffix(text, f.text[:n]) {
				return text[:len(text)-n]
			}
		}
	}
	return text
}
