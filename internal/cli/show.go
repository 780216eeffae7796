package cli

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store"
)

func showVerb() verb {
	var raw, meta, draft bool
	return verb{
		name: "show", args: "NAME", min: 1, max: 1, group: groupSkill, effects: effects{reads: true}, names: true,
		short: "what a model would get of a skill", brief: "what a model would get of a skill; one of its files",
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&raw, "raw", false, "the file as it is")
			f.BoolVar(&meta, "meta", false, "the header as deft reads it")
			f.BoolVar(&draft, "draft", false, "the newest version of NAME that was not published yet, or of NAME@VERSION that one")
		},
		run: func(ctx context.Context, r *run, args []string) error {
			name := args[0]
			if draft {
				var err error
				if name, err = r.draft(ctx, name); err != nil {
					return err
				}
			}
			return r.show(ctx, name, raw, meta)
		},
	}
}

// draft has the run see a version of a published skill alone, the newest draft unless one
// is named, and returns the skill's name.
func (r *run) draft(ctx context.Context, arg string) (string, error) {
	name, want, named := strings.Cut(arg, "@")
	s, err := r.openStore(ctx)
	if err != nil {
		return "", err
	}
	all, err := s.Versions().List(ctx, name)
	if err != nil {
		return "", publishedFailure(ctx, s, name, err)
	}
	i := slices.IndexFunc(all, func(v store.Version) bool { return v.Status() == store.Draft })
	if i < 0 && !named {
		return "", fail(Negative, "versions_no_draft", "no version of %q is a draft", name)
	}
	var v store.Version
	if named {
		if v, err = s.Versions().Find(ctx, name, want); err != nil {
			return "", err
		}
	} else {
		v = all[i]
	}
	tree, err := s.Trees().Get(ctx, v.Tree)
	if err != nil {
		return "", err
	}
	r.only, err = source.Versions(tree, r.publishedBlobs(), source.VersionOptions{
		Name: v.Name, ID: v.ID, CreatedAt: v.CreatedAt, Info: source.Info{ID: "store", Trust: source.Untrusted},
		Format: source.Format{Dialect: skill.Dialect(r.globals.dialect)},
	})
	return v.Name, err
}

// showJSON is the document of show. Text is what was asked for: the model's text, or
// the file; "" with --meta.
type showJSON struct {
	Skill      skillJSON        `json:"skill"`
	Text       string           `json:"text"`
	Meta       map[string]any   `json:"meta"`       // what deft reads, by snake_case names
	Header     any              `json:"header"`     // the header as written, every scalar a string
	Properties skill.Properties `json:"properties"` // the open standard's six fields
}

func (r *run) show(ctx context.Context, name string, raw, meta bool) error {
	snap, err := r.snapshot(ctx)
	if err != nil {
		return err
	}
	rec, err := find(snap, name)
	if err != nil {
		return err
	}
	if !raw && !meta {
		if err := offered(rec); err != nil {
			return err
		}
	}
	doc := showJSON{Skill: recordJSON(rec), Meta: metaMap(rec.Skill)}
	file, err := fileOf(ctx, rec, "")
	if err != nil {
		return err
	}
	doc.Header, doc.Properties = headerOf(rec.Skill, file)
	switch {
	case raw:
		doc.Text = string(file)
	case meta:
	default:
		if doc.Text, err = r.modelText(ctx, rec); err != nil {
			return err
		}
	}
	switch {
	case r.globals.json:
		r.printJSON(doc)
	case meta:
		r.showMeta(rec, doc)
	case raw:
		r.text(doc.Text)
	default:
		r.out.Text(doc.Text)
	}
	r.report(rec.Skill.Diagnostics)
	return nil
}

func headerOf(s *skill.Skill, file []byte) (any, skill.Properties) {
	rep := skill.Validate(skill.Input{Source: file, DirName: s.Name}, skill.ProfileAgentskills)
	return plain(s.Raw()), rep.Properties
}

// plain turns a header's tree into maps, lists and strings.
func plain(n *skill.Node) any {
	switch n.Kind {
	case skill.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = plain(n.Content[i+1])
		}
		return m
	case skill.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			list = append(list, plain(c))
		}
		return list
	}
	return n.Value
}

func (r *run) showMeta(rec *registry.Record, doc showJSON) {
	s := rec.Skill
	for _, x := range [][2]string{
		{"name", s.Name}, {"title", s.Title}, {"description", s.Description}, {"location", rec.Location},
		{"source", rec.Source.ID}, {"trust", string(rec.Source.Trust)}, {"state", string(rec.State)}, {"digest", string(s.Digest)},
	} {
		r.out.Printf("%-26s %s\n", x[0], x[1])
	}
	for _, key := range sortedKeys(doc.Meta) {
		r.out.Printf("%-26s %s\n", key, compact(doc.Meta[key]))
	}
}

// metaMap shows the typed header by snake_case names.
func metaMap(s *skill.Skill) map[string]any {
	m, _ := values(reflect.ValueOf(s.Meta)).(map[string]any)
	return m
}

// values turns exported fields into maps with snake_case keys; absent pointers and
// lists are null and empty.
func values(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return values(v.Elem())
	case reflect.Struct:
		m := map[string]any{}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				m[snake(f.Name)] = values(v.Field(i))
			}
		}
		return m
	case reflect.Slice:
		list := []any{}
		for i := range v.Len() {
			list = append(list, values(v.Index(i)))
		}
		return list
	}
	return v.Interface()
}

// compact is a value on one line.
func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}
