package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/deftskills/deft/install/licence"
	"github.com/deftskills/deft/skill"
)

// ProvenanceFile lies in an installed skill and says where it came from. It is no part
// of the skill.
const ProvenanceFile = ".deft-skill.json"

// minaraFile is the same record of another system.
const minaraFile = ".minara-skill.json"

// Provenance is the record in an installed skill.
type Provenance struct {
	Format    int             `json:"format"`
	ID        string          `json:"id"` // of this installation
	Name      string          `json:"name"`
	Source    Origin          `json:"source"`
	Tree      skill.Digest    `json:"tree"`
	Files     int             `json:"files"`
	Licence   licence.Verdict `json:"licence"`
	Scan      *ScanSummary    `json:"scan,omitempty"`
	At        time.Time       `json:"installed_at"`
	Installer string          `json:"installer"`
	Mode      string          `json:"mode"`
	Agents    []string        `json:"agents,omitempty"` // whose folders have an entry
	// Unverified says that the source has no digests to compare with.
	Unverified bool `json:"unverified,omitempty"`
	// Signed is the id of the key that signed the source; "" = none that is known.
	Signed  string   `json:"signed,omitempty"`
	History []Former `json:"history,omitempty"` // what was here before, the newest last

	// Sum is the digest of the record with an empty Sum: a record with another one is damaged.
	Sum skill.Digest `json:"sum"`

	minara bool // written in that system's form too
}

// errRecord is a record that can't be read, or is damaged.
var errRecord = errors.New("the record can't be read")

// bytes is the record as a file.
func (p Provenance) bytes() ([]byte, error) {
	p.Sum = ""
	src, err := json.MarshalIndent(p, "", "  ")
	if err == nil {
		p.Sum = skill.FileDigest(src)
		src, err = json.MarshalIndent(p, "", "  ")
	}
	if err != nil {
		return nil, fmt.Errorf("provenance: %w", err)
	}
	return append(src, '\n'), nil
}

// sound reports whether a record is the one that was written.
func (p Provenance) sound(src []byte) bool {
	whole := bytes.TrimSuffix(bytes.Replace(src, []byte(`"sum": "`+p.Sum+`"`), []byte(`"sum": ""`), 1), []byte("\n"))
	return skill.FileDigest(whole) == p.Sum
}

// Former is a version that was installed before. The store still has its files.
type Former struct {
	Source  Origin       `json:"source"`
	Tree    skill.Digest `json:"tree"`
	Licence string       `json:"licence,omitempty"`
	At      time.Time    `json:"installed_at"`
}

// maxHistory is how many former versions can be gone back to.
const maxHistory = 5

// after is the history of what replaces p.
func (p Provenance) after(next skill.Digest) []Former {
	h := slices.Clone(p.History)
	if p.Tree != "" && p.Tree != next {
		h = append(h, Former{p.Source, p.Tree, p.Licence.SPDX, p.At})
	}
	return h[max(0, len(h)-maxHistory):]
}

// ScanSummary is what the scanner said of the bytes that were installed.
type ScanSummary struct {
	Rules    string   `json:"rules"`
	Blocking int      `json:"blocking"`
	Complete bool     `json:"complete"`
	Accepted []string `json:"accepted,omitempty"` // rules that spoke, and whose findings were taken
	Disabled []string `json:"disabled,omitempty"` // rules that were left out
}

const provenanceFormat = 1

// ReadProvenance reads the record of an installed skill. The error of a folder without
// one wraps fs.ErrNotExist.
func ReadProvenance(dir string) (p Provenance, err error) {
	src, err := readSmall(filepath.Join(dir, ProvenanceFile))
	if errors.Is(err, fs.ErrNotExist) {
		if src, err := readSmall(filepath.Join(dir, minaraFile)); err == nil {
			return readMinara(src)
		}
	}
	if err != nil {
		return p, fmt.Errorf("provenance: %w", err)
	}
	if err := json.Unmarshal(src, &p); err != nil {
		return p, fmt.Errorf("provenance %s: %w: %w", filepath.Join(dir, ProvenanceFile), errRecord, err)
	}
	if !p.sound(src) {
		return p, fmt.Errorf("provenance %s: %w: its sum is another one", filepath.Join(dir, ProvenanceFile), errRecord)
	}
	return p, nil
}

// minaraRecord is the record as the other system writes it.
func (p Provenance) minaraRecord() ([]byte, error) {
	src, err := json.MarshalIndent(map[string]string{
		"url": p.Source.URL, "ref": p.Source.Ref, "commit": p.Source.Commit, "subpath": p.Source.Subpath,
		"license": p.Licence.SPDX, "sha256": string(p.Tree),
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("provenance: %w", err)
	}
	return append(src, '\n'), nil
}

// readMinara reads the other system's record as far as it says the same.
func readMinara(src []byte) (Provenance, error) {
	var m struct {
		URL     string `json:"url"`
		Ref     string `json:"ref"`
		Commit  string `json:"commit"`
		Subpath string `json:"subpath"`
		Licence string `json:"licence"`
		License string `json:"license"`
		SHA256  string `json:"sha256"`
	}
	if err := json.Unmarshal(src, &m); err != nil {
		return Provenance{}, fmt.Errorf("provenance %s: %w: %w", minaraFile, errRecord, err)
	}
	if m.Licence == "" {
		m.Licence = m.License
	}
	return Provenance{
		Source:  Origin{Type: Git, URL: m.URL, Ref: m.Ref, Commit: m.Commit, Subpath: m.Subpath},
		Licence: licence.Verdict{SPDX: m.Licence}, Tree: skill.Digest(m.SHA256), Mode: "copy",
	}, nil
}
