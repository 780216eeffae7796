package licence

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	fileForm = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([-_.][a-z0-9._-]*)?$`)
	noticed  = regexp.MustCompile(`(?i)^notice(\.(txt|md))?$`)
	spdxLine = regexp.MustCompile(`(?m)SPDX-License-Identifier:[ \t]*([^\s*<>][^\r\n*<>]*)`)
	// pointer is a header that names the file which has the terms.
	pointer = regexp.MustCompile(`(?i)(?:complete|full)?\s*(?:terms|text|licen[cs]e|details)?\b[^.\n]*?\b((?:[\w.-]+/)*(?:licen[cs]e|copying|notice|unlicense)(?:[-_.][\w-]+)*(?:\.(?:txt|md))?)`)
	ending  = []string{"", ".txt", ".md"}
)

func parent(dir string) string {
	if dir == "." || dir == "" {
		return "."
	}
	return path.Dir(dir)
}

// ownVerdicts is what the skill's own folder and header say, each for itself.
func ownVerdicts(tree fs.FS, dir, header string, source []byte, o Options) (list []Verdict, err error) {
	if dir == "" {
		dir = "."
	}
	if list, err = files(tree, dir, o); err != nil {
		return nil, err
	}
	if at, ok := pointed(tree, dir, header); ok {
		v, err := ofFile(tree, at, o)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(list, func(have Verdict) bool { return have.File == v.File }) {
			list = append(list, v)
		}
		// The header's own words count where they refuse, whatever the file says.
		if words := forbids(header, false); words != "" && v.Decision != Refuse {
			list = append(list, Verdict{SPDX: "LicenseRef-Proprietary", Confidence: 1, Decision: Refuse, Evidence: clip(words)})
		}
	} else if v, ok := OfName(header, o); ok {
		list = append(list, v)
	}
	if m := spdxLine.FindSubmatch(source); m != nil {
		if v, ok := OfName(strings.Trim(string(m[1]), " \t\"'-"), o); ok {
			v.File = path.Join(dir, "SKILL.md")
			list = append(list, v)
		}
	}
	return list, nil
}

// pointed returns the file of the tree that a header names instead of a licence.
func pointed(tree fs.FS, dir, header string) (string, bool) {
	m := pointer.FindStringSubmatch(header)
	if m == nil || names()[strings.ToLower(strings.TrimSpace(header))] != "" || ofExpression(header, Options{}) != None {
		return "", false
	}
	for at := dir; ; at = parent(at) {
		for _, end := range ending {
			name := path.Join(at, m[1]+end)
			if info, err := fs.Stat(tree, name); err == nil && info.Mode().IsRegular() {
				return name, true
			}
		}
		if at == "." {
			return "", false
		}
	}
}

// files is the verdict of each licence file of a folder. A notice says something only
// where no licence stands beside it.
func files(tree fs.FS, dir string, o Options) (list []Verdict, err error) {
	entries, err := fs.ReadDir(tree, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("licence: %w", err)
	}
	for _, form := range []*regexp.Regexp{fileForm, noticed} {
		for _, e := range entries {
			if !e.Type().IsRegular() || !form.MatchString(e.Name()) {
				continue
			}
			v, err := ofFile(tree, path.Join(dir, e.Name()), o)
			if err != nil {
				return nil, err
			}
			if form == noticed && v.Decision == None {
				continue
			}
			list = append(list, v)
		}
		if len(list) > 0 {
			break
		}
	}
	return dual(list), nil
}

// dual reads LICENSE-MIT beside LICENSE-APACHE as a choice.
func dual(list []Verdict) []Verdict {
	if len(list) < 2 {
		return list
	}
	for _, v := range list {
		if !strings.ContainsAny(path.Base(v.File), "-_") || v.Decision == None || strings.Contains(v.SPDX, " ") {
			return list
		}
	}
	best := list[0]
	ids := []string{best.SPDX}
	for _, v := range list[1:] {
		ids = append(ids, v.SPDX)
		if slices.Index(rank, v.Decision) < slices.Index(rank, best.Decision) {
			best = v
		}
	}
	best.SPDX = strings.Join(ids, " OR ")
	best.Evidence = best.SPDX
	return []Verdict{best}
}

func ofFile(tree fs.FS, name string, o Options) (Verdict, error) {
	f, err := tree.Open(name)
	if err != nil {
		return Verdict{}, fmt.Errorf("licence: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxText))
	if err != nil {
		return Verdict{}, fmt.Errorf("licence %s: %w", name, err)
	}
	v := OfText(text, o)
	v.File = name
	return v, nil
}

// above is what a folder above the skill says: its licence file, else its package.
func above(tree fs.FS, dir string, o Options) ([]Verdict, error) {
	list, err := files(tree, dir, o)
	if err != nil || len(list) > 0 {
		return list, err
	}
	raw, err := fs.ReadFile(tree, path.Join(dir, "package.json"))
	if err != nil {
		return nil, nil // most folders are no package
	}
	var p struct {
		License json.RawMessage `json:"license"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return nil, nil
	}
	var name string
	if json.Unmarshal(p.License, &name) != nil || strings.EqualFold(name, "UNLICENSED") {
		return nil, nil
	}
	if v, ok := OfName(name, o); ok {
		v.File = path.Join(dir, "package.json")
		return []Verdict{v}, nil
	}
	return nil, nil
}
