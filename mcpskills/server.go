package mcpskills

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/skill"
)

// Bounds of what is waited for.
const (
	initTime    = 10 * time.Second // to connect and to list the tools
	defaultCall = 60 * time.Second // of one call without a word from the server
	longestCall = 10 * time.Minute // of one call that reports progress
)

// Server says how one server is reached and what is taken of it. Exactly one of Command
// and URL is set.
type Server struct {
	Name string // see ValidName

	Command string   // a program: a path, or a name that is looked up on PATH
	Args    []string // as they are; no shell reads them
	// Env is what the process is told beside the few variables that every one gets.
	Env map[string]string
	Dir string // where it runs, absolute; "" = the workspace

	URL     string            // of a server that speaks Streamable HTTP
	Headers map[string]string // sent with every request to that address, and to no other

	Timeout time.Duration // of one call without progress; 0 = 60 s; at most 10 min
	Tiers   []TierRule    // what the person says of its tools; the others are ALWAYS_CONFIRM
	Roots   bool          // the server may know the path of the workspace
}

// TierRule gives the tools whose name at the server matches Pattern, a name or a glob with
// "*", a tier. A rule with the whole name goes before globs, and those in their order.
type TierRule struct {
	Pattern string
	Tier    gate.Tier
}

var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// ValidName reports whether a server may be called so: a lower-case letter or digit, then
// at most 63 of those and hyphens. Such a name stands unchanged in the names of tools.
func ValidName(name string) bool { return validName.MatchString(name) }

// Check says what is wrong with a server; nil = it can be started.
func (s Server) Check() error {
	switch {
	case !ValidName(s.Name):
		return fmt.Errorf("server %q: the name is not of a-z, 0-9 and hyphens", s.Name)
	case (s.Command == "") == (s.URL == ""):
		return fmt.Errorf("server %q: give a command or a url", s.Name)
	case strings.ContainsRune(s.Command+strings.Join(s.Args, ""), 0):
		return fmt.Errorf("server %q: the command holds a NUL", s.Name)
	case s.URL != "":
		return CheckURL(s.URL, len(s.Headers) > 0)
	}
	return nil
}

// CheckURL says why a server is not reached at an address. Without TLS no header goes
// anywhere but to this machine: it may hold a secret.
func CheckURL(address string, headers bool) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("%q is no http or https address", address)
	}
	if u.User != nil {
		return errors.New("the address holds a user's name; give it as a header")
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	if headers && u.Scheme == "http" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("headers would go to %q without TLS", u.Host)
	}
	return nil
}

// Digest identifies what a person approves of: the exact command or address with all that
// goes with it, the tiers left out, which are the person's own. A change of one byte is
// another server.
func (s Server) Digest() skill.Digest {
	doc, _ := json.Marshal(map[string]any{ // texts only: it cannot fail
		"name": s.Name, "command": s.Command, "args": append([]string{}, s.Args...), "env": s.Env, "dir": s.Dir,
		"url": s.URL, "headers": s.Headers, "roots": s.Roots,
	})
	sum := sha256.Sum256(doc)
	return skill.Digest("sha256:" + hex.EncodeToString(sum[:]))
}

// Place is the command or the address, for people.
func (s Server) Place() string {
	if s.URL != "" {
		return s.URL
	}
	words := slices.Clone(s.Args)
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\$") {
			words[i] = fmt.Sprintf("%q", w)
		}
	}
	return strings.Join(append([]string{s.Command}, words...), " ")
}

// timeout is how long one call may be silent.
func (s Server) timeout() time.Duration {
	if s.Timeout <= 0 {
		return defaultCall
	}
	return min(s.Timeout, longestCall)
}

// tier is what the person says of a tool; false = nothing.
func (s Server) tier(tool string) (gate.Tier, bool) {
	for _, r := range s.Tiers {
		if r.Pattern == tool {
			return r.Tier, true
		}
	}
	for _, r := range s.Tiers {
		if ok, err := path.Match(r.Pattern, tool); ok && err == nil && strings.Contains(r.Pattern, "*") {
			return r.Tier, true
		}
	}
	return 0, false
}
