package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/deftskills/deft/internal/limits"
)

// FreshBudget bounds what a shortened conversation is given back.
type FreshBudget struct {
	Skill, Total int    // tokens of one skill and of all; 0 = 5,000 and 25,000
	Read         string // the tool that reads what was cut; "" = skill_read
}

// Fresh is what a context that has nothing needs of the active skills.
type Fresh struct {
	Skills  []Reattached // in order of activation
	Omitted []string     // a line for each skill that had no room
	Tokens  int          // of all texts

	read string // the tool that reads what was cut
}

// Reattached is one active skill as a fresh context is given it.
type Reattached struct {
	Name, Address string
	Text          string // says when it was started, then the text as it was given then
	Tokens        int
	Cut           bool
}

// Fresh returns the skills that stay active when the conversation is shortened, each
// once, however often that happens: those of the session but for the ones that work
// once. The text is the one that was given, verbatim or cut at the end of a line with a
// note. The skills started last get their room first.
func (s *Session) Fresh(b FreshBudget) Fresh {
	if b.Skill <= 0 {
		b.Skill = limits.FreshSkill
	}
	if b.Total <= 0 {
		b.Total = limits.FreshTotal
	}
	if b.Read == "" {
		b.Read = "skill_read"
	}
	out := Fresh{read: b.Read}
	for _, a := range slices.Backward(s.Active()) {
		if a.Scope != ScopeSession || a.OneShot {
			continue
		}
		r := s.reattach(a, min(b.Skill, b.Total-out.Tokens), b.Read)
		if r.Text == "" {
			out.Omitted = append(out.Omitted, omitted(a.Name, b.Read))
			continue
		}
		out.Skills, out.Tokens = append(out.Skills, r), out.Tokens+r.Tokens
	}
	slices.Reverse(out.Skills)
	slices.Reverse(out.Omitted)
	return out
}

func omitted(name, read string) string {
	return fmt.Sprintf("Skill %q is still active; its text had no room: %s has it.", field(name), read)
}

// reattach gives back one skill in a room; no text where not even its first line fits.
func (s *Session) reattach(a Activation, room int, read string) Reattached {
	r := Reattached{Name: a.Name, Address: a.Address}
	head := fmt.Sprintf("Skill %q was started in turn %d by the %s; its arguments were handled then, do not carry them out again.\n", field(a.Name), a.Turn, a.Actor)
	if a.HasArgs && a.Args != "" {
		quoted, err := json.Marshal(a.Args)
		if err == nil {
			head += "Its arguments were: " + string(quoted) + "\n"
		}
	}
	if r.Tokens = s.count(head + a.Text); r.Tokens <= room {
		r.Text = head + a.Text
		return r
	}
	body, end := a.Text, "" // what closes the text stays
	if at := strings.LastIndexByte(strings.TrimRight(body, "\n"), '\n'); at > 0 && strings.HasPrefix(body[at+1:], "</") {
		body, end = body[:at+1], body[at+1:]
	}
	lines := strings.SplitAfter(body, "\n")
	total := s.count(a.Text)
	text := func(n int) string {
		shown := strings.Join(lines[:n], "")
		return head + shown + fmt.Sprintf("[cut: %s of %s tokens; %s(%q) has the rest]\n", thousands(s.count(shown)), thousands(total), read, field(a.Name)) + end
	}
	n := sort.Search(len(lines), func(n int) bool { return s.count(text(n+1)) > room })
	if r.Text, r.Tokens, r.Cut = "", 0, true; n == 0 {
		return r
	}
	r.Text = text(n)
	r.Tokens = s.count(r.Text)
	return r
}

// thousands writes n with commas.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Shortened says that the conversation was cut and that f stands in it now: a skill whose
// text is not whole in f is given again when a model asks for it.
func (s *Session) Shortened(f Fresh) { s.shorten(f, false) }

// Renew says that the conversation was cut and that the prompt carries the skills from now
// on as f has them, see Activation.Again: those of the session, each once. What f leaves
// out for good, a skill that works once or what came as a result in the running turn, the
// model is given again when it asks.
func (s *Session) Renew(f Fresh) { s.shorten(f, true) }

func (s *Session) shorten(f Fresh, carry bool) {
	s.mu.Lock()
	t := s.turn
	s.mu.Unlock()
	if t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
	}
	l := s.Layers()
	for _, layer := range []*[]Applied{&l.session, &l.turn} {
		*layer = slices.Clone(*layer)
		for i := range *layer {
			if a := &(*layer)[i]; a.Skill != nil {
				act := *a.Skill
				act.shorten(f, carry)
				a.Skill = &act
			}
		}
	}
	s.swap(l)
}

// shorten is what becomes of one activation.
func (a *Activation) shorten(f Fresh, carry bool) {
	i := slices.IndexFunc(f.Skills, func(r Reattached) bool { return r.Address == a.Address && a.Scope == ScopeSession })
	a.lost = i < 0 || f.Skills[i].Cut
	switch {
	case !carry:
	case a.Scope == ScopeTurn:
		a.lost = a.InResult // else the prompt carries it, whole
	case i >= 0:
		a.Again, a.Tokens, a.InResult = f.Skills[i].Text, f.Skills[i].Tokens, false
	case a.OneShot:
		a.InResult = true // the prompt does not carry it any more
	default:
		a.Again, a.Tokens, a.InResult = omitted(a.Name, f.read), 0, false
	}
}
