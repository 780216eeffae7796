package mcptest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type (
	skillsAsked struct {
		mcp.ParamsBase
		Cursor string `json:"cursor,omitempty"`
	}
	skillsTold struct {
		mcp.ResultBase
		Skills     []json.RawMessage `json:"skills"`
		NextCursor string            `json:"nextCursor,omitempty"`
	}
)

// Skills is a server of the skills in the folders below one, as skill://NAME/…: by the
// extension for skills, one on a page, or among its resources alone. Where the folder holds
// a list.json, that is what the extension lists instead, whatever it says.
func Skills(dir string, extension bool) (*mcp.Server, error) {
	o := &mcp.ServerOptions{PageSize: 2}
	if extension {
		o.Capabilities = &mcp.ServerCapabilities{}
		o.Capabilities.AddExtension("io.modelcontextprotocol/skills", map[string]any{"directoryRead": false})
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "skills", Version: "1"}, o)
	type file struct {
		URI    string `json:"uri"`
		Digest string `json:"digest"`
		Size   int    `json:"size"`
	}
	files := map[string][]file{}
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(os.DirFS(dir), at)
		name, _, below := strings.Cut(at, "/")
		if err != nil || !below {
			return err
		}
		if path.Base(at) == "SKILL.md" {
			names = append(names, name)
		}
		sum := sha256.Sum256(data)
		uri := "skill://" + at
		files[name] = append(files[name], file{uri, "sha256:" + hex.EncodeToString(sum[:]), len(data)})
		s.AddResource(&mcp.Resource{URI: uri, Name: path.Base(path.Dir(at))}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Blob: data}}}, nil
		})
		return nil
	})
	if err != nil || !extension {
		return s, err
	}
	var list []json.RawMessage
	for _, name := range names {
		one, err := json.Marshal(map[string]any{
			"uri": "skill://" + name + "/SKILL.md", "frontmatter": map[string]any{"name": name, "description": "Skill " + name}, "resources": files[name],
		})
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	if src, err := os.ReadFile(path.Join(dir, "list.json")); err == nil {
		list = nil
		if err := json.Unmarshal(src, &list); err != nil {
			return nil, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return s, lists(s, list)
}

// lists has a server answer which skills there are.
func lists(s *mcp.Server, list []json.RawMessage) error {
	return mcp.AddReceivingCustomMethod(s, "skills/list", func(_ context.Context, _ *mcp.ServerSession, p *skillsAsked) (*skillsTold, error) {
		at := len(p.Cursor) // a page has one skill, a cursor the length of its number
		if at >= len(list) {
			return &skillsTold{Skills: []json.RawMessage{}}, nil
		}
		return &skillsTold{Skills: list[at : at+1], NextCursor: strings.Repeat("x", at+1)}, nil
	})
}
