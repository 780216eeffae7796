package plugin

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/deftskills/deft/install/archive"
	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/source"
)

// marketFiles are where a repository may keep its list of plugins; the first counts.
var marketFiles = [...]string{".deft-plugin/marketplace.json", ".claude-plugin/marketplace.json", "marketplace.json"}

// Offer is one plugin that a marketplace offers.
type Offer struct {
	Name, Version, Description string
	// Path is where it lies in the marketplace's own tree; "." = its root. Text is another
	// source, as a person would write it, whose folder it is. URL and Digest name an
	// archive, of which not a byte may differ. One of the three is set.
	Path, Text, URL, Digest string
	Problem                 string // why it can't be had; "" = it can

	fields map[string]json.RawMessage
}

// Market is a list of offers.
type Market struct {
	Name   string // as it calls itself; "" = it does not say
	Offers []Offer
}

// maxOffers bounds the offers of one marketplace.
const maxOffers = 10_000

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Offers reads what a tree of files offers: its list, else each folder in it.
func Offers(fsys fs.FS) (Market, error) {
	for _, name := range marketFiles {
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			continue
		}
		m, err := ReadMarket(src)
		if err != nil {
			return m, fmt.Errorf("%s: %w", name, err)
		}
		return m, nil
	}
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return Market{}, fmt.Errorf("marketplace: %w", err)
	}
	var m Market
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || len(m.Offers) == maxOffers {
			continue
		}
		for _, dir := range versions(fsys, e.Name()) {
			sub, err := fs.Sub(fsys, dir)
			if err != nil {
				continue
			}
			if man, _ := source.ReadManifestIn(sub, "/"+dir); man.File != "" || isDir(sub, "skills") {
				m.Offers = append(m.Offers, Offer{Name: man.Prefix, Version: man.Version, Description: man.Description, Path: dir})
			}
		}
	}
	return m, nil
}

func isDir(fsys fs.FS, name string) bool {
	st, err := fs.Stat(fsys, name)
	return err == nil && st.IsDir()
}

// versions are the folders of a plugin: itself, or those below it that are named after
// versions.
func versions(fsys fs.FS, dir string) []string {
	out := []string{dir}
	entries, _ := fs.ReadDir(fsys, dir) // a folder that can't be read offers nothing
	for _, e := range entries {
		if e.IsDir() && source.IsVersion(e.Name()) {
			out = append(out, path.Join(dir, e.Name()))
		}
	}
	return out
}

// ReadMarket reads a list of plugins. An entry that can't be used is kept with what is
// wrong with it.
func ReadMarket(src []byte) (Market, error) {
	if most := 16 * limits.DefaultPlugin().Manifest; int64(len(src)) > most {
		return Market{}, fmt.Errorf("marketplace: more than %d bytes", most)
	}
	var doc struct {
		Name     string `json:"name"`
		Metadata struct {
			Root string `json:"pluginRoot"`
		} `json:"metadata"`
		Plugins []map[string]json.RawMessage `json:"plugins"`
	}
	if err := json.Unmarshal(src, &doc); err != nil {
		return Market{}, fmt.Errorf("marketplace: %w", err)
	}
	m := Market{Name: doc.Name}
	for _, fields := range doc.Plugins[:min(len(doc.Plugins), maxOffers)] {
		m.Offers = append(m.Offers, offer(fields, doc.Metadata.Root))
	}
	return m, nil
}

// offer reads one entry.
func offer(fields map[string]json.RawMessage, root string) Offer {
	o := Offer{fields: fields}
	text := func(key string) (s string) {
		_ = json.Unmarshal(fields[key], &s) // what is no text is none
		return s
	}
	o.Name, o.Version, o.Description = text("name"), text("version"), text("description")
	if url := text("url"); url != "" && fields["source"] == nil {
		if o.URL, o.Digest = url, text("digest"); !digestForm.MatchString(o.Digest) {
			o.Problem = "its entry has no sha256 digest of the archive"
		}
		return o
	}
	var at string
	if json.Unmarshal(fields["source"], &at) == nil && fields["source"] != nil {
		if root != "" && !strings.HasPrefix(at, "./") && !strings.HasPrefix(at, "/") {
			at = path.Join(root, at)
		}
		if o.Path = path.Clean(at); !fs.ValidPath(o.Path) || strings.ContainsAny(at, "\\\x00") {
			o.Path, o.Problem = "", fmt.Sprintf("its source %q leads out of the marketplace", at)
		}
		return o
	}
	o.remote(fields["source"])
	return o
}

// remote reads a source that is another repository.
func (o *Offer) remote(raw json.RawMessage) {
	var s struct {
		Source, Repo, URL, Path, Ref, SHA string
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		o.Problem = "its source is neither a path nor a repository"
		return
	}
	switch s.Source {
	case "github":
		o.Text = "https://github.com/" + strings.TrimSuffix(s.Repo, ".git") + ".git"
	case "url", "git", "git-subdir":
		o.Text = s.URL
	default:
		o.Problem = fmt.Sprintf("sources of kind %q are not fetched", s.Source)
		return
	}
	ref := s.SHA
	if ref == "" {
		ref = s.Ref
	}
	if dir := strings.Trim(s.Path, "/"); dir != "" {
		o.Text += "#" + ref + ":" + strings.TrimPrefix(dir, "./")
	} else if ref != "" {
		o.Text += "#" + ref
	}
}

// manifestFields are what an entry may say in the place of a manifest.
var manifestFields = []string{"name", "version", "description", "author", "license", "skills", "commands", "agents", "hooks", "mcpServers"}

// Stand is the manifest that an entry makes for a plugin that has none of its own; false
// where the entry says nothing of its parts, or the plugin has one.
func (o Offer) Stand(fsys fs.FS) (archive.File, bool) {
	if m, _ := source.ReadManifestIn(fsys, "/x"); m.File != "" {
		return archive.File{}, false
	}
	out := map[string]json.RawMessage{}
	parts := false
	for _, key := range manifestFields {
		if v, ok := o.fields[key]; ok {
			out[key] = v
			parts = parts || slices.Index(manifestFields, key) > slices.Index(manifestFields, "license")
		}
	}
	if !parts {
		return archive.File{}, false
	}
	src, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return archive.File{}, false
	}
	return archive.File{Path: ".claude-plugin/plugin.json", Data: append(src, '\n')}, true
}

// Find returns the offers of a name, the greatest version first.
func (m Market) Find(name string) []Offer {
	var out []Offer
	for _, o := range m.Offers {
		if o.Name == name {
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, func(a, b Offer) int { return source.CompareVersions(b.Version, a.Version) })
	return out
}

// PickName is what a plugin is called: by its manifest, else by the entry of its
// marketplace, else by its folder, and never after a version or a commit.
func PickName(p Plugin, o Offer) string {
	if strings.TrimSpace(p.Manifest.Name) != "" || o.Name == "" || source.IsVersion(o.Name) {
		return p.Prefix
	}
	return source.PluginName(o.Name)
}

// PickVersion is the version of a plugin: of its manifest, else of the entry, else the
// commit or digest of what it came from, shortened. What looks like no version gets a form
// that does: folders of versions are told by their names.
func PickVersion(p Plugin, o Offer, commit string) string {
	for _, v := range []string{p.Version, o.Version} {
		if v = strings.TrimSpace(v); source.IsVersion(v) {
			return v
		} else if v != "" {
			return "0.0.0-" + v
		}
	}
	commit = strings.TrimPrefix(commit, "sha256:")
	return commit[:min(len(commit), 12)]
}
