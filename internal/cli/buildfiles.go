package cli

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// maxBuildFile bounds what is read of one build file.
const maxBuildFile = 256 << 10

// buildCommand is one line that a person runs in a project.
type buildCommand struct{ what, line string }

// project is what the build files of a directory say.
type project struct {
	name     string
	kinds    []string // "Go module", …
	commands []buildCommand
	dirs     []string
}

// buildFiles says what each build file means. Order is order of the text.
var buildFiles = []struct {
	file, kind string
	read       func(p *project, dir, text string)
}{
	{"go.mod", "Go module", goModule},
	{"package.json", "Node package", nodePackage},
	{"pyproject.toml", "Python project", pythonProject},
	{"Cargo.toml", "Rust crate", fixed(`(?m)^name\s*=\s*"([^"]+)"`, buildCommand{"build", "cargo build"}, buildCommand{"test", "cargo test"}, buildCommand{"lint", "cargo clippy"})},
	{"pom.xml", "Maven project", fixed("", buildCommand{"build", "mvn package"}, buildCommand{"test", "mvn test"})},
	{"build.gradle", "Gradle project", fixed("", buildCommand{"build", "./gradlew build"}, buildCommand{"test", "./gradlew test"})},
	{"build.gradle.kts", "Gradle project", fixed("", buildCommand{"build", "./gradlew build"}, buildCommand{"test", "./gradlew test"})},
	{"CMakeLists.txt", "CMake project", fixed(`(?mi)^\s*project\(\s*([\w.-]+)`, buildCommand{"build", "cmake -B build && cmake --build build"}, buildCommand{"test", "ctest --test-dir build"})},
	{"composer.json", "PHP package", fixed(`"name"\s*:\s*"([^"]+)"`, buildCommand{"install", "composer install"})},
	{"Gemfile", "Ruby project", fixed("", buildCommand{"install", "bundle install"})},
	{"mix.exs", "Elixir project", fixed(`app:\s*:(\w+)`, buildCommand{"build", "mix compile"}, buildCommand{"test", "mix test"})},
	{"Makefile", "Makefile", targets("make")},
	{"justfile", "justfile", targets("just")},
}

// inspect reads the build files and the folders of dir. It looks at names that the
// table knows, opens regular files only, and never fails.
func inspect(dir string) project {
	var p project
	for _, b := range buildFiles {
		text, ok := readSmall(filepath.Join(dir, b.file))
		if !ok {
			continue
		}
		if !slices.Contains(p.kinds, b.kind) {
			p.kinds = append(p.kinds, b.kind)
		}
		b.read(&p, dir, text)
	}
	if p.name == "" {
		p.name = filepath.Base(dir)
	}
	p.dirs = folders(dir)
	return p
}

func readSmall(path string) (string, bool) {
	f, err := openRegular(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxBuildFile))
	return string(text), err == nil
}

func (p *project) named(name string) {
	if p.name == "" && plainWord.MatchString(name) {
		p.name = name
	}
}

func (p *project) add(what, line string) {
	for _, c := range p.commands {
		if c.line == line {
			return
		}
	}
	p.commands = append(p.commands, buildCommand{what, line})
}

// plainWord bounds what is copied from a build file into text that a model reads.
var plainWord = regexp.MustCompile(`^[@\w][\w./:@-]{0,99}$`)

func goModule(p *project, _, text string) {
	for line := range strings.Lines(text) {
		if module, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			p.named(strings.TrimSpace(module))
		}
	}
	p.add("build", "go build ./...")
	p.add("test", "go test ./...")
	p.add("lint", "go vet ./...")
}

func nodePackage(p *project, dir, text string) {
	var pkg struct {
		Name    string            `json:"name"`
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal([]byte(text), &pkg) != nil {
		return
	}
	p.named(pkg.Name)
	tool := "npm"
	for _, lock := range [][2]string{{"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lockb", "bun"}, {"bun.lock", "bun"}} {
		if _, err := os.Lstat(filepath.Join(dir, lock[0])); err == nil {
			tool = lock[1]
		}
	}
	p.add("install", tool+" install")
	for _, name := range usual(keys(pkg.Scripts)) {
		p.add(name, tool+" run "+name)
	}
}

func pythonProject(p *project, dir, text string) {
	if m := regexp.MustCompile(`(?m)^name\s*=\s*["']([^"']+)`).FindStringSubmatch(text); m != nil {
		p.named(m[1])
	}
	prefix := ""
	switch {
	case exists(filepath.Join(dir, "uv.lock")):
		p.add("install", "uv sync")
		prefix = "uv run "
	case strings.Contains(text, "[tool.poetry"):
		p.add("install", "poetry install")
		prefix = "poetry run "
	default:
		p.add("install", "pip install -e .")
	}
	if strings.Contains(text, "pytest") || exists(filepath.Join(dir, "tests")) {
		p.add("test", prefix+"pytest")
	}
	if strings.Contains(text, "[tool.ruff") {
		p.add("lint", prefix+"ruff check")
	}
}

// fixed is for tools whose commands are the same in every project.
func fixed(name string, commands ...buildCommand) func(*project, string, string) {
	return func(p *project, _, text string) {
		if name != "" {
			if m := regexp.MustCompile(name).FindStringSubmatch(text); m != nil {
				p.named(m[1])
			}
		}
		for _, c := range commands {
			p.add(c.what, c.line)
		}
	}
}

func targets(tool string) func(*project, string, string) {
	return func(p *project, _, text string) {
		var names []string
		for _, m := range regexp.MustCompile(`(?m)^([A-Za-z][\w-]*)(?:\s+[\w='"-]+)*\s*:(?:[^=]|$)`).FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		for _, name := range usual(names) {
			p.add(name, tool+" "+name)
		}
	}
}

// usual keeps the names that nearly every project gives the same meaning.
func usual(names []string) []string {
	var out []string
	for _, name := range []string{"install", "setup", "build", "test", "check", "lint", "fmt", "format", "dev", "start", "run"} {
		if slices.Contains(names, name) {
			out = append(out, name)
		}
	}
	return out
}

func keys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// folders lists at most 20 folders that hold the project's own work.
func folders(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	skip := []string{"node_modules", "vendor", "dist", "build", "target", "venv", "__pycache__", "bin", "out"}
	var out []string
	for _, e := range entries {
		if !e.IsDir() || e.Type()&fs.ModeSymlink != 0 || strings.HasPrefix(e.Name(), ".") ||
			slices.Contains(skip, e.Name()) || !plainWord.MatchString(e.Name()) || len(out) == 20 {
			continue
		}
		out = append(out, e.Name())
	}
	return out
}
