package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/internal/tokens"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// Bodies reads the text of a skill. Implementations are safe for concurrent use.
type Bodies interface {
	// Load reads SKILL.md and lists the other files of the skill.
	Load(ctx context.Context, r *registry.Record) (Body, error)
}

// Body is the present text of a skill with the names of its files.
type Body struct {
	Skill *skill.Skill // as parsed from this text
	Text  string       // the body, without the header
	Line  int          // line of SKILL.md at which Text begins, from 1
	Lines int          // lines of SKILL.md
	Drift bool         // the file is not the one that was discovered
	Files []File       // sorted bytewise by Path
	More  int          // files beyond those listed
}

// File is one file of a skill, for the list that follows its text.
type File struct {
	Path       string // slash-separated, relative to the skill
	Size       int64
	Executable bool
	Binary     bool
}

// sourceBodies reads through the source that yielded the record.
type sourceBodies struct{}

func (sourceBodies) Load(context.Context, *registry.Record) (Body, error) {
	return Body{}, fmt.Errorf("no reader")
}

// count returns the tokens of text in the encoding that budgets are given in.
func (s *Session) count(text string) int { return tokens.O200k().Count(text) }

// field makes a foreign text one clean line of at most maxField clusters.
func field(text string) string {
	clean, _ := safetext.Field(text)
	return safetext.Clip(clean, maxField)
}

// maxField keeps a name that somebody else chose from filling an answer.
const maxField = 200

func join(list []string) string { return strings.Join(list, ", ") }

// reason is the cause of a read that failed, without the path that a model has no
// business with.
func reason(err error) string {
	if err == nil {
		return "its header is invalid now"
	}
	return "unreadable"
}
