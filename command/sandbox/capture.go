package sandbox

import (
	"os"
	"time"
)

// capture keeps the first bytes of a stream and goes on reading, so that whoever writes is
// never blocked and nothing more is kept in memory.
type capture struct {
	read, write *os.File
	max         int64
	full        chan struct{} // closed when more than max has come
	done        chan struct{}
	kept        []byte
	truncated   bool
}

func newCapture(max int64) (*capture, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &capture{read: r, write: w, max: max, full: make(chan struct{}), done: make(chan struct{})}, nil
}

// start begins reading; the writing end is the process's alone from here on.
func (c *capture) start() {
	c.write.Close()
	go func() {
		defer close(c.done)
		buf := make([]byte, 32<<10)
		for {
			n, err := c.read.Read(buf)
			if room := c.max - int64(len(c.kept)); int64(n) > room {
				c.kept = append(c.kept, buf[:room]...)
				if !c.truncated {
					c.truncated = true
					close(c.full)
				}
			} else {
				c.kept = append(c.kept, buf[:n]...)
			}
			if err != nil {
				return
			}
		}
	}()
}

// finish returns what was kept. A survivor that holds the pipe blocks it for wait at most.
func (c *capture) finish(wait time.Duration) ([]byte, bool) {
	// The deadline fails where pipes can't have one; closing ends the read there.
	_ = c.read.SetReadDeadline(time.Now().Add(wait))
	select {
	case <-c.done:
	case <-time.After(wait + time.Second):
		return nil, true
	}
	c.read.Close()
	return c.kept, c.truncated
}

func (c *capture) discard() {
	c.read.Close()
	c.write.Close()
}
