package install

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Kind is what a source is.
type Kind string

// The kinds.
const (
	Local     Kind = "local"     // a directory, SKILL.md or archive of this machine
	Git       Kind = "git"       // a repository, over https, ssh or from this machine
	Archive   Kind = "archive"   // a zip or tar over https
	File      Kind = "file"      // one SKILL.md over https
	NPM       Kind = "npm"       // a package, by its tarball
	MCP       Kind = "mcp"       // skills of an MCP server
	Published Kind = "store"     // a published version
	WellKnown Kind = "wellknown" // an index at a well-known address
	Probe     Kind = "probe"     // an address that has to be asked what it is
)

// SourceRef is a source, taken apart. What is not known is "".
type SourceRef struct {
	Kind Kind
	// URL is the address without credentials, ref and folder: a URL, an scp-like
	// git@host:path, a path as it was typed (Local), the name of a package, server or
	// skill (NPM, MCP, Published), or host and path (WellKnown).
	URL string
	// Ref is a branch, tag or commit; of NPM and Published a version, tag or channel.
	Ref string
	// Dir is the folder inside, cleaned, "/" between its parts.
	Dir string
	// Rest is set instead of Ref and Dir for a browser address: branch and folder, which
	// its text alone can't tell apart. See Split.
	Rest string
	// Skill is the one that was named with "@".
	Skill string
	// Punycode is the host as it is asked for, where the typed one mixes scripts: to be
	// shown and asked about.
	Punycode string
}

// ParseOptions are the circumstances of a source.
type ParseOptions struct {
	// Exists reports whether a path is there, so that `skills/pdf` can be a folder of this
	// machine; nil = no path is.
	Exists func(path string) bool
	// DefaultHost is where OWNER/REPO is looked for; "" = github.com.
	DefaultHost string
	// AllowHTTP lets http addresses pass.
	AllowHTTP bool
}

// The longest source that is read.
const maxSource = 4096

var (
	// A ref that is no option, no range and nothing that git reads in another way.
	refForm   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/+-]{0,250}$`)
	scpForm   = regexp.MustCompile(`^([A-Za-z0-9._-]+)@([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):([^:].*)$`)
	shortForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9._][A-Za-z0-9._-]*(/.*)?$`)
	driveForm = regexp.MustCompile(`^[A-Za-z]:[\\/]`)
	npmForm   = regexp.MustCompile(`^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*$`)
	npmWanted = regexp.MustCompile(`^([~^=]|[<>]=?)?[A-Za-z0-9*][A-Za-z0-9._+*-]*$`)
	wordForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)
	hostForm  = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$`)
	archives  = regexp.MustCompile(`(?i)\.(zip|skill|tar\.gz|tgz|tar)$`)
)

// forms are tried in this order; the first that takes a text decides.
var forms = []func(s string, o ParseOptions) (SourceRef, bool, error){
	local, served, named, scp, addressed, short,
}

// ParseSource reads what a person typed. It looks at nothing but the text and
// o.Exists. The errors are ErrUnrecognised, ErrPassword, ErrBadRef and ErrBadURL.
func ParseSource(s string, o ParseOptions) (SourceRef, error) {
	if err := plain(s); err != nil {
		return SourceRef{}, err
	}
	if o.DefaultHost == "" {
		o.DefaultHost = "github.com"
	}
	for _, form := range forms {
		r, ok, err := form(s, o)
		if err != nil {
			return SourceRef{}, err
		}
		if !ok {
			continue
		}
		return r, r.check()
	}
	return SourceRef{}, fmt.Errorf("%w: %q is no path, no address and no OWNER/REPO", ErrUnrecognised, s)
}

// plain refuses what no form may hold.
func plain(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("%w: it is empty", ErrUnrecognised)
	case len(s) > maxSource:
		return fmt.Errorf("%w: it has %d bytes, more than %d", ErrUnrecognised, len(s), maxSource)
	case strings.HasPrefix(s, "-"):
		return fmt.Errorf("%w: %q begins like an option", ErrUnrecognised, s)
	case !utf8.ValidString(s):
		return fmt.Errorf("%w: it is no UTF-8", ErrUnrecognised)
	}
	for _, r := range s {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return fmt.Errorf("%w: it holds the character %U", ErrUnrecognised, r)
		}
	}
	return nil
}

// check holds what every form's parts must keep.
func (r *SourceRef) check() error {
	if strings.HasPrefix(r.URL, "-") {
		return fmt.Errorf("%w: %q begins like an option", ErrBadURL, r.URL)
	}
	for _, part := range []struct{ name, value string }{{"ref", r.Ref}, {"folder", r.Dir}, {"folder", r.Rest}, {"skill", r.Skill}} {
		if strings.HasPrefix(part.value, "-") {
			return fmt.Errorf("%w: the %s %q begins like an option", ErrBadRef, part.name, part.value)
		}
	}
	if r.Ref != "" && r.Kind != NPM { // whose form is its own
		if err := checkRef(r.Ref); err != nil {
			return err
		}
	}
	for _, dir := range []string{r.Dir, r.Rest} {
		if dir != "" && !inside(dir) {
			return fmt.Errorf("%w: the folder %q leaves the source", ErrBadURL, dir)
		}
	}
	return nil
}

func checkRef(ref string) error {
	if !refForm.MatchString(ref) || strings.Contains(ref, "..") || strings.Contains(ref, "//") ||
		strings.HasSuffix(ref, ".lock") || strings.HasSuffix(ref, "/") || strings.HasSuffix(ref, ".") {
		return fmt.Errorf("%w: %q is no branch, tag or commit", ErrBadRef, ref)
	}
	return nil
}

// inside reports whether a folder stays below the root it is written against.
func inside(dir string) bool {
	if strings.ContainsAny(dir, "\\\x00") || strings.HasPrefix(dir, "/") {
		return false
	}
	for part := range strings.SplitSeq(dir, "/") {
		if part == ".." || part == "." || part == "" {
			return false
		}
	}
	return true
}

// local is a path of this machine. A fragment names a ref of a work tree there.
func local(s string, o ParseOptions) (SourceRef, bool, error) {
	p, fragment, _ := strings.Cut(s, "#")
	switch {
	case strings.HasPrefix(p, "file:"):
		p = strings.TrimPrefix(p, "file:")
		switch {
		case strings.HasPrefix(p, "///"):
			p = p[2:]
		case strings.HasPrefix(p, "//localhost/"):
			p = strings.TrimPrefix(p, "//localhost")
		case p == "", strings.HasPrefix(p, "//"):
			return SourceRef{}, true, fmt.Errorf("%w: %q names no path of this machine", ErrBadURL, s)
		}
	case p == ".", p == "..", p == "~", driveForm.MatchString(p), strings.HasPrefix(p, "/"), strings.HasPrefix(p, "./"),
		strings.HasPrefix(p, "../"), strings.HasPrefix(p, "~/"), strings.HasPrefix(p, `.\`), strings.HasPrefix(p, `..\`):
	case strings.ContainsAny(p, `/\`) && !strings.Contains(p, "://") && o.Exists != nil && o.Exists(p):
	default:
		return SourceRef{}, false, nil
	}
	r := SourceRef{Kind: Local, URL: p}
	err := r.fragment(fragment)
	return r, true, err
}

// fragment reads R[:D] behind a "#".
func (r *SourceRef) fragment(s string) error {
	ref, dir, _ := strings.Cut(s, ":")
	decoded, err := url.PathUnescape(dir)
	if err != nil {
		return fmt.Errorf("%w: the folder %q", ErrBadURL, dir)
	}
	if decoded = strings.Trim(decoded, "/"); decoded != "" {
		r.Dir = skillDir(decoded)
	}
	if ref != "" {
		if ref, err = url.PathUnescape(ref); err != nil {
			return fmt.Errorf("%w: %q can't be decoded", ErrBadRef, s)
		}
		r.Ref = ref
	}
	return nil
}

// skillDir cuts the file name off a path that ends in one.
func skillDir(p string) string {
	if p == "SKILL.md" {
		return ""
	}
	return strings.TrimSuffix(p, "/SKILL.md")
}

// prefixes are the forms that say by a word what they are.
var prefixes = map[string]func(rest string) (SourceRef, bool){
	"npm:": func(rest string) (SourceRef, bool) {
		scope := ""
		if strings.HasPrefix(rest, "@") {
			var ok bool
			if scope, rest, ok = strings.Cut(rest, "/"); !ok {
				return SourceRef{}, false
			}
			scope += "/"
		}
		name, dir, _ := strings.Cut(rest, "/")
		name, version, tagged := strings.Cut(name, "@")
		ok := npmForm.MatchString(scope+name) && (!tagged || npmWanted.MatchString(version))
		return SourceRef{Kind: NPM, URL: scope + name, Ref: version, Dir: strings.Trim(dir, "/")}, ok
	},
	"mcp:": func(rest string) (SourceRef, bool) {
		server, skill, _ := strings.Cut(rest, "/")
		return SourceRef{Kind: MCP, URL: server, Skill: skill}, wordForm.MatchString(server)
	},
	"deft:": func(rest string) (SourceRef, bool) {
		name, version, tagged := strings.Cut(rest, "@")
		return SourceRef{Kind: Published, URL: name, Ref: version}, name != "" && !strings.Contains(name, "/") && (!tagged || wordForm.MatchString(version))
	},
	"wellknown:": func(rest string) (SourceRef, bool) {
		host, p, _ := strings.Cut(strings.TrimSuffix(rest, "/"), "/")
		return SourceRef{Kind: WellKnown, URL: strings.TrimSuffix(strings.ToLower(host)+"/"+p, "/")}, hostForm.MatchString(host) && (p == "" || inside(p))
	},
}

func named(s string, _ ParseOptions) (SourceRef, bool, error) {
	for prefix, read := range prefixes {
		if rest, ok := strings.CutPrefix(s, prefix); ok {
			r, ok := read(rest)
			if !ok {
				return r, true, fmt.Errorf("%w: %q does not go on as %s sources do", ErrUnrecognised, s, strings.TrimRight(prefix, ":+"))
			}
			return r, true, nil
		}
	}
	return SourceRef{}, false, nil
}

// served is the address of an MCP server, held to the rules of any other.
func served(s string, o ParseOptions) (SourceRef, bool, error) {
	rest, ok := strings.CutPrefix(s, "mcp+")
	if !ok {
		return SourceRef{}, false, nil
	}
	at, skill, _ := strings.Cut(rest, "#")
	r, ok, err := addressed(at, o)
	switch {
	case err != nil:
		return r, true, err
	case !ok || !strings.HasPrefix(at, "https://") && !strings.HasPrefix(at, "http://"):
		return r, true, fmt.Errorf("%w: %q does not go on as mcp+ sources do, with an https address", ErrUnrecognised, s)
	}
	u, err := url.Parse(at)
	if err != nil {
		return r, true, fmt.Errorf("%w: it can't be read as an address", ErrBadURL)
	}
	host, _, err := hostOf(u)
	u.Host = host
	return SourceRef{Kind: MCP, URL: u.String(), Punycode: r.Punycode, Skill: skill}, true, err
}

// scp is git's own short form for ssh. The user name is kept: hosts tell by it who asks.
func scp(s string, _ ParseOptions) (SourceRef, bool, error) {
	at, fragment, _ := strings.Cut(s, "#")
	m := scpForm.FindStringSubmatch(at)
	if m == nil || strings.Contains(at, "://") {
		return SourceRef{}, false, nil
	}
	repo := strings.TrimPrefix(m[3], "/")
	if strings.HasPrefix(m[1], "-") || strings.HasPrefix(m[2], "-") || strings.HasPrefix(repo, "-") || !inside(strings.TrimPrefix(repo, "~")) || strings.Contains(repo, " ") {
		return SourceRef{}, true, fmt.Errorf("%w: %q names no repository", ErrBadURL, at)
	}
	r := SourceRef{Kind: Git, URL: at}
	return r, true, r.fragment(fragment)
}

// short is OWNER/REPO at the default host.
func short(s string, o ParseOptions) (SourceRef, bool, error) {
	body, fragment, _ := strings.Cut(s, "#")
	body, skill, _ := strings.Cut(body, "@")
	body = strings.TrimSuffix(body, "/")
	if !shortForm.MatchString(body) || strings.ContainsAny(body, ` \:`) {
		return SourceRef{}, false, nil
	}
	parts := strings.SplitN(body, "/", 3)
	r := SourceRef{Kind: Git, URL: "https://" + o.DefaultHost + "/" + parts[0] + "/" + strings.TrimSuffix(parts[1], ".git"), Skill: skill}
	if len(parts) == 3 {
		r.Dir = skillDir(parts[2])
	}
	if parts[1] == "." || parts[1] == ".." || parts[1] == ".git" {
		return r, true, fmt.Errorf("%w: %q names no repository", ErrBadURL, s)
	}
	return r, true, r.fragment(fragment)
}

// addressed is every form with a scheme.
func addressed(s string, o ParseOptions) (SourceRef, bool, error) {
	scheme, _, ok := strings.Cut(s, ":")
	if !ok || strings.ContainsAny(scheme, "/@.#") {
		return SourceRef{}, false, nil
	}
	plus := strings.HasPrefix(s, "git+")
	u, err := url.Parse(strings.TrimPrefix(s, "git+"))
	if err != nil {
		return SourceRef{}, true, fmt.Errorf("%w: it can't be read as an address", ErrBadURL)
	}
	if _, has := u.User.Password(); has {
		return SourceRef{}, true, fmt.Errorf("%w: use a credential helper", ErrPassword)
	}
	switch u.Scheme {
	case "https", "ssh":
	case "http":
		if !o.AllowHTTP {
			return SourceRef{}, true, fmt.Errorf("%w: http is not safe from changes on the way: %q", ErrBadURL, s)
		}
	default:
		return SourceRef{}, true, fmt.Errorf("%w: %q is no scheme that is fetched", ErrBadURL, u.Scheme)
	}
	host, fold, err := hostOf(u)
	if err != nil {
		return SourceRef{}, true, err
	}
	if err := pathOf(u); err != nil {
		return SourceRef{}, true, err
	}
	r := SourceRef{Punycode: fold}
	fragment := u.EscapedFragment()
	u.Fragment, u.RawFragment, u.Host = "", "", host
	if u.Scheme == "ssh" {
		r.Kind, r.URL = Git, u.String()
		return r, true, r.fragment(fragment)
	}
	if u.User != nil {
		return r, true, fmt.Errorf("%w: a user name in an https address; use a credential helper", ErrPassword)
	}
	r.web(u, plus, strings.Contains(s, "#"))
	return r, true, r.fragment(fragment)
}

// web tells the forms of an https address apart.
func (r *SourceRef) web(u *url.URL, plus, fragment bool) {
	r.URL = u.String()
	switch {
	case archives.MatchString(u.Path) && !plus:
		r.Kind = Archive
	case r.browser(u):
		r.Kind = Git
	case path.Base(u.Path) == "SKILL.md" && !plus:
		r.Kind = File
	case plus || fragment || strings.HasSuffix(u.Path, ".git"):
		r.Kind = Git
	default:
		r.Kind = Probe
	}
}

// hostOf returns the host as it is asked for, and the same again where the typed one
// mixes scripts, which is how one host is made to look like another.
func hostOf(u *url.URL) (host, mixed string, err error) {
	name := u.Hostname()
	if name == "" || strings.HasPrefix(name, "-") {
		return "", "", fmt.Errorf("%w: it names no host", ErrBadURL)
	}
	if isASCII(name) {
		if !strings.Contains(name, ":") && !hostForm.MatchString(name) {
			return "", "", fmt.Errorf("%w: %q is no host", ErrBadURL, name)
		}
		return strings.ToLower(u.Host), "", nil
	}
	puny, err := idna.Lookup.ToASCII(name)
	if err != nil {
		return "", "", fmt.Errorf("%w: %q is no host", ErrBadURL, name)
	}
	host = puny
	if port := u.Port(); port != "" {
		host += ":" + port
	}
	if mixesScripts(name) {
		mixed = puny
	}
	return host, mixed, nil
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

// mixesScripts reports whether the letters of one label come from two alphabets that
// look alike.
func mixesScripts(host string) bool {
	for label := range strings.SplitSeq(host, ".") {
		seen := 0
		for _, table := range []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee} {
			if strings.IndexFunc(label, func(r rune) bool { return unicode.Is(table, r) }) >= 0 {
				seen++
			}
		}
		if seen > 1 {
			return true
		}
	}
	return false
}

// pathOf refuses a path that a server, git or a file system would read otherwise.
func pathOf(u *url.URL) error {
	p := u.Path
	for {
		once, err := url.PathUnescape(p)
		if err != nil || once == p {
			break
		}
		p = once // twice encoded: whoever decodes once more gets this
	}
	if strings.ContainsAny(p, "\\ \x00") || strings.IndexFunc(p, unicode.IsControl) >= 0 {
		return fmt.Errorf("%w: its path holds a blank, a backslash or a control character", ErrBadURL)
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." || part == "." || strings.HasPrefix(part, "-") && part != "-" {
			return fmt.Errorf("%w: its path has the part %q", ErrBadURL, part)
		}
	}
	return nil
}

// Split tells branch and folder of a browser address apart, by the refs that the
// repository has: the longest that is a prefix at a "/", else a commit's digits. It
// returns r with Ref and Dir, and ok false when no ref fits; close are then those that
// begin alike.
func (r SourceRef) Split(refs []string) (out SourceRef, close []string, ok bool) {
	if r.Rest == "" {
		return r, nil, true
	}
	best := ""
	for _, ref := range refs {
		if len(ref) > len(best) && (r.Rest == ref || strings.HasPrefix(r.Rest, ref+"/")) {
			best = ref
		}
	}
	if first, _, _ := strings.Cut(r.Rest, "/"); best == "" && commitForm.MatchString(first) {
		best = first
	}
	if best == "" {
		return r, closeRefs(r.Rest, refs), false
	}
	r.Ref, r.Dir, r.Rest = best, skillDir(strings.Trim(strings.TrimPrefix(r.Rest, best), "/")), ""
	return r, nil, true
}

var commitForm = regexp.MustCompile(`^[0-9a-f]{7,40}$`)

// maxClose is how many refs are offered in place of one that does not exist.
const maxClose = 3

func closeRefs(want string, refs []string) []string {
	first, _, _ := strings.Cut(want, "/")
	var out []string
	for _, like := range []bool{true, false} {
		for _, ref := range refs {
			if len(out) < maxClose && strings.HasPrefix(ref, first[:min(3, len(first))]) == like {
				out = append(out, ref)
			}
		}
	}
	return out
}

// String is the shortest form that ParseSource reads as the same source.
func (r SourceRef) String() string {
	s := r.URL
	switch r.Kind {
	case NPM:
		s = "npm:" + s
		if r.Ref != "" {
			s += "@" + r.Ref
		}
		if r.Dir != "" {
			s += "/" + r.Dir
		}
		return s
	case Published:
		s = "deft:" + s
		if r.Ref != "" {
			s += "@" + r.Ref
		}
		return s
	case MCP:
		if strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://") {
			if s = "mcp+" + s; r.Skill != "" {
				s += "#" + r.Skill
			}
			return s
		}
		if s = "mcp:" + s; r.Skill != "" {
			s += "/" + r.Skill
		}
		return s
	case WellKnown:
		return "wellknown:" + s
	case Local:
		if strings.HasPrefix(s, "/") {
			s = "//" + s
		}
		s = "file:" + s
	case Git:
		if strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://") {
			s = "git+" + s
		}
	}
	if r.Ref != "" || r.Dir != "" {
		s += "#" + r.Ref
	}
	if r.Dir != "" {
		s += ":" + (&url.URL{Path: r.Dir}).EscapedPath()
	}
	return s
}
