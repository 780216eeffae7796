package source

import (
	"context"
	"fmt"
	"io"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/skill"
)

// ReadText reads one file of a skill as people are shown it: {{DATA_DIR}} is replaced
// where the dialect knows it. Open gives the bytes as they are. rel "" is SKILL.md; a
// file larger than a skill file may be is an error.
func ReadText(ctx context.Context, e *Entry, rel string) (string, error) {
	f, err := e.From.Open(ctx, e, rel)
	if err != nil {
		return "", fmt.Errorf("skill %q: %w", e.Skill.Name, err)
	}
	defer f.Close()
	max := limits.DefaultSkill().File
	text, err := io.ReadAll(io.LimitReader(f, max+1))
	if err != nil {
		return "", fmt.Errorf("skill %q: %w", e.Skill.Name, err)
	}
	if int64(len(text)) > max {
		return "", fmt.Errorf("skill %q: file %q has more than %d bytes", e.Skill.Name, rel, max)
	}
	var form Format
	if d, ok := e.From.(interface{ format() Format }); ok {
		form = d.format()
	}
	return skill.ExpandDataDir(string(text), form.DataDir, form.Dialect), nil
}
