package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/internal/config"
	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store"
)

func configVerb() verb {
	var dirs, bounds bool
	return verb{
		name: "config", group: groupHouse, effects: effects{reads: true},
		short: "settings, each with where it came from",
		brief: "settings, rules, records",
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&dirs, "dirs", false, "the directories that deft uses")
			f.BoolVar(&bounds, "limits", false, "every bound that deft puts on input")
		},
		run: func(_ context.Context, r *run, _ []string) error { return r.showConfig(dirs, bounds) },
	}
}

func (r *run) showConfig(dirs, bounds bool) error {
	all := struct {
		Settings    []config.Setting   `json:"settings"`
		Dirs        config.Dirs        `json:"dirs"`
		Limits      []limit            `json:"limits"`
		Diagnostics []skill.Diagnostic `json:"diagnostics"`
	}{r.shownSettings(), r.dirs, allLimits(), r.diags}
	if all.Diagnostics == nil {
		all.Diagnostics = []skill.Diagnostic{}
	}
	switch {
	case r.globals.json:
		r.printJSON(all)
	case dirs:
		d := r.dirs
		for _, x := range [][2]string{{"home", d.Home}, {"config", d.Config}, {"data", d.Data}, {"state", d.State}, {"cache", d.Cache}, {"run", d.Run}} {
			r.out.Printf("%-7s %s\n", x[0], x[1])
		}
	case bounds:
		for _, l := range all.Limits {
			r.out.Printf("%-22s %v\n", l.Name, l.Value)
		}
	default:
		for _, s := range all.Settings {
			value, err := json.Marshal(s.Value)
			if err != nil {
				return fmt.Errorf("setting %s: %w", s.Key, err)
			}
			r.out.Printf("%-30s %s  (%s)\n", s.Key, string(value), place(s.From))
		}
	}
	r.report(r.diags)
	return nil
}

// shownSettings are the settings without passwords in addresses.
func (r *run) shownSettings() []config.Setting {
	all := r.config.Settings()
	for i := range all {
		switch all[i].Key {
		case "db":
			all[i].Value = store.Masked(r.database())
		case "blobs":
			all[i].Value = store.Masked(r.blobPlace())
		}
	}
	return all
}

func place(f config.From) string {
	switch {
	case f.File == "":
		return string(f.Level)
	case f.Line == 0:
		return fmt.Sprintf("%s %s", f.Level, f.File)
	}
	return fmt.Sprintf("%s %s:%d", f.Level, f.File, f.Line)
}

// limit is one bound with its name, as in skill.file.
type limit struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// allLimits lists the bounds of package limits by the names of their fields.
func allLimits() []limit {
	var list []limit
	for _, group := range []struct {
		name string
		of   any
	}{{"skill", limits.DefaultSkill()}, {"scan", limits.DefaultScan()}, {"session", limits.DefaultSession()}} {
		v := reflect.ValueOf(group.of)
		for i := range v.NumField() {
			value := v.Field(i).Interface()
			if d, ok := value.(fmt.Stringer); ok {
				value = d.String()
			}
			list = append(list, limit{group.name + "." + snake(v.Type().Field(i).Name), value})
		}
	}
	return list
}
