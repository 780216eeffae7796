package registry_test

import (
	"context"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// changedListing alters what a source lists.
type changedListing struct {
	source.Source
	change func(*source.Listing)
}

func (c changedListing) Scan(ctx context.Context, prev *source.Listing) (*source.Listing, error) {
	l, err := c.Source.Scan(ctx, prev)
	if err == nil {
		c.change(l)
	}
	return l, err
}

// The reasons that files alone do not bring about.
func TestPrimaryReasonsThatFilesDoNotBringAbout(t *testing.T) {
	t.Parallel()
	user := func(names ...string) source.Source {
		return src("user", source.User, source.Trusted, named(names...)...)
	}
	for code, c := range map[string]struct {
		ask    string
		config registry.Config
	}{
		"incomplete": {"gone", registry.Config{Sources: []source.Source{changedListing{user("x"), func(l *source.Listing) { l.Complete = false }}}}},
		"stale": {"x", registry.Config{Sources: []source.Source{changedListing{user("x"), func(l *source.Listing) {
			e := *l.Entries[0]
			e.Stale = true
			l.Entries[0] = &e
		}}}}},
		"mcp_duplicate": {"mcp-files", registry.Config{
			Sources: []source.Source{user("mcp-files")}, Environment: skill.Environment{Servers: skill.NewNameSet("files")},
		}},
	} {
		s := snapshot(t, c.config)
		e := s.Explain(c.ask)
		if e.Reasons[0].Code != code || e.Reasons[0].Message == "" || e.Reasons[0].Fix == "" {
			t.Errorf("%s: %+v", code, e.Reasons)
		}
	}
}

func TestNamesThatLookAlikeAreNamedInPairs(t *testing.T) {
	t.Parallel()
	s := of(t, src("agent", source.Agent, source.Untrusted, named("соmmit", "other")...), src("user", source.User, source.Trusted, named("commit", "Commit2")...))
	pairs := s.Lookalikes()
	if len(pairs) != 1 || pairs[0][0].Source.ID != "user" || pairs[0][1].Source.ID != "agent" {
		t.Errorf("pairs: %+v", pairs)
	}
}
