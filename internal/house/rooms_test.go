package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/deftskills/deft"

// mayImport is the import direction: a room imports only the rooms named here,
// and any of the small shared ones. A trailing "/..." stands for a tree.
var mayImport = map[string][]string{
	"skill":            {},
	"source":           {"skill"},
	"registry":         {"skill", "source"},
	"route":            {"skill", "source", "registry"},
	"search":           {"skill", "source", "registry"},
	"search/benchdata": {}, // texts for measurements
	"catalog":          {"skill", "source", "registry"},
	"gate":             {"skill"},
	"store":            {"skill", "gate", "store/blobs"},
	"store/storetest":  {"skill", "gate", "store", "store/blobs"},
	"internal/pgtest":  {},        // servers for tests
	"internal/s3test":  {},        // likewise
	"store/jobs":       {"store"}, // its tests make the schema
	"httpapi":          {"skill", "route", "store/jobs"},
	"command":          {"skill", "command/sandbox"},
	"command/sandbox":  {"skill"},
	"install/scan":     {"skill"},
	"store/blobs":      {"skill", "source"},
	"install":          {"store/blobs", "skill", "source", "store", "command", "install/..."},
	"install/archive":  {"skill"},
	"install/licence":  {"skill"},
	"install/fetch":    {"skill", "install/archive"},
	"install/merge3":   {},
	"install/plugin":   {"skill", "source", "command", "install/archive"},
	"session":          {"skill", "source", "registry", "gate", "command"},
	"toolset":          {"skill", "source", "registry", "session", "gate", "command", "command/sandbox"},
	"agent": {
		"skill", "source", "registry", "route", "catalog", "session", "toolset", "gate", "agent/model", "command",
	},
	"agent/model":   {}, // what every adapter speaks; it knows none of them
	"agent/model/*": {"agent/model"},
	"builtin":       {"skill"}, // reads what a shipped skill says of itself
	"": {
		"skill", "source", "registry", "route", "search", "catalog", "session", "toolset",
		"gate", "agent", "agent/model", "builtin", "command", "command/sandbox",
	},
	"mcpskills":      {"skill", "gate", "toolset"},
	"internal/evals": {"skill", "source", "registry", "route", "search"},
	"internal/config": {
		"skill", "source",
	},
	"internal/cli": {
		"", "skill", "source", "registry", "route", "search", "catalog", "session", "toolset",
		"gate", "agent", "agent/model", "agent/model/...", "builtin", "internal/evals", "internal/config",
		"internal/cli/text", "install", "install/archive", "install/fetch", "install/licence", "install/plugin", "store/blobs", "store", "store/jobs", "httpapi", "command", "command/sandbox", "install/scan", "mcpskills", "internal/telemetry",
	},
	"internal/telemetry": {}, // reads variables and sends; it knows no room
	"internal/cli/text":  {},
	"cmd/deft":           {"", "internal/cli", "store/blobs", "store/blobs3"}, // nobody else imports blobs3

	"store/blobs3":          {"skill", "store/blobs"},
	"store/blobs/blobstest": {"skill", "source", "store/blobs"},
}

// shared are the small packages that every room may import; they import no room.
var shared = []string{
	"internal/limits", "internal/fold", "internal/tokens", "internal/safetext",
	"internal/toolrule", "internal/atomicfile", "internal/clock", "internal/progress",
	"internal/lockfile", "internal/fault", "internal/dialled",
	"internal/packed", "internal/shellcmd", "internal/applog",
}

// testOnly are packages that only tests import.
var testOnly = []string{"search/benchdata", "internal/casetest", "internal/suitetest", "internal/modeltest", "internal/mcptest", "internal/race", "internal/house", "conformance/agentskills", "conformance/blade", "conformance/mastra", "conformance/minara", "conformance/minimax"}

// libraryModules is all that the library rooms may pull in, with the reason.
var libraryModules = map[string]string{
	"go.yaml.in/yaml/v3":               "headers outside the fast path",
	"github.com/yuin/goldmark":         "code regions of a body",
	"github.com/bmatcuk/doublestar/v4": "globs",
	"github.com/clipperhouse/uax29/v2": "grapheme clusters",
	"github.com/tiktoken-go/tokenizer": "token counts",
	"github.com/dlclark/regexp2/v2":    "the tokenizer's splitter",
	"github.com/google/jsonschema-go":  "arguments of tool calls",
	"mvdan.cc/sh/v3":                   "what a shell command would start",
	"golang.org/x/text":                "Unicode tables",
	"golang.org/x/sys":                 "opening files without following links",
	"github.com/fsnotify/fsnotify":     "changes of the watched directories",
	"golang.org/x/sync":                "bounded parallel reads",
}

type listed struct {
	ImportPath string
	Dir        string
	Standard   bool
	GoFiles    []string
	Imports    []string
	Deps       []string
	Module     *struct{ Path string }
}

func goList(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,Standard,GoFiles,Imports,Module"}, args...)...)
	cmd.Dir = root(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %v: %v\n%s", args, err, stderr.String())
	}
	var pkgs []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func room(importPath string) (string, bool) {
	if importPath == module {
		return "", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

func TestRoomsImportOnlyWhatStandsToTheirLeft(t *testing.T) {
	t.Parallel()
	for _, p := range goList(t, "./...") {
		from, _ := room(p.ImportPath)
		if slices.Contains(testOnly, from) || len(p.GoFiles) == 0 {
			continue
		}
		allowed, known := mayImport[from]
		if !known && path.Dir(from) == "agent/model" {
			allowed, known = mayImport["agent/model/*"], true
		}
		if slices.Contains(shared, from) {
			allowed, known = nil, true
		}
		if !known {
			t.Errorf("room %q is not in the table of import directions", from)
			continue
		}
		for _, imp := range p.Imports {
			to, ours := room(imp)
			if ours && !slices.Contains(shared, to) && !covered(allowed, to) {
				t.Errorf("%q imports %q: that is against the import direction", from, to)
			}
		}
	}
}

func covered(allowed []string, to string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		tree, isTree := strings.CutSuffix(a, "/...")
		return a == to || isTree && strings.HasPrefix(to, tree+"/")
	})
}

func TestLibraryPullsInNothingHeavy(t *testing.T) {
	t.Parallel()
	rooms := []string{"./skill", "./source", "./registry", "./route", "./search", "./catalog", "./session", "./gate", "./command", "./install/scan"}
	for _, p := range goList(t, append([]string{"-deps"}, rooms...)...) {
		if p.Standard || p.Module == nil || p.Module.Path == module {
			continue
		}
		if libraryModules[p.Module.Path] == "" {
			t.Errorf("the library pulls in %s of %s: no reason for it stands in the table", p.ImportPath, p.Module.Path)
		}
	}
}

func TestRootPackageLeavesAdaptersToTheProgram(t *testing.T) {
	t.Parallel()
	for _, p := range goList(t, "-deps", ".") {
		for _, heavy := range []string{"anthropic-sdk-go", "openai-go", "spf13/cobra", "jackc/pgx", "modernc.org/sqlite", "pressly/goose", "riverqueue", "minio/minio-go"} {
			if strings.Contains(p.ImportPath, heavy) {
				t.Errorf("package deft pulls in %s", p.ImportPath)
			}
		}
	}
}
