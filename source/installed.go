package source

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/skill"
)

// RegisteredPlugin says for whom a version of an installed plugin is there.
type RegisteredPlugin struct {
	Name, Market, Version string
	Project               string // absolute root of the project; "" = the user's, everywhere
	Off                   bool   // its skills are listed as disabled
}

// InstalledPlugin is one version of a plugin below the data directory.
type InstalledPlugin struct {
	Name, Market, Version string // as the directories are called
	Dir                   string
	Use                   bool // its skills are read here
	Off                   bool // they are listed as disabled
	Removable             bool // nothing registers it, and another version is used
}

// pluginNames bounds how many names of one directory of plugins are looked at.
const pluginNames = 10_000

// InstalledPlugins returns what lies in plugins/NAME@MARKET/VERSION below the data
// directory, by name and then version. Of several versions one is used: the highest
// that is registered for this project, else for the user, else the highest on disk if
// none is registered at all. A version that only another project registers is never used.
func InstalledPlugins(e Env) ([]InstalledPlugin, []skill.Diagnostic) {
	data := DataDir(e)
	if data == "" {
		return nil, nil
	}
	root := filepath.Join(data, "plugins")
	folders, diags := directoriesOf(root)
	var out []InstalledPlugin
	for _, f := range folders {
		p := InstalledPlugin{Name: f}
		if at := strings.LastIndexByte(f, '@'); at > 0 {
			p.Name, p.Market = f[:at], f[at+1:]
		}
		p.Dir = filepath.Join(root, f)
		versions := []InstalledPlugin{p}
		if !looksLikePlugin(p.Dir) {
			names, more := directoriesOf(p.Dir)
			diags = append(diags, more...)
			versions = versions[:0]
			for _, v := range names {
				p.Version, p.Dir = v, filepath.Join(root, f, v)
				versions = append(versions, p)
			}
		}
		e.choose(versions)
		out = append(out, versions...)
	}
	return out, diags
}

// looksLikePlugin says whether a folder is itself a plugin, not one of versions.
func looksLikePlugin(dir string) bool {
	places := []string{"skills"}
	for _, f := range manifestFiles {
		places = append(places, f.file)
	}
	return slices.ContainsFunc(places, func(p string) bool {
		_, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(p)))
		return err == nil
	})
}

// directoriesOf returns the names of the directories in dir, sorted; links and names
// that begin with a dot, where work in progress lies, are left out.
func directoriesOf(dir string) ([]string, []skill.Diagnostic) {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []skill.Diagnostic{finding("root_unreadable", dir, "directory %q cannot be read: %v", dir, cause(err))}
	}
	defer f.Close()
	entries, err := f.ReadDir(pluginNames)
	var diags []skill.Diagnostic
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		diags = append(diags, finding("root_unreadable", dir, "directory %q cannot be read: %v", dir, cause(err)))
	case len(entries) == pluginNames:
		diags = append(diags, finding("limit_walk", dir, "directory %q holds %d names or more; the rest is not listed", dir, pluginNames))
	}
	var names []string
	for _, d := range entries {
		if d.IsDir() && !strings.HasPrefix(d.Name(), ".") {
			names = append(names, d.Name())
		}
	}
	slices.Sort(names)
	return names, diags
}

// choose marks what becomes of the versions of one plugin, and sorts them.
func (e Env) choose(versions []InstalledPlugin) {
	if len(versions) == 0 {
		return
	}
	slices.SortFunc(versions, func(a, b InstalledPlugin) int {
		return cmp.Or(skill.CompareVersions(a.Version, b.Version), strings.Compare(a.Version, b.Version))
	})
	here := map[string]bool{}
	for _, l := range Levels(e) {
		here[resolved(l)] = true
	}
	const nobody, user, project = 0, 1, 2
	claims := make([]int, len(versions))
	off := make([]bool, len(versions))
	any, referred := false, make([]bool, len(versions))
	for _, r := range e.Plugins {
		for i, v := range versions {
			if r.Name != v.Name || r.Market != v.Market {
				continue
			}
			any = true
			if r.Version != v.Version {
				continue
			}
			referred[i] = true
			claim := user
			if r.Project != "" {
				claim = nobody
				if here[resolved(filepath.Clean(r.Project))] {
					claim = project
				}
			}
			if claim > claims[i] {
				claims[i], off[i] = claim, r.Off
			}
		}
	}
	best := len(versions) - 1
	if any {
		best = -1
		for i, c := range claims {
			if c > nobody && (best < 0 || c >= claims[best]) {
				best = i
			}
		}
	}
	for i := range versions {
		v := &versions[i]
		v.Use, v.Off = i == best, i == best && off[i]
		v.Removable = !v.Use && !referred[i]
	}
}

// PluginRoots returns the sources of the installed plugins that count here, beside
// others: a plugin that is one of them already is left out. dirs are the existing
// directories in which a plugin or a version of one may appear, awaited is the one that
// all are in.
func PluginRoots(e Env, others []Source) (plugins []Source, diags []skill.Diagnostic, dirs []string, awaited string) {
	data := DataDir(e)
	if data == "" || implicit[e.Format.Dialect] != nil {
		return nil, nil, nil, ""
	}
	e.NoPlugins = false
	awaited = filepath.Join(data, "plugins")
	plugins, diags = e.pluginRoots()
	all := Distinct(slices.Concat(others, plugins))
	folders, _ := directoriesOf(awaited) // pluginRoots says what is wrong with it
	if st, err := os.Stat(awaited); err == nil && st.IsDir() {
		dirs = append(dirs, resolved(awaited))
	}
	for _, f := range folders {
		dirs = append(dirs, resolved(filepath.Join(awaited, f)))
	}
	return all[min(len(others), len(all)):], diags, dirs, awaited
}

// pluginRoots returns the sources of the installed plugins that count here.
func (e Env) pluginRoots() ([]Source, []skill.Diagnostic) {
	if e.NoPlugins {
		return nil, nil
	}
	installed, diags := InstalledPlugins(e)
	var out []Source
	for _, p := range installed {
		if p.Removable {
			diags = append(diags, finding("plugin_removable", p.Dir, "version %s of plugin %q is not used: another one counts", p.Version, p.Name))
		}
		if !p.Use {
			continue
		}
		o := e.pluginOptions(Info{Market: p.Market, Version: p.Version, Origin: "installed plugin " + p.Name})
		o.Off = p.Off
		src := Plugin(p.Dir, o)
		change := e.Overrides[src.Info().ID]
		if change.Priority != nil {
			src = WithPriority(src, *change.Priority)
		}
		if change.Off {
			src = changed(src, func(i *Info) { i.Off = PluginOff })
		}
		out = append(out, src)
	}
	return Distinct(out), diags
}

// pluginOptions returns what every plugin of this environment shares.
func (e Env) pluginOptions(i Info) PluginOptions {
	o := e.dirOptions(i)
	return PluginOptions{Info: i, Ignore: o.Ignore, Format: o.Format, Limits: o.Limits, Now: o.Now}
}

// Distinct returns the sources without plugins that come twice from one directory, and
// with ids that are unique among plugins: two that are called alike get the longer id
// plugin:NAME@MARKET, then one with their path.
func Distinct(list []Source) []Source {
	var out []Source
	ids, dirs := map[string]bool{}, map[string]bool{}
	for _, src := range list {
		i := src.Info()
		if i.Kind != PluginK || i.Path == "" {
			ids[i.ID] = true
			out = append(out, src)
			continue
		}
		dir := resolved(i.Path)
		if dirs[dir] {
			continue
		}
		dirs[dir] = true
		for _, id := range []string{i.ID, i.ID + "@" + i.Market, i.ID + ":" + i.Path} {
			if id != i.ID+"@" && !ids[id] {
				if id != i.ID {
					src = changed(src, func(c *Info) { c.ID = id })
				}
				ids[id] = true
				out = append(out, src)
				break
			}
		}
	}
	return out
}

// CompareVersions orders names of versions, as those of installed plugins are: by number,
// a pre-release before its release, what is no version before everything that is one.
func CompareVersions(a, b string) int { return skill.CompareVersions(a, b) }
