package builtin

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/deftskills/deft/skill"
)

// errLinkedDirectory: what a link of a directory holds may change under our feet.
var errLinkedDirectory = errors.New("a linked directory")

// file is one file of a shipped skill.
type file struct {
	path string // below the skill, slash-separated
	exec bool
	data []byte
}

// readSkill reads every file of a skill, links of files through. Empty directories
// count for nothing.
func readSkill(src fs.FS, name string) ([]file, error) {
	var files []file
	err := fs.WalkDir(src, name, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := fs.Stat(src, p)
		if err != nil {
			return err
		}
		switch {
		case st.IsDir():
			return fmt.Errorf("%s: %w", p, errLinkedDirectory)
		case !st.Mode().IsRegular():
			return fmt.Errorf("%s: not a regular file", p)
		}
		data, err := fs.ReadFile(src, p)
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(p, name+"/")
		files = append(files, file{rel, runtime.GOOS != "windows" && st.Mode()&0o111 != 0, data})
		return nil
	})
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return files, err
}

// aggregate is the digest of one skill: its paths, contents and execute bits.
func aggregate(files []file) string {
	lines := make([]string, len(files))
	for i, f := range files {
		sum := sha256.Sum256(f.data)
		bit := "0"
		if f.exec {
			bit = "1"
		}
		lines[i] = f.path + "\x00" + hex.EncodeToString(sum[:]) + "\x00" + bit
	}
	return hexSum(strings.Join(lines, "\n"))
}

// combine is the digest of a set of skills, by name and aggregate.
func combine(aggregates map[string]string) string {
	lines := make([]string, 0, len(aggregates))
	for name, sum := range aggregates {
		lines = append(lines, name+"\x00"+sum)
	}
	slices.Sort(lines)
	return hexSum("v1\x00" + strings.Join(lines, "\n"))
}

func hexSum(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// Fingerprints are the digests of a tree of skills: the combined one and that of each
// skill.
type Fingerprints struct {
	Combined string            `json:"combined"`
	Skills   map[string]string `json:"skills"`
}

// Fingerprint reads the skills of a tree and returns their digests, retired ones left
// out. The error names the first skill that cannot be read.
func Fingerprint(src fs.FS) (Fingerprints, error) {
	names, err := skillNames(src)
	if err != nil {
		return Fingerprints{}, err
	}
	f := Fingerprints{Skills: map[string]string{}}
	for _, name := range names {
		files, err := readSkill(src, name)
		if err != nil {
			return f, fmt.Errorf("skill %q: %w", name, err)
		}
		if !retired(name, files) {
			f.Skills[name] = aggregate(files)
		}
	}
	f.Combined = combine(f.Skills)
	return f, nil
}

//go:embed .seed-fingerprints.json
var builtJSON []byte

// Built returns the fingerprints that were taken when the program was built.
func Built() (Fingerprints, error) {
	var f Fingerprints
	err := json.Unmarshal(builtJSON, &f)
	return f, err
}

// skillNames lists the directories of a tree that hold a SKILL.md.
func skillNames(src fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(src, ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if _, err := fs.Stat(src, path.Join(e.Name(), "SKILL.md")); err == nil {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// retired reports whether a skill says of itself that it is no longer handed out.
func retired(name string, files []file) bool {
	for _, f := range files {
		if f.path == "SKILL.md" {
			return skill.Parse(f.data, skill.ParseOptions{Path: name + "/SKILL.md", DirName: name}).Meta.Retired
		}
	}
	return false
}
