package evals

import (
	"bytes"
	"path"
	"strings"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"go.yaml.in/yaml/v3"
)

func (c *corpus) add(name string) {
	raw := c.files[name]
	s := &skill.Skill{Valid: true, File: skill.FileDigest(raw)}
	s.Meta.Priority = 50
	s.Body = skill.Span{Start: 0, End: int64(len(raw))}
	s.Name = path.Base(path.Dir(name))
	if bytes.HasPrefix(raw, []byte("---")) {
		if i := bytes.Index(raw[3:], []byte("\n---")); i >= 0 {
			s.Body.Start = int64(i + 3 + 4)
			var m map[string]any
			if yaml.Unmarshal(raw[3:i+3], &m) != nil {
				m = map[string]any{}
				for l := range strings.Lines(string(raw[3 : i+3])) {
					k, v, ok := strings.Cut(l, ":")
					if ok && !strings.HasPrefix(k, " ") {
						m[k] = strings.TrimSpace(v)
					}
				}
			}
			if n, ok := m["name"].(string); ok {
				s.Name = n
			}
			s.Description, _ = m["description"].(string)
			s.Meta.WhenToUse, _ = m["when_to_use"].(string)
			if l, ok := m["tags"].([]any); ok {
				for _, t := range l {
					if t, ok := t.(string); ok {
						s.Meta.Tags = append(s.Meta.Tags, t)
					}
				}
			}
		}
	}
	e := &source.Entry{Skill: s, Source: c.info, From: c, Location: name, Dir: path.Dir(name)}
	rec := &registry.Record{Entry: e, State: registry.Available, Address: path.Dir(name)}
	c.snap.Winners = append(c.snap.Winners, rec)
	c.snap.All = append(c.snap.All, rec)
}
