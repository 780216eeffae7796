package mcpskills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// extension is the name under which servers declare that they serve skills.
const extension = "io.modelcontextprotocol/skills"

// methodSkills lists the skills of a server that declares the extension.
const methodSkills = "skills/list"

// Bounds of a list of skills.
const (
	maxSkills    = 2_000
	maxResources = 10_000
)

// ServedSkill is a skill that a server lists. Nothing of it has been read.
type ServedSkill struct {
	URI         string // of its SKILL.md
	Name        string // "" = the server gives none
	Description string
	Files       []ServedFile // SKILL.md among them
	// Changing says that the server lists no files: they may be others at each request.
	Changing bool
}

// ServedFile is one file of a skill.
type ServedFile struct {
	URI    string
	Digest string // sha256:hex; "" = the server gives none
	Size   int64  // in bytes; 0 = not given
}

// SkillSource is a connection to a server for the skills that it serves, apart from that
// for its tools. It is for one goroutine.
type SkillSource struct {
	p  *provider
	on *link
}

// OpenSkills connects to a server for its skills. Close ends that, and the process where
// the server is one.
func (h *Host) OpenSkills(ctx context.Context, server string) (*SkillSource, error) {
	at := slices.IndexFunc(h.providers, func(p *provider) bool { return p.s.Name == server })
	if at < 0 {
		return nil, fmt.Errorf("no MCP server is named %q", server)
	}
	p := h.providers[at]
	late := fmt.Errorf("it did not answer within %s", initTime)
	limited, stop := context.WithTimeoutCause(ctx, initTime, late)
	defer stop()
	on, err := p.connect(limited, true)
	if err != nil {
		if limited.Err() != nil {
			err = context.Cause(limited)
		}
		return nil, &awayError{fmt.Sprintf("the MCP server %q cannot be used: %s", server, reason(err)), err}
	}
	return &SkillSource{p, on}, nil
}

// Close ends the connection.
func (s *SkillSource) Close() { s.on.end() }

// awayError has one line of a cause, which may hold a stranger's words, and the cause.
type awayError struct {
	text  string
	cause error
}

func (e *awayError) Error() string { return e.text }
func (e *awayError) Unwrap() error { return e.cause }

type (
	listSkills struct {
		mcp.ParamsBase
		Cursor string `json:"cursor,omitempty"`
	}
	listedSkills struct {
		mcp.ResultBase
		Skills     []listedSkill `json:"skills"`
		NextCursor string        `json:"nextCursor"`
	}
	listedSkill struct {
		URI         string `json:"uri"`
		Frontmatter struct {
			Name        any `json:"name"`
			Description any `json:"description"`
		} `json:"frontmatter"`
		Resources json.RawMessage `json:"resources"` // a list of files, or a word for that there is none
	}
)

// List asks which skills there are: by the extension for skills where the server declares
// it, else among its resources.
func (s *SkillSource) List(ctx context.Context) ([]ServedSkill, error) {
	ctx, stop := context.WithTimeout(ctx, s.p.s.timeout())
	defer stop()
	r := s.on.session.InitializeResult()
	if r == nil || r.Capabilities == nil {
		return nil, fmt.Errorf("the MCP server %q serves no skills", s.p.s.Name)
	}
	var list []ServedSkill
	var err error
	_, declared := r.Capabilities.Extensions[extension]
	switch {
	case declared:
		list, err = s.extension(ctx)
	case r.Capabilities.Resources != nil:
		list, err = s.resources(ctx)
	default:
		return nil, fmt.Errorf("the MCP server %q serves no skills: it has neither the extension for them nor resources", s.p.s.Name)
	}
	if err != nil {
		return nil, &awayError{fmt.Sprintf("the MCP server %q: its skills cannot be listed: %s", s.p.s.Name, reason(err)), err}
	}
	return list, nil
}

// errCut is a list that is longer than any is read.
var errCut = errors.New("the list does not end where it may")

func (s *SkillSource) extension(ctx context.Context) (out []ServedSkill, err error) {
	cursor := ""
	for range maxPages {
		page, err := mcp.CallCustomMethod[*listSkills, *listedSkills](ctx, s.on.session, methodSkills, &listSkills{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, l := range page.Skills {
			out = append(out, l.served())
		}
		switch {
		case len(out) > maxSkills:
			return nil, fmt.Errorf("%w: more than %d skills", errCut, maxSkills)
		case page.NextCursor == "" || page.NextCursor == cursor:
			return out, nil
		}
		cursor = page.NextCursor
	}
	return nil, fmt.Errorf("%w: more than %d pages", errCut, maxPages)
}

func (l listedSkill) served() ServedSkill {
	s := ServedSkill{URI: l.URI}
	s.Name, _ = l.Frontmatter.Name.(string)
	s.Description, _ = l.Frontmatter.Description.(string)
	var files []struct {
		URI    string `json:"uri"`
		Digest string `json:"digest"`
		Size   int64  `json:"size"`
	}
	if json.Unmarshal(l.Resources, &files) != nil || files == nil {
		s.Changing = true
		return s
	}
	for _, f := range files {
		s.Files = append(s.Files, ServedFile(f))
	}
	return s
}

// skillScheme begins the addresses of skills among resources.
const skillScheme = "skill://"

// resources finds skills by their addresses.
func (s *SkillSource) resources(ctx context.Context) (out []ServedSkill, err error) {
	var files []ServedFile
	cursor := ""
	for range maxPages {
		page, err := s.on.session.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, r := range page.Resources {
			if !strings.HasPrefix(r.URI, skillScheme) {
				continue
			}
			files = append(files, ServedFile{URI: r.URI, Size: r.Size})
			if strings.HasSuffix(r.URI, "/SKILL.md") {
				out = append(out, ServedSkill{URI: r.URI, Name: r.Name, Description: r.Description})
			}
		}
		switch {
		case len(files) > maxResources:
			return nil, fmt.Errorf("%w: more than %d resources", errCut, maxResources)
		case page.NextCursor == "" || page.NextCursor == cursor:
			return withFiles(out, files), nil
		}
		cursor = page.NextCursor
	}
	return nil, fmt.Errorf("%w: more than %d pages", errCut, maxPages)
}

// withFiles gives each skill what lies below it, and below no other that lies deeper.
func withFiles(skills []ServedSkill, files []ServedFile) []ServedSkill {
	at := map[string]int{}
	for i, k := range skills {
		at[strings.TrimSuffix(k.URI, "SKILL.md")] = i
	}
	for _, f := range files {
		for dir := f.URI; ; {
			i := strings.LastIndexByte(strings.TrimSuffix(dir, "/"), '/')
			if i < len(skillScheme)-1 {
				break
			}
			dir = dir[:i+1]
			if k, ok := at[dir]; ok {
				skills[k].Files = append(skills[k].Files, f)
				break
			}
		}
	}
	return skills
}

// readTime is how long one file may take.
const readTime = 60 * time.Second

// Read reads one file.
func (s *SkillSource) Read(ctx context.Context, uri string) ([]byte, error) {
	ctx, stop := context.WithTimeout(ctx, readTime)
	defer stop()
	res, err := s.on.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, &awayError{fmt.Sprintf("the MCP server %q: %s", s.p.s.Name, reason(err)), err}
	}
	for _, c := range res.Contents {
		switch {
		case c == nil || c.URI != uri:
		case c.Blob != nil:
			return c.Blob, nil
		default:
			return []byte(c.Text), nil
		}
	}
	return nil, fmt.Errorf("the MCP server %q answers with other contents than those of %q", s.p.s.Name, uri)
}
