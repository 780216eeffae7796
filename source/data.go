package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/skill"
)

// Definition is a skill given in code. Name, Description and Content follow the
// rules of files; nil and empty fields say nothing. Inline commands and hooks stay
// off unless the two booleans are set, whatever Content holds.
type Definition struct {
	Name, Description, Content   string
	Version, ArgumentHint, Model string
	WhenToUse                    string
	AllowedTools                 []string // nil: not declared; empty: declared and empty
	DisallowedTools              []string
	Arguments                    []string
	Paths                        []string
	Hooks                        map[string]any
	UserInvocable                *bool
	DisableModelInvocation       bool
	Conditions                   map[string]any
	Metadata                     map[string]any
	// Effects wins over the flat fields: allowedTools, deniedTools, modelId, effort,
	// promptAppend, environment, scope, in any spelling.
	Effects                      map[string]any
	References                   map[string]string // path below the skill → content
	AllowInlineShell, AllowHooks bool
}

// DataOptions configures a data source. The zero value is kind DataDef, trusted.
type DataOptions struct {
	Info   Info
	Format Format
}

// Data returns a source over skills given in code. The definitions are copied; of
// two with one name the last wins with data_duplicate, and one with blank content
// is listed as invalid with data_content. Locations are data:///name/SKILL.md.
func Data(defs []Definition, o DataOptions) Source {
	if o.Info.Kind == "" {
		o.Info.Kind = DataDef
	}
	o.Info = withDefaults(o.Info, string(o.Info.Kind))
	s := &dataSource{o: o}
	last := map[string]int{}
	for i, d := range defs {
		if first, twice := last[d.Name]; twice {
			s.diags = append(s.diags, finding("data_duplicate", dataLocation(d.Name),
				"definitions %d and %d are both called %q; the last is used", first+1, i+1, d.Name))
		}
		last[d.Name] = i
	}
	for name, i := range last {
		s.entries = append(s.entries, s.define(defs[i], name))
	}
	sortEntries(s.entries)
	return s
}

func dataLocation(name string) string {
	return "data:///" + strings.ReplaceAll(escapePath(name), "/", "%2F") + "/" + SkillFile
}

type dataSource struct {
	o       DataOptions
	entries []*Entry
	diags   []skill.Diagnostic
	files   map[*skill.Skill]memory
}

func (s *dataSource) define(d Definition, name string) *Entry {
	e := &Entry{Source: s.o.Info, From: s, Location: dataLocation(name), File: SkillFile, inner: name}
	shown := e.Location
	if s.o.Format.Dialect == skill.Blade {
		shown, e.Source.ID = "inline://"+name+"/"+SkillFile, "inline:"+name
	}
	header, own, found := effects(d, shown)
	s.diags, e.Effects = append(s.diags, found...), own
	src := render(d, header)
	o := skill.ParseOptions{
		Dialect: s.o.Format.Dialect, Limits: s.o.Format.Limits, DataDir: s.o.Format.DataDir,
		Path: shown, DirName: name, TargetDirName: name,
	}
	if strings.TrimSpace(d.Content) == "" && s.o.Format.Dialect != skill.Mastra {
		e.Skill = invalid(o, finding("data_content", shown, "Missing required field: content"))
	} else {
		e.Skill = skill.Parse(src, o)
	}
	files := memory{SkillFile: src}
	for p, text := range d.References {
		if p = path.Clean(p); fs.ValidPath(p) && p != "." {
			files[p] = []byte(text)
		}
	}
	if s.files == nil {
		s.files = map[*skill.Skill]memory{}
	}
	s.files[e.Skill] = files
	return e
}

// Check returns why a definition is no usable skill, every reason in one text, or nil.
func (d Definition) Check(f Format) error {
	e := Data([]Definition{d}, DataOptions{Format: f}).(*dataSource).entries[0]
	if e.Skill.Valid {
		return nil
	}
	found := e.Skill.Diagnostics
	if f.Dialect == skill.Mastra { // a load stops at the first; the host says all
		found = skill.Validate(skill.Input{Source: render(d, nil), Path: e.Location, DirName: d.Name}, skill.ProfileMastra).Diagnostics
	}
	var why []string
	for _, d := range found {
		if d.Level == skill.LevelError {
			why = append(why, d.Message)
		}
	}
	word := "invalid"
	if f.Dialect == skill.Mastra {
		word = "Invalid"
	}
	return fmt.Errorf("%s skill %q: %s", word, d.Name, strings.Join(why, "; "))
}

// render writes a definition as a file, so that one parser has the say. JSON values
// are YAML, and the header ends before Content begins: no text can add a key.
func render(d Definition, effects map[string]any) []byte {
	var b strings.Builder
	b.WriteString("---\n")
	put := func(key string, v any, present bool) {
		if e, ok := effects[key]; ok {
			v, present = e, true
		}
		if !present {
			return
		}
		j, err := json.Marshal(v)
		if err != nil {
			return
		}
		b.WriteString(key + ": " + string(j) + "\n")
	}
	put("name", d.Name, d.Name != "")
	put("description", d.Description, d.Description != "")
	put("when_to_use", d.WhenToUse, d.WhenToUse != "")
	put("version", d.Version, d.Version != "")
	put("argument-hint", d.ArgumentHint, d.ArgumentHint != "")
	put("model", d.Model, d.Model != "")
	put("allowed-tools", d.AllowedTools, d.AllowedTools != nil)
	put("disallowed-tools", d.DisallowedTools, d.DisallowedTools != nil)
	put("arguments", d.Arguments, d.Arguments != nil)
	put("paths", d.Paths, d.Paths != nil)
	put("user-invocable", d.UserInvocable, d.UserInvocable != nil)
	put("disable-model-invocation", true, d.DisableModelInvocation)
	put("conditions", d.Conditions, d.Conditions != nil)
	put("metadata", d.Metadata, d.Metadata != nil)
	put("effort", nil, false)
	put("scope", nil, false)
	put("effects", d.Effects, d.Effects != nil)
	put("hooks", d.Hooks, d.Hooks != nil && d.AllowHooks)
	put("shell", false, !d.AllowInlineShell)
	b.WriteString("---\n\n")
	b.WriteString(d.Content)
	return []byte(b.String())
}

func (s *dataSource) Info() Info     { return s.o.Info }
func (s *dataSource) format() Format { return s.o.Format }

func (s *dataSource) with(change func(*Info)) Source {
	c := &dataSource{o: s.o, diags: s.diags, files: s.files}
	change(&c.o.Info)
	for _, e := range s.entries {
		copied := *e
		copied.Source, copied.From = c.o.Info, c
		if e.Source.ID != s.o.Info.ID {
			copied.Source.ID = e.Source.ID
		}
		c.entries = append(c.entries, &copied)
	}
	return c
}

func (s *dataSource) Scan(ctx context.Context, prev *Listing) (*Listing, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := &Listing{Entries: slices.Clone(s.entries), Diagnostics: slices.Clone(s.diags), Complete: true}
	if prev != nil {
		l.Stats.FilesReused = len(s.entries)
	}
	return l, nil
}

func (s *dataSource) Open(ctx context.Context, e *Entry, rel string) (fs.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rel, err := cleanRel(e, rel)
	if err != nil {
		return nil, err
	}
	return s.files[e.Skill].Open(rel)
}

// memory is a small tree of files held in memory, by slash-separated path.
type memory map[string][]byte

func (m memory) Open(name string) (fs.File, error) {
	if b, ok := m[name]; ok {
		return &memFile{memInfo: memInfo{path.Base(name), int64(len(b)), 0o444}, Reader: *strings.NewReader(string(b))}, nil
	}
	prefix := name + "/"
	if name == "." {
		prefix = ""
	}
	seen := map[string]fs.DirEntry{}
	for p, b := range m {
		if rest, ok := strings.CutPrefix(p, prefix); ok {
			first, _, deeper := strings.Cut(rest, "/")
			i := memInfo{first, int64(len(b)), 0o444}
			if deeper {
				i = memInfo{first, 0, fs.ModeDir | 0o555}
			}
			seen[first] = fs.FileInfoToDirEntry(i)
		}
	}
	if len(seen) == 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	d := &memDir{memInfo: memInfo{path.Base(name), 0, fs.ModeDir | 0o555}}
	for _, n := range slices.Sorted(maps.Keys(seen)) {
		d.entries = append(d.entries, seen[n])
	}
	return d, nil
}

type memInfo struct {
	name string
	size int64
	mode fs.FileMode
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) Mode() fs.FileMode  { return i.mode }
func (i memInfo) ModTime() time.Time { return time.Time{} }
func (i memInfo) IsDir() bool        { return i.mode.IsDir() }
func (i memInfo) Sys() any           { return nil }

type memFile struct {
	memInfo
	strings.Reader
}

func (f *memFile) Stat() (fs.FileInfo, error) { return f.memInfo, nil }
func (f *memFile) Close() error               { return nil }
func (f *memFile) Size() int64                { return f.size }

type memDir struct {
	memInfo
	entries []fs.DirEntry
}

func (d *memDir) Stat() (fs.FileInfo, error) { return d.memInfo, nil }
func (d *memDir) Close() error               { return nil }
func (d *memDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: errors.New("is a directory")}
}

func (d *memDir) ReadDir(n int) ([]fs.DirEntry, error) {
	all := d.entries
	d.entries = nil
	return all, nil
}
