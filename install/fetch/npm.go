package fetch

import (
	"context"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/deftskills/deft/install/archive"
)

// NPM fetches packages by their tarballs. Nothing of one is run, and what it depends on is
// not fetched.
type NPM struct {
	HTTP   *HTTP
	Config *NPMConfig
}

// NPMPackage is what was fetched.
type NPMPackage struct {
	Fetched
	Version string
	Digest  string   // of the tarball
	Licence string   // that its package.json names; "" = none
	Skills  []string // folders that its package.json names; nil = it names none
}

// npmDocument asks for what an install needs, without the texts of every version.
const npmDocument = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8"

// packument is what a registry says of a package.
type packument struct {
	Tags     map[string]string          `json:"dist-tags"`
	Versions map[string]json.RawMessage `json:"versions"`
}

type npmVersion struct {
	Deprecated any `json:"deprecated"`
	Dist       struct {
		Tarball   string `json:"tarball"`
		Integrity string `json:"integrity"`
	} `json:"dist"`
}

// Fetch gets a package: want is a version, a tag or a range, "" for the tag latest. The
// errors are ErrNoRef, ErrDigest and those of HTTP.
func (n *NPM) Fetch(ctx context.Context, name, want string) (*NPMPackage, error) {
	h, end := n.HTTP.session()
	defer end()
	registry, file := n.Config.Registry(name)
	a := h.document(registry + strings.Replace(name, "/", "%2f", 1))
	a.accept = npmDocument
	b, err := n.get(ctx, h, a)
	if err != nil {
		return nil, fmt.Errorf("package %q: %w", name, err)
	}
	var doc packument
	if err := json.Unmarshal(b.Data, &doc); err != nil {
		return nil, fmt.Errorf("%w: %s says nothing that can be read of the package %q", ErrUnreachable, registry, name)
	}
	version, err := doc.resolve(name, want)
	if err != nil {
		return nil, err
	}
	var v npmVersion
	if err := json.Unmarshal(doc.Versions[version], &v); err != nil {
		return nil, fmt.Errorf("%w: %s says nothing that can be read of %s@%s", ErrUnreachable, registry, name, version)
	}
	p := &NPMPackage{Version: version}
	p.Notes = slices.Clone(n.Config.Notes)
	if file != "" {
		p.Notes = append(p.Notes, Note{NoteNPMRC, "", fmt.Sprintf("from the registry %s, which %s names", registry, file)})
	}
	if why, ok := v.Deprecated.(string); ok && why != "" {
		p.Notes = append(p.Notes, Note{NoteNPM, "", fmt.Sprintf("%s@%s is deprecated: %.300s", name, version, why)})
	}
	return p, n.tarball(ctx, h, p, b.URL, v, name)
}

// get tells the registry who asks, and no other host. What anybody may have is kept.
func (n *NPM) get(ctx context.Context, h *HTTP, a ask) (Body, error) {
	if u, err := url.Parse(a.address); err == nil && n.Config.Credential(u) != "" {
		a.credential = n.Config.Credential
	}
	return h.get(ctx, a)
}

// resolve is the version that is meant.
func (d packument) resolve(name, want string) (string, error) {
	if want == "" {
		want = "latest"
	}
	if _, ok := d.Versions[want]; ok {
		return want, nil
	}
	if v, ok := d.Tags[want]; ok {
		if _, there := d.Versions[v]; there {
			return v, nil
		}
	}
	if r, ok := parseRange(want); ok {
		if latest, ok := parseVersion(d.Tags["latest"]); ok && r.has(latest) && d.Versions[d.Tags["latest"]] != nil {
			return d.Tags["latest"], nil // as npm has it: what is marked goes before what is greater
		}
		if v := r.newest(slices.Collect(maps.Keys(d.Versions))); v != "" {
			return v, nil
		}
	}
	tags := slices.Sorted(maps.Keys(d.Tags))
	return "", fmt.Errorf("%w: the package %q has no version %q; tags: %s", ErrNoRef, name, want, strings.Join(tags[:min(len(tags), 5)], ", "))
}

func (n *NPM) tarball(ctx context.Context, h *HTTP, p *NPMPackage, from string, v npmVersion, name string) error {
	what := name + "@" + p.Version
	sums := sha512Of(v.Dist.Integrity)
	if len(sums) == 0 {
		return fmt.Errorf("%w: the registry has no sha512 of %s", ErrDigest, what)
	}
	base, err := url.Parse(from)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	u, err := base.Parse(v.Dist.Tarball)
	if err != nil || v.Dist.Tarball == "" || u.User != nil {
		return fmt.Errorf("%w: the registry has no address for %s that can be read", ErrUnreachable, what)
	}
	b, err := n.get(ctx, h, h.archive(u.String()))
	if err != nil {
		return fmt.Errorf("package %q: %w", what, err)
	}
	got := sha512.Sum512(b.Data)
	if !slices.ContainsFunc(sums, func(s []byte) bool { return subtle.ConstantTimeCompare(s, got[:]) == 1 }) {
		return fmt.Errorf("%w: the tarball of %s is not the one whose sha512 the registry has", ErrDigest, what)
	}
	c, err := archive.Read(b.Data, archive.Limits{})
	if err != nil {
		return fmt.Errorf("package %q: %w", what, err)
	}
	for _, note := range c.Notes {
		p.Notes = append(p.Notes, Note{Code: NoteLink, Message: note})
	}
	if p.Digest = b.Digest; !p.unpack(c.Files) {
		return fmt.Errorf("%w: the tarball of %s holds no package.json", archive.ErrFormat, what)
	}
	return nil
}

// sha512Of are the hashes of an integrity text that count.
func sha512Of(integrity string) (sums [][]byte) {
	for word := range strings.FieldsSeq(integrity) {
		word, _, _ = strings.Cut(word, "?")
		text, ok := strings.CutPrefix(word, "sha512-")
		if sum, err := base64.StdEncoding.DecodeString(text); ok && err == nil && len(sum) == sha512.Size {
			sums = append(sums, sum)
		}
	}
	return sums
}

// unpack takes the folder off that a tarball has everything in, and reads which folders
// its package.json calls skills.
func (p *NPMPackage) unpack(files []archive.File) bool {
	at := slices.IndexFunc(files, func(f archive.File) bool { return f.Path == "package.json" })
	if at < 0 && len(files) > 0 {
		top, _, _ := strings.Cut(files[0].Path, "/")
		for i := range files {
			rest, ok := strings.CutPrefix(files[i].Path, top+"/")
			if !ok {
				return false
			}
			files[i].Path = rest
		}
		at = slices.IndexFunc(files, func(f archive.File) bool { return f.Path == "package.json" })
	}
	if at < 0 {
		return false
	}
	p.Files = files
	p.Skills = p.named(files[at].Data)
	return true
}

// maxNamed is how many folders a package.json may name: each is compared with each file.
const maxNamed = 1_000

// named reads skills, else agents.skills, of a package.json: a folder or a list of them.
func (p *NPMPackage) named(src []byte) (dirs []string) {
	var doc struct {
		Skills  json.RawMessage `json:"skills"`
		Agents  json.RawMessage `json:"agents"`
		License any             `json:"license"`
	}
	if err := json.Unmarshal(src, &doc); err != nil {
		p.Notes = append(p.Notes, Note{NoteNPM, "package.json", "it can't be read: " + err.Error()})
		return nil
	}
	p.Licence, _ = doc.License.(string)
	raw := doc.Skills
	if raw == nil {
		var agents struct {
			Skills json.RawMessage `json:"skills"`
		}
		_ = json.Unmarshal(doc.Agents, &agents) // of another form: it names none
		raw = agents.Skills
	}
	var list []string
	var one string
	switch {
	case raw == nil:
		return nil
	case json.Unmarshal(raw, &one) == nil:
		list = []string{one}
	case json.Unmarshal(raw, &list) != nil:
		p.Notes = append(p.Notes, Note{NoteNPM, "package.json", "skills is no folder and no list of folders; it is left out"})
		return nil
	}
	if len(list) > maxNamed {
		p.Notes = append(p.Notes, Note{NoteNPM, "package.json", fmt.Sprintf("skills names %d folders; those after the first %d are left out", len(list), maxNamed)})
		list = list[:maxNamed]
	}
	for _, dir := range list {
		clean := strings.TrimSuffix(path.Clean(strings.TrimPrefix(dir, "./")), "/SKILL.md")
		if clean == "." || clean == "SKILL.md" {
			clean = ""
		}
		if strings.HasPrefix(clean, "/") || clean == ".." || strings.HasPrefix(clean, "../") || strings.Contains(clean, `\`) {
			p.Notes = append(p.Notes, Note{NoteNPM, "package.json", fmt.Sprintf("the folder %q of skills leaves the package; it is left out", dir)})
			continue
		}
		dirs = append(dirs, clean)
	}
	return dirs
}
