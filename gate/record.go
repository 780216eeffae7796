package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Row is the record of one decision. It holds no argument values: CallHash says
// which call it was to whoever has the call.
type Row struct {
	Time       time.Time `json:"ts"`
	Trace      string    `json:"trace_id"`
	Session    string    `json:"session"`
	Turn       string    `json:"turn"`
	Call       string    `json:"call"`
	Origin     Origin    `json:"origin"`
	Principal  string    `json:"principal"`
	Tool       string    `json:"tool"`
	Via        string    `json:"via,omitempty"`
	Tier       Tier      `json:"tier"`
	Stages     []string  `json:"stages"`
	Ceiling    Tier      `json:"ceiling"`
	Verdict    Verdict   `json:"verdict"`
	Code       string    `json:"code"`
	Rule       string    `json:"rule,omitempty"`     // that decided
	GrantID    string    `json:"grant_id,omitempty"` // whose use was counted, or that the answer made
	ConfirmID  string    `json:"confirm_id,omitempty"`
	CallHash   string    `json:"call_hash,omitempty"`
	Skills     []string  `json:"skills"` // name@source#digest
	BypassedBy string    `json:"bypassed_by,omitempty"`
	Override   string    `json:"tier_override,omitempty"` // how the configuration lowered the tool's tier, and why
	// Secret says that the arguments hold what no record may. Who keeps the row keeps the hash
	// of the call under a key: a short secret could be guessed from the hash itself.
	Secret bool `json:"-"`
}

// Sink keeps rows. Record returns only when the row is safe; an error denies the
// call that the row is of. Implementations are safe for concurrent use.
type Sink interface {
	Record(ctx context.Context, r Row) error
}

// FileSink appends rows as JSON lines to one file, each written whole and synced
// before Record returns.
type FileSink struct {
	mu   sync.Mutex
	file *os.File
	path string
	torn bool // a write failed part of the way: the next one starts a line of its own
}

// OpenFileSink opens or creates the file at path, with its folder, readable by the
// user alone. A last line that an earlier crash cut is ended, not removed. It
// refuses anything but a plain file.
func OpenFileSink(path string) (*FileSink, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("gate record: %w", err)
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("gate record %s: not a plain file", path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("gate record: %w", err)
	}
	s := &FileSink{file: f, path: path}
	if err := s.endLastLine(); err != nil {
		return nil, errors.Join(fmt.Errorf("gate record %s: %w", path, err), f.Close())
	}
	return s, nil
}

func (s *FileSink) endLastLine() error {
	info, err := s.file.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	var last [1]byte
	if _, err := s.file.ReadAt(last[:], info.Size()-1); err != nil {
		return err
	}
	if last[0] == '\n' {
		return nil
	}
	_, err = s.file.Write([]byte{'\n'})
	return err
}

// Record implements Sink.
func (s *FileSink) Record(ctx context.Context, r Row) error {
	return s.Append(ctx, r)
}

// Append writes any value as a line, as Record does: a file of its own for other records.
func (s *FileSink) Append(ctx context.Context, v any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("gate record: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	line = append(line, '\n')
	if s.torn {
		line = append([]byte{'\n'}, line...)
	}
	if _, err := s.file.Write(line); err != nil {
		s.torn = true
		return fmt.Errorf("gate record %s: %w", s.path, err)
	}
	s.torn = false
	if err := s.file.Sync(); err != nil {
		return fmt.Errorf("gate record %s: %w", s.path, err)
	}
	return nil
}

// Close closes the file. Record fails after it.
func (s *FileSink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file.Close()
}
