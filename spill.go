package deft

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// maxSpilled bounds what is kept of outputs that were too long for the model, in bytes a
// session: a model that reads more of them has lost its way.
const maxSpilled = 64 << 20

// spill keeps outputs that are too long for the model in a folder of the session's own,
// which is made with the first of them. Safe for concurrent use.
type spill struct {
	dir string // absolute, below the folder for temporary files; "" = nothing is kept

	mu   sync.Mutex
	n    int
	size int
}

// newSpill names the folder without making it: the gate has to know it beforehand.
func newSpill(root string, random io.Reader) (*spill, error) {
	if root == "" {
		root = "/tmp"
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	var name [12]byte
	if _, err := io.ReadFull(random, name[:]); err != nil {
		return nil, fmt.Errorf("name of a folder: %w", err)
	}
	return &spill{dir: filepath.Join(root, "deft-output-"+hex.EncodeToString(name[:]))}, nil
}

// keep writes an output to a file and returns its path.
func (s *spill) keep(_ context.Context, tool, output string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size+len(output) > maxSpilled {
		return "", fmt.Errorf("outputs of this session: more than %d bytes", maxSpilled)
	}
	if s.n == 0 {
		if err := os.Mkdir(s.dir, 0o700); err != nil {
			return "", err
		}
	}
	s.n++
	s.size += len(output)
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, tool)
	file := filepath.Join(s.dir, fmt.Sprintf("%d-%.40s.txt", s.n, plain))
	return file, os.WriteFile(file, []byte(output), 0o600)
}

// close removes all that was kept.
func (s *spill) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == 0 {
		return nil
	}
	s.n = 0
	return os.RemoveAll(s.dir)
}
