package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/deftskills/deft/skill"
)

// Dirs says where deft keeps its files. Every path is absolute. Nothing is created
// here: a directory is made, mode 0700, by the first write into it.
type Dirs struct {
	Home   string `json:"home"`   // the person's home; "~" in roots
	Config string `json:"config"` // config.yaml
	Data   string `json:"data"`   // skills, installed trees
	State  string `json:"state"`  // records, logs
	Cache  string `json:"cache"`  // may be deleted at any time
	Run    string `json:"run"`    // locks
}

// Places is what FindDirs has to know about the process.
type Places struct {
	Getenv func(string) string
	GOOS   string // a Go name: linux, darwin, windows
	Base   string // --home: wins over DEFT_HOME; "" = not given
	Dir    string // the working directory; a relative Base counts from it
}

// FindDirs returns the directories of a process. With Base or DEFT_HOME everything
// lies below that one directory. Otherwise XDG variables win on every system when
// they are set and absolute; a relative one is ignored with the warning
// store_xdg_relative. It fails only when no home can be told.
func FindDirs(p Places) (Dirs, []skill.Diagnostic, error) {
	home := p.Getenv("HOME")
	if home == "" && p.GOOS == "windows" {
		home = p.Getenv("USERPROFILE")
	}
	base := p.Base
	if base == "" {
		base = p.Getenv("DEFT_HOME")
	}
	if base != "" {
		if !filepath.IsAbs(base) {
			base = filepath.Join(p.Dir, base)
		}
		return below(home, filepath.Clean(base)), nil, nil
	}
	if home == "" {
		return Dirs{}, nil, fmt.Errorf("home directory unknown: HOME is not set")
	}
	d := systemDirs(p, home)
	var diags []skill.Diagnostic
	for _, v := range []struct {
		name string
		dir  *string
	}{
		{"XDG_CONFIG_HOME", &d.Config}, {"XDG_DATA_HOME", &d.Data},
		{"XDG_STATE_HOME", &d.State}, {"XDG_CACHE_HOME", &d.Cache}, {"XDG_RUNTIME_DIR", &d.Run},
	} {
		value := p.Getenv(v.name)
		switch {
		case value == "":
		case filepath.IsAbs(value):
			*v.dir = filepath.Join(value, "deft")
		default:
			diags = append(diags, skill.Diagnostic{
				Code: "store_xdg_relative", Level: skill.LevelWarning, File: v.name, Offset: -1,
				Message: fmt.Sprintf("%s is a relative path, %q; it is ignored", v.name, value),
				Fix:     "set " + v.name + " to an absolute path",
			})
		}
	}
	if d.Run == "" {
		d.Run = filepath.Join(d.State, "run")
	}
	return d, diags, nil
}

// ManagedFile is the settings file of whoever runs the machine, beside the skills of the
// whole machine; "" = the system has no such place. No home and no flag moves it.
func ManagedFile(p Places) string {
	switch p.GOOS {
	case "darwin":
		return "/Library/Application Support/deft/config.yaml"
	case "windows":
		if dir := p.Getenv("ProgramData"); dir != "" {
			return filepath.Join(dir, "deft", "config.yaml")
		}
		return ""
	}
	return "/etc/deft/config.yaml"
}

func below(home, base string) Dirs {
	return Dirs{
		Home: home, Config: filepath.Join(base, "config"), Data: filepath.Join(base, "data"),
		State: filepath.Join(base, "state"), Cache: filepath.Join(base, "cache"), Run: filepath.Join(base, "run"),
	}
}

func systemDirs(p Places, home string) Dirs {
	switch p.GOOS {
	case "darwin":
		app := filepath.Join(home, "Library", "Application Support", "deft")
		return Dirs{
			Home: home, Config: filepath.Join(app, "config"), Data: filepath.Join(app, "data"),
			State: filepath.Join(app, "state"), Cache: filepath.Join(home, "Library", "Caches", "deft"),
		}
	case "windows":
		roaming := orElse(p.Getenv("AppData"), filepath.Join(home, "AppData", "Roaming"))
		local := filepath.Join(orElse(p.Getenv("LocalAppData"), filepath.Join(home, "AppData", "Local")), "deft")
		return Dirs{
			Home: home, Config: filepath.Join(roaming, "deft"), Data: filepath.Join(local, "data"),
			State: filepath.Join(local, "state"), Cache: filepath.Join(local, "cache"),
		}
	}
	return Dirs{
		Home: home, Config: filepath.Join(home, ".config", "deft"), Data: filepath.Join(home, ".local", "share", "deft"),
		State: filepath.Join(home, ".local", "state", "deft"), Cache: filepath.Join(home, ".cache", "deft"),
	}
}

func orElse(value, other string) string {
	if strings.TrimSpace(value) == "" {
		return other
	}
	return value
}
