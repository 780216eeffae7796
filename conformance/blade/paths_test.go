package blade

import (
	"testing"

	"github.com/deftskills/deft/session"
)

// reached reports whether a model may start a skill with the pattern in a session that
// touched the files.
func reached(t *testing.T, pattern string, files ...string) bool {
	t.Helper()
	d := define("x")
	d.Paths = []string{pattern}
	_, turn := talk(t, d)
	turn.Touch(files...)
	return len(start(t, turn, "x").Loaded) == 1
}

func TestBlade_H01_words(t *testing.T) {
	t.Parallel()
	want(t, "words", session.PathWords("main.py config.toml notes.md"), []string{"main.py", "config.toml", "notes.md"})
}

func TestBlade_H02_extension(t *testing.T) {
	t.Parallel()
	want(t, "reached", []bool{reached(t, "*.py", "main.py"), reached(t, "*.py", "main.go")}, []bool{true, false})
}

func TestBlade_H03_nested(t *testing.T) {
	t.Parallel()
	want(t, "reached", reached(t, "configs/**/*.toml", "configs/dev/app.toml"), true)
}

func TestBlade_H04_star_segment(t *testing.T) {
	t.Parallel()
	want(t, "reached", reached(t, "src/*", "src/a/b.ts"), false)
}

func TestBlade_H05_dot_files(t *testing.T) {
	t.Parallel()
	want(t, "reached", reached(t, "**/*", ".github/x.yml"), true)
}

func TestBlade_H06_punctuation(t *testing.T) {
	t.Parallel()
	want(t, "words", session.PathWords(`"src/a.ts", (src/a.ts)`), []string{"src/a.ts", "src/a.ts"})
}

func TestBlade_H07_clean(t *testing.T) {
	t.Parallel()
	want(t, "reached", []bool{reached(t, "src/a.ts", "./src/a.ts"), reached(t, "src/a.ts", `src\a.ts`)}, []bool{true, true})
}

func TestBlade_H08_absolute(t *testing.T) {
	t.Parallel()
	want(t, "reached", reached(t, "src/**", "/P/src/a.ts"), true)
}

func TestBlade_H09_outside(t *testing.T) {
	t.Parallel()
	want(t, "reached", reached(t, "src/**", "/Q/src/a.ts"), false)
}

func TestBlade_H10_no_candidates(t *testing.T) {
	t.Parallel()
	want(t, "reached", reached(t, "src/**"), false)
}

func TestBlade_H11_no_patterns(t *testing.T) {
	t.Parallel()
	want(t, "reached", reached(t, " "), true)
}
