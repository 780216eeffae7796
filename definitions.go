package deft

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Bounds of a folder of definitions: what a person writes by hand stays far below them.
const (
	maxDefinitions    = 100
	maxDefinitionFile = 64 << 10
)

// definitions hands the files of one folder that fit to take, by name, with their bytes or
// why those cannot be had. No link leads out of base. code is of the finding that there are
// too many.
func definitions(base, folder, code string, fit func(file string) bool, take func(path string, src []byte, err error)) []skill.Diagnostic {
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil // nothing is defined there
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), folder)
	if err != nil {
		return nil
	}
	taken := 0
	for _, entry := range entries {
		if !fit(entry.Name()) {
			continue
		}
		name := folder + "/" + entry.Name()
		shown := filepath.Join(base, filepath.FromSlash(name))
		if taken++; taken > maxDefinitions {
			return []skill.Diagnostic{skill.Finding(code, shown, "more than %d files in %s; the rest is left out", maxDefinitions, folder)}
		}
		src, err := readDefinition(root, name)
		take(shown, src, err)
	}
	return nil
}

func readDefinition(root *os.Root, name string) ([]byte, error) {
	unread := errors.New("it cannot be read")
	info, err := root.Stat(name)
	if err != nil {
		return nil, unread
	}
	if !info.Mode().IsRegular() || info.Size() > maxDefinitionFile {
		return nil, fmt.Errorf("it is no plain file of at most %d bytes", maxDefinitionFile)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, unread
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxDefinitionFile))
	if err != nil {
		return nil, unread
	}
	return src, nil
}

// trustsWorkspace reports whether what the workspace's files define counts.
func (e *Engine) trustsWorkspace(ctx context.Context) bool {
	trust, _ := e.judge.Trust(ctx, source.Info{Kind: source.Project, Path: e.o.Workspace, Trust: source.Pending}, nil)
	return trust == source.Workspace || trust == source.Trusted
}
