//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/tidwall/gjson"

	"github.com/deftskills/deft/internal/cli"
	"github.com/deftskills/deft/internal/fault"
	"github.com/deftskills/deft/internal/mcptest"
	"github.com/deftskills/deft/internal/modeltest"
	"github.com/deftskills/deft/internal/pgtest"
	"github.com/deftskills/deft/internal/race"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"deft": armed, "mcpserver": toolServer})
}

// toolServer is the server of tools that its first argument names; see mcptest.
func toolServer() {
	if err := mcptest.Serve(os.Args[1], os.Args[2:], mcptest.Ends{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}); err != nil {
		panic(err)
	}
}

// armed is the program with the failpoint of DEFT_FAULT, which the program itself
// does not know.
func armed() {
	if spec := os.Getenv("DEFT_FAULT"); spec != "" {
		if _, err := fault.Arm(spec); err != nil {
			panic(err)
		}
	}
	main()
}

// TestStories runs every story below testdata/script with the real program. A story
// has a home of its own and no other configuration, key or network.
//
// Commands beside the standard ones:
//
//	exits CODE PROGRAM ARGS…     runs it and wants that exit code
//	json FILE PATH [VALUE]       the value at a gjson path; ! wants it absent or other
//	jsonschema FILE NAME         FILE against internal/cli/schema/NAME.json
//	case NNN                     copies testdata/cases/NNN-* here, runs make.sh, and
//	                             makes tree/home the home and tree/project the folder
//	repeat N DIR                 N skills of other people in DIR
//	fifo PATH                    a named pipe
//	lines FILE N                 at most N lines of at most 80 columns
//	queries FILE                 each line "query TAB skill": the skill is found first
//	budgets FROM TO              the catalog under each budget in bytes is whole text
//	serve FILE                   a model server that plays the file's steps; sets the
//	                             addresses and keys of every provider
//	collect                      a receiver of spans and figures, into otlp/
//	waitasked                    until the server has been asked something
//	asked PATTERN                some request to the server matches; ! none does
//	rows [KIND]                  decisions of the gate, or other entries of deft audit,
//	                             that are new since the last rows: lines of JSON in
//	                             $WORK/rows
//	patch FILE OLD NEW           every OLD in FILE becomes NEW, of the same length
//	talk PROGRAM ARGS…           starts it beside the story, with a pipe for its input
//	say TEXT                     writes it a line
//	hear PATTERN                 waits until what it writes matches, from where the
//	                             last hear ended
//	heard N PATTERN              it wrote that N times so far
//	slay                         kills it
//	terminate                    sends it the signal that ends it in order
//	interrupt                    does to it what Ctrl-C does
//	repositories DIR             a git server over https for what lies below; sets $REPOS
//	web DIR [SETTING…]           an https server for the files below; sets $WEB
//	served DIR                   the skills below over MCP and https; sets $WEB
//	sign FILE                    deft.sig beside it; sets $KEY
//	npmpublish SITE DIR NAME V   a package in the registry npm of such a server
//	settle [SETTING…]            settings with which deft reaches both, and more
//	bye CODE                     ends its input and wants that exit code
func TestStories(t *testing.T) {
	t.Parallel()
	params := stories()
	params.Dir = filepath.Join("..", "..", "testdata", "script")
	if race.Enabled {
		params.Files, params.Dir = racing(t, params.Dir), ""
	}
	testscript.Run(t, params)
}

// racing are the stories that the race detector sees: those with a program that runs beside
// others, and a fourth of the rest, which are runs of the program one after the other. The
// ordinary run has all of them.
func racing(t *testing.T, dir string) (files []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(all) == 0 {
		t.Fatalf("stories: %q, %v", all, err)
	}
	for i, file := range all {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("\nhear ")) || i%4 == 0 && !strings.HasPrefix(filepath.Base(file), "case_") {
			files = append(files, file)
		}
	}
	return files
}

// TestStoriesOnPostgreSQL runs the stories of testdata/script/postgres, and those of what
// a person decides once more, with the state in a database of a server. $DEFT_DB is its
// address, with a password, and $DB is what is shown of it. One more command there:
//
//	postgres start|stop   a server of the story's own, which $DEFT_DB names from then on
func TestStoriesOnPostgreSQL(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "testdata", "script")
	files, err := filepath.Glob(filepath.Join(dir, "postgres", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("stories: %q, %v", files, err)
	}
	_ = pgtest.URL(t) // skips once, not in every story
	params := stories()
	params.Files = append(files, filepath.Join(dir, "switches.txtar"), filepath.Join(dir, "follow.txtar"), filepath.Join(dir, "minimax_switch.txtar"), filepath.Join(dir, "alert.txtar"))
	setup := params.Setup
	params.Setup = func(env *testscript.Env) error {
		u, err := url.Parse(pgtest.URL(t))
		if err != nil {
			return err
		}
		u.User = url.UserPassword("deft", "hush")
		env.Setenv("DEFT_DB", u.String())
		env.Setenv("DB", strings.Replace(u.String(), "hush", "***", 1))
		env.Values[postgresKey{}] = &ownServer{}
		return setup(env)
	}
	params.Cmds["postgres"] = func(ts *testscript.TestScript, neg bool, args []string) { postgres(t, ts, neg, args) }
	testscript.Run(t, params)
}

type (
	postgresKey struct{}
	ownServer   struct{ *pgtest.Server }
)

func postgres(t *testing.T, ts *testscript.TestScript, neg bool, args []string) {
	t.Helper()
	want(ts, !neg && len(args) == 1 && (args[0] == "start" || args[0] == "stop"), "postgres start|stop")
	own := ts.Value(postgresKey{}).(*ownServer)
	switch {
	case args[0] == "stop":
		own.Stop()
	case own.Server != nil:
		own.Start()
	default:
		own.Server = pgtest.New(t)
		ts.Setenv("DEFT_DB", own.URL())
	}
}

// stories are the surroundings of every story.
func stories() testscript.Params {
	return testscript.Params{
		RequireExplicitExec: false,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_STORIES") != "",
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("LANG", "C.UTF-8")
			env.Setenv(atOnce())
			box := &modelServer{}
			env.Values[serverKey{}] = box
			env.Values[rowsKey{}] = &seenRows{map[string]bool{}}
			setUpTalk(env)
			env.Defer(func() {
				if box.server != nil {
					box.server.Close()
				}
			})
			return os.MkdirAll(home, 0o755)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "json": jsonValue, "jsonschema": jsonSchema, "case": useCase,
			"repeat": repeat, "fifo": fifo, "lines": lines, "queries": queries, "budgets": budgets,
			"serve": serve, "collect": collect, "asked": asked, "waitasked": waitAsked, "rows": rows, "patch": patch,
			"talk": startTalk, "say": say, "hear": hear, "heard": heard, "bye": bye, "slay": slay, "terminate": terminate,
			"repositories": repositories, "web": web, "sign": sign, "served": shelved, "npmpublish": npmPublish, "settle": settle, "interrupt": interrupt,
		},
	}
}

func want(ts *testscript.TestScript, ok bool, use string) {
	if !ok {
		ts.Fatalf("usage: %s", use)
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, !neg && len(args) > 1, "exits CODE PROGRAM ARGS…")
	code, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%s: %v", args[1], err)
	}
	if got != code {
		ts.Fatalf("exit code %d, want %d", got, code)
	}
}

func jsonValue(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, len(args) == 2 || len(args) == 3, "json FILE PATH [VALUE]")
	text := ts.ReadFile(args[0])
	if !gjson.Valid(text) {
		ts.Fatalf("%s is not one JSON document:\n%s", args[0], text)
	}
	value := gjson.Get(text, args[1])
	got := value.String()
	if value.IsArray() || value.IsObject() {
		got = gjson.Get(text, args[1]+"|@ugly").Raw
	}
	switch {
	case len(args) == 2 && value.Exists() == neg:
		ts.Fatalf("%s exists: %v: %s", args[1], value.Exists(), value.Raw)
	case len(args) == 2 && !neg:
		_, err := io.WriteString(ts.Stdout(), got+"\n")
		ts.Check(err)
	case len(args) == 3 && (got == args[2]) == neg:
		ts.Fatalf("%s is %q (%s)", args[1], got, value.Raw)
	}
}

func jsonSchema(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, !neg && len(args) == 2, "jsonschema FILE NAME")
	data, err := os.ReadFile(filepath.Join(root(ts), "internal", "cli", "schema", args[1]+".json"))
	ts.Check(err)
	var schema jsonschema.Schema
	ts.Check(json.Unmarshal(data, &schema))
	resolved, err := schema.Resolve(nil)
	ts.Check(err)
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	var value any
	ts.Check(dec.Decode(&value))
	if dec.More() {
		ts.Fatalf("%s holds more than one document", args[0])
	}
	ts.Check(resolved.Validate(value))
}

// root is the repository's directory.
func root(ts *testscript.TestScript) string {
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	ts.Check(err)
	return dir
}

func useCase(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, !neg && len(args) == 1 && regexp.MustCompile(`^\d{3}$`).MatchString(args[0]), "case NNN")
	found, err := filepath.Glob(filepath.Join(root(ts), "testdata", "cases", args[0]+"-*"))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("case %s: %d folders", args[0], len(found))
	}
	dir := ts.MkAbs("case")
	ts.Check(os.CopyFS(dir, os.DirFS(found[0])))
	if _, err := os.Stat(filepath.Join(dir, "make.sh")); err == nil {
		c := exec.Command("sh", "make.sh")
		c.Dir = dir
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := c.CombinedOutput(); err != nil {
			ts.Fatalf("make.sh: %v\n%s", err, out)
		}
	}
	home, project := filepath.Join(dir, "tree", "home"), filepath.Join(dir, "tree", "project")
	ts.Check(os.MkdirAll(home, 0o755))
	ts.Check(os.MkdirAll(project, 0o755))
	ts.Setenv("HOME", home)
	ts.Check(ts.Chdir(project))
}

func repeat(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, !neg && len(args) == 2, "repeat N DIR")
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	subjects := []string{"invoices", "orchids", "timetables", "recipes", "violins", "tides", "stamps", "kites", "bridges", "maps"}
	for i := range n {
		name := fmt.Sprintf("foreign-%04d", i)
		dir := filepath.Join(ts.MkAbs(args[1]), name)
		ts.Check(os.MkdirAll(dir, 0o755))
		var b bytes.Buffer
		fmt.Fprintf(&b, "---\nname: %s\ndescription: Sorts %s of shelf %d by colour.\n---\n\n# Shelf %d\n\nPut every one of the %s in its drawer.\n",
			name, subjects[i%len(subjects)], i, i, subjects[i%len(subjects)])
		ts.Check(os.WriteFile(filepath.Join(dir, "SKILL.md"), b.Bytes(), 0o644))
	}
}

// lines FILE N wants at most N lines, none wider than 80 columns.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, !neg && len(args) == 2, "lines FILE N")
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	got := strings.Split(strings.TrimRight(ts.ReadFile(args[0]), "\n"), "\n")
	if len(got) > n {
		ts.Fatalf("%d lines, at most %d wanted", len(got), n)
	}
	for _, line := range got {
		if len([]rune(line)) > 80 {
			ts.Fatalf("wider than 80 columns: %s", line)
		}
	}
}

// deft runs the program in this process, with the story's folder and environment.
func deft(ts *testscript.TestScript, args ...string) (cli.Exit, string) {
	var out, errText bytes.Buffer
	exit := cli.Run(context.Background(), cli.Process{
		Args: args, Environ: []string{"HOME=" + ts.Getenv("HOME")}, Dir: ts.MkAbs("."), GOOS: runtime.GOOS,
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errText, Now: time.Now,
	})
	return exit, out.String()
}

func queries(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, !neg && len(args) == 1, "queries FILE")
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		query, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		name, top3 := strings.CutSuffix(name, " (top 3)")
		_, out := deft(ts, "search", "--json", "--trust-project", query)
		found := gjson.Get(out, "hits.#.skill").Array()
		at := slices.IndexFunc(found, func(r gjson.Result) bool { return r.String() == name })
		if at < 0 || at > 0 && !top3 || at > 2 {
			ts.Fatalf("%q: %s is at place %d of %v", query, name, at+1, found)
		}
	}
}

func budgets(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, !neg && len(args) == 2, "budgets FROM TO")
	from, err := strconv.Atoi(args[0])
	ts.Check(err)
	to, err := strconv.Atoi(args[1])
	ts.Check(err)
	shown := 0
	for n := from; n <= to; n++ {
		_, out := deft(ts, "catalog", "--json", "--trust-project", "--unit", "bytes", "--budget", strconv.Itoa(n))
		text := gjson.Get(out, "text").String()
		if !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
			ts.Fatalf("budget %d: broken text %q", n, text)
		}
		sum := 0
		for _, c := range gjson.Get(out, "entries.#.shown_chars").Array() {
			sum += int(c.Int())
		}
		if sum < shown {
			ts.Fatalf("budget %d shows %d characters, a smaller one %d", n, sum, shown)
		}
		shown = sum
	}
	if shown == 0 {
		ts.Fatalf("nothing was ever shown")
	}
}

// serverKey is where a story keeps its model server.
type serverKey struct{}

func serve(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, !neg && len(args) == 1, "serve FILE")
	steps, err := modeltest.Parse([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	box := ts.Value(serverKey{}).(*modelServer)
	if box.server != nil {
		box.server.Close()
	}
	box.server = modeltest.NewServer(steps...)
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": box.server.Anthropic(),
		"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": box.server.OpenAI(),
		"OPENAI_COMPATIBLE_BASE_URL": box.server.OpenAI(),
	} {
		ts.Setenv(name, value)
	}
}

// modelServer is the server of one story, nil until it is started.
type modelServer struct{ server *modeltest.Server }

func asked(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, len(args) == 1, "asked PATTERN")
	pattern, err := regexp.Compile(args[0])
	ts.Check(err)
	found := slices.ContainsFunc(ts.Value(serverKey{}).(*modelServer).server.Requests(), func(r modeltest.Request) bool {
		return pattern.Match(r.Body)
	})
	if found == neg {
		ts.Fatalf("a request matches %q: %v", args[0], found)
	}
}

func waitAsked(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, !neg && len(args) == 0, "waitasked")
	select {
	case <-ts.Value(serverKey{}).(*modelServer).server.Asked():
	case <-time.After(time.Minute):
		ts.Fatalf("nobody asks")
	}
}

// atOnce keeps the race detector from sleeping for a second at the end of every program
// that a test starts. It is a setting of the detector; other programs leave it alone.
func atOnce() (name, value string) { return "GORACE", "atexit_sleep_ms=0" }
