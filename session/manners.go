package session

import (
	"fmt"
	"strings"

	"github.com/deftskills/deft/skill"
)

// manner is what a dialect does its own way when a skill is asked for. The zero value
// is deft's.
type manner struct {
	layout func(c *candidate) string // nil = deft's wrapper with a boundary
	exact  bool                      // names are trimmed and nothing else
	blank  string                    // asked for where the name is blank; "" = blank names are refused

	// words are what a model is told in place of deft's refusal, by code.
	words map[string]words

	again   bool // a repeated load gives the text again
	forgets bool // a load whose text is the result of a call leaves nothing behind
	stacks  bool // prompt and environment of a skill stand beside those of the one before
	shouts  bool // codes are in capitals
	hears   bool // files that a model names count as those that a person names, the first few of the conversation
	hides   bool // what plan mode refuses is not declared to the model
	reminds bool // a leading slash name is left to the model, with a reminder before it
}

// words put a refusal into those of a dialect.
type words func(t *Turn, r *Refusal)

// manners are the dialects that differ.
var manners = map[skill.Dialect]manner{
	skill.MiniMax: {
		layout: wholeFile, exact: true, blank: "unknown-skill", again: true, reminds: true,
		words: absent(soft("Local skill not found: %s"), "skill_conditions", "skill_manual_only"),
	},
	skill.Mastra: {
		layout: bareBody, exact: true, again: true, forgets: true, shouts: true,
		words: absent(withPaths, "skill_manual_only"),
	},
	skill.Blade: {
		layout: sections, exact: true, stacks: true, hears: true, hides: true,
		words: with(absent(withNames), map[string]words{
			"skill_unreadable": hard("Failed to load skill %q content"),
			"skill_conditions": func(_ *Turn, r *Refusal) {
				r.Message = fmt.Sprintf("Skill %q is not available in the current context: its conditions are not satisfied (%s)", field(r.Name), field(r.Needs))
			},
		}),
	},
	skill.ClaudeCode:  {words: absent(hard("Unknown skill: %s"))},
	skill.AgentSkills: {layout: elements},
}

// Reminds reports whether a leading slash name is the model's to follow: then no skill
// is started by it, and a Reminder stands before the message.
func (s *Session) Reminds() bool { return s.own.reminds }

// Shouts reports whether the dialect writes the codes of its own in capitals.
func (s *Session) Shouts() bool { return s.own.shouts }

// Hides reports whether tools that plan mode refuses are kept from the model.
func (s *Session) Hides() bool { return s.own.hides }

// name cleans a name the way the dialect does.
func (m *manner) name(raw string) string {
	if !m.exact {
		return CleanName(raw)
	}
	if name := strings.TrimSpace(raw); name != "" {
		return name
	}
	return m.blank
}

// say puts the refusal of a model into the words of the dialect.
func (r *Refusal) say(t *Turn, actor Actor) {
	if say := t.s.own.words[r.Code]; say != nil && actor == ActorModel {
		say(t, r)
		r.worded = true
	}
}

// absent says one thing for every name that finds nothing the model may start, and for
// more codes: nobody can tell them apart.
func absent(say words, more ...string) map[string]words {
	out := map[string]words{}
	for _, code := range append(more, "skill_unknown", "skill_name_is_path", "skill_name_empty", "skill_source_unknown") {
		out[code] = func(t *Turn, r *Refusal) {
			say(t, r)
			r.Code, r.Close = "skill_unknown", nil
		}
	}
	return out
}

func with(a, b map[string]words) map[string]words {
	for code, say := range b {
		a[code] = say
	}
	return a
}

// soft is an answer that counts as no error.
func soft(format string) words {
	return func(_ *Turn, r *Refusal) {
		r.Message, r.Soft = fmt.Sprintf(format, field(r.Name)), true
	}
}

func hard(format string) words {
	return func(_ *Turn, r *Refusal) { r.Message = fmt.Sprintf(format, field(r.Name)) }
}

// withPaths names every skill that the model may start with its place, in the order of
// their names. It counts as no error.
func withPaths(t *Turn, r *Refusal) {
	var all []string
	for _, rec := range t.snap.Winners {
		if t.offers(rec) {
			all = append(all, fmt.Sprintf("%s (%s)", field(rec.Skill.Name), field(rec.Path())))
		}
	}
	r.Message, r.Soft = fmt.Sprintf("Skill %q not found. Available skills: %s", field(r.Name), join(all)), true
}

// withNames names every skill that the model may start.
func withNames(t *Turn, r *Refusal) {
	var all []string
	for _, rec := range t.snap.Winners {
		if t.offers(rec) {
			all = append(all, field(rec.Skill.Name))
		}
	}
	if len(all) == 0 {
		all = []string{"none"}
	}
	r.Message = fmt.Sprintf("Skill %q not found. Available skills: %s", field(r.Name), join(all))
}
