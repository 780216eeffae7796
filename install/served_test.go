package install_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/install/fetch"
)

// endless serves any number of skills of 16 MiB each.
type endless struct {
	t      *testing.T
	skills int
	file   []byte
}

func (e endless) List(context.Context) (list []fetch.ServedSkill, err error) {
	for n := range e.skills {
		base := fmt.Sprintf("skill://s%d/", n)
		s := fetch.ServedSkill{URI: base + "SKILL.md"}
		for _, name := range []string{"SKILL.md", "a", "b", "c"} {
			s.Files = append(s.Files, fetch.ServedFile{URI: base + name})
		}
		list = append(list, s)
	}
	return list, nil
}

func (e endless) Read(ctx context.Context, _ string) ([]byte, error) {
	if _, ends := ctx.Deadline(); !ends {
		e.t.Error("a server may take for ever")
	}
	return e.file, nil
}

func (endless) Close() {}

func TestAllSkillsOfAServerTogetherHaveABound(t *testing.T) {
	t.Parallel()
	file := make([]byte, 4<<20)
	for skills, want := range map[int]error{16: nil, 17: fetch.ErrLimit} {
		f := &install.Fetcher{Serve: func(context.Context, string) (fetch.SkillServer, error) { return endless{t, skills, file}, nil }}
		if _, err := f.Fetch(t.Context(), install.SourceRef{Kind: install.MCP, URL: "srv"}); !errors.Is(err, want) {
			t.Errorf("%d skills: %v", skills, err)
		}
	}
}
