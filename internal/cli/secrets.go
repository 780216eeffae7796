package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deftskills/deft/internal/config"
	"github.com/deftskills/deft/registry"
)

const (
	secretLimit = 64 << 10         // bytes of a file or an output that holds a value
	secretWait  = 30 * time.Second // for a command: a person may have to unlock something
)

// boundBy are the names of the variables that the settings bind to skills.
func boundBy(c *config.Config) registry.Bindings {
	if len(c.Secrets) == 0 {
		return nil
	}
	out := registry.Bindings{}
	for key, vars := range c.Secrets {
		out[key] = slices.Sorted(maps.Keys(vars))
	}
	return out
}

// secrets reads the values that the person's settings name. What a command gave is kept for
// the run: a store of passwords asks its person once.
type secrets struct {
	r *run

	mu    sync.Mutex
	known map[string]string // by the words of the command
}

// Value implements deft.Secrets.
func (s *secrets) Value(ctx context.Context, key, name string) (string, error) {
	c, _ := s.r.settingsFor(func(was bool) bool { return was })
	from, ok := c.Secrets[key][name]
	if !ok {
		return "", errors.New("it is bound no more")
	}
	switch {
	case from.Env != "":
		value := s.r.env(from.Env)
		if value == "" {
			return "", fmt.Errorf("the variable %s is not set", from.Env)
		}
		return value, nil
	case from.File != "":
		return s.file(from.File)
	}
	return s.command(ctx, from.Command)
}

func (s *secrets) file(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(s.r.dirs.Home, rest)
	}
	f, err := openRegular(path)
	if err != nil {
		var p *os.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return "", fmt.Errorf("its file cannot be read: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, secretLimit+1))
	if err != nil {
		return "", errors.New("its file cannot be read")
	}
	return valueIn(text)
}

// command runs what the person's own settings name, outside of any sandbox and with the
// whole environment: it is the person's program, as if typed.
func (s *secrets) command(ctx context.Context, argv []string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.Join(argv, "\x00")
	if value, ok := s.known[key]; ok {
		return value, nil
	}
	ctx, cancel := context.WithTimeout(ctx, secretWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = s.r.proc.Environ, s.r.dirs.Home, time.Second
	var out limited
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		// What it printed may hold a part of the value.
		return "", fmt.Errorf("its command %s ended without one: %w", filepath.Base(argv[0]), err)
	}
	value, err := valueIn(out.Bytes())
	if err != nil {
		return "", err
	}
	if s.known == nil {
		s.known = map[string]string{}
	}
	s.known[key] = value
	return value, nil
}

// limited keeps what is written up to a little beyond the limit of a value.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len() <= secretLimit {
		l.Buffer.Write(p)
	}
	return len(p), nil
}

// valueIn is a value without the last line end.
func valueIn(text []byte) (string, error) {
	if len(text) > secretLimit {
		return "", fmt.Errorf("it is longer than %d bytes", secretLimit)
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if value == "" {
		return "", errors.New("it is empty")
	}
	return value, nil
}
