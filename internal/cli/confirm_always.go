package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/gate"
)

// lasting reads an answer that outlasts the session: "a" or "always", "k" or "skill" for the
// one skill on whose behalf the call is, either with the date on which it ends. What is no
// date is no answer.
func lasting(q agent.Question, word, rest string) (gate.Answer, bool) {
	var a gate.Answer
	switch {
	case (word == "a" || word == "always") && takes(q, gate.Always):
		a.Reply = gate.Always
	case (word == "k" || word == "skill") && offersSkill(q):
		a.Reply = gate.AlwaysForSkill
	default:
		return a, false
	}
	if rest = strings.TrimSpace(rest); rest != "" {
		day, err := time.ParseInLocation(time.DateOnly, rest, time.Local)
		if err != nil {
			return a, false
		}
		a.Expires = day.AddDate(0, 0, 1) // the day itself counts
	}
	return a, true
}

func takes(q agent.Question, r gate.Reply) bool { return slices.Contains(q.Decision.Replies, r) }

// offersSkill reports whether a call is on behalf of one skill alone: of several the person
// could not say which with one letter.
func offersSkill(q agent.Question) bool {
	return takes(q, gate.AlwaysForSkill) && len(q.Active) == 1
}

// lastingWords are the possible answers where "always" is among them.
func lastingWords(q agent.Question) string {
	if offersSkill(q) {
		return "confirm.always_skill"
	}
	return "confirm.always"
}
