package minimax

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/builtin"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// nursery is a source of built-in skills on the disk and the folder they are seeded to.
type nursery struct {
	*world
	from, dir string
	o         builtin.SeedOptions
}

func newNursery(t *testing.T, skills ...string) *nursery {
	w := newWorld(t)
	n := &nursery{world: w, from: w.mkdir(w.root, "from"), dir: filepath.Join(w.data, ".builtin-skills")}
	for _, name := range skills {
		w.skill(filepath.Join(n.from, name))
	}
	n.o = builtin.SeedOptions{Dir: n.dir, Sources: []fs.FS{os.DirFS(n.from)}}
	return n
}

func (n *nursery) seed() builtin.Seeded {
	n.t.Helper()
	done, err := builtin.Seed(n.t.Context(), n.o)
	if err != nil {
		n.t.Fatal(err)
	}
	return done
}

// state lists everything below the seeded folder with size and time of change.
func (n *nursery) state() []string {
	var out []string
	err := filepath.WalkDir(n.data, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		out = append(out, p+" "+st.ModTime().Format(time.RFC3339Nano)+" "+st.Mode().String())
		return err
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return out
}

func (n *nursery) has(rel string) bool {
	_, err := os.Stat(filepath.Join(n.dir, filepath.FromSlash(rel)))
	return err == nil
}

func TestB01FirstStartSeeds(t *testing.T) {
	t.Parallel()
	n := newNursery(t)
	n.o.Sources = []fs.FS{builtin.FS()}
	done := n.seed()
	for _, name := range []string{"init", "skill-creator", "code-review"} {
		if !n.has(name+"/SKILL.md") || !slices.Contains(done.Skills, name) {
			t.Errorf("%s was not seeded", name)
		}
	}
	if !n.has(".seed-fingerprint") {
		t.Error("no marker")
	}
	wins(t, n.snapshot(), "init", filepath.Join(n.dir, "init"))
}

func TestB02SecondStartWritesNothing(t *testing.T) {
	t.Parallel()
	n := newNursery(t, "a", "b")
	if n.seed().Writes == 0 {
		t.Error("the first start wrote nothing")
	}
	before := n.state()
	if w := n.seed().Writes; w != 0 {
		t.Errorf("%d writes", w)
	}
	equal(t, "files", n.state(), before)
}

// changed seeds, lets a person add a file, changes one bundled byte and seeds again.
func changed(n *nursery) builtin.Seeded {
	n.seed()
	n.write(filepath.Join(n.dir, "a/mine.md"), "mine")
	n.write(filepath.Join(n.from, "a/SKILL.md"), text("a", "license: new"))
	return n.seed()
}

func TestB03ChangedFingerprintWipes(t *testing.T) {
	t.Parallel()
	n := newNursery(t, "a", "b")
	changed(n)
	if n.has("a/mine.md") || !n.has("b/SKILL.md") {
		t.Error("the folder was not written anew")
	}
	got, err := os.ReadFile(filepath.Join(n.dir, "a/SKILL.md"))
	if err != nil || string(got) != text("a", "license: new") {
		t.Errorf("%q %v", got, err)
	}
}

func TestB03ChangedFingerprintWipesDeft(t *testing.T) {
	t.Parallel()
	n := newNursery(t, "a", "b")
	n.o.Backup = filepath.Join(n.data, "backup")
	done := changed(n)
	kept, err := os.ReadFile(filepath.Join(done.Backup, "a/mine.md"))
	if err != nil || string(kept) != "mine" || n.has("a/mine.md") || filepath.Dir(done.Backup) != n.o.Backup {
		t.Errorf("%q %v: %+v", kept, err, done)
	}
}

func TestB04EditInPlaceSurvivesUntilChange(t *testing.T) {
	t.Parallel()
	n := newNursery(t, "a")
	n.seed()
	mine := n.write(filepath.Join(n.dir, "a/SKILL.md"), "mine")
	n.seed()
	if got, err := os.ReadFile(mine); err != nil || string(got) != "mine" {
		t.Errorf("%q %v", got, err)
	}
}

func TestB05MissingDirectoryReseeds(t *testing.T) {
	t.Parallel()
	n := newNursery(t, "a", "b")
	n.seed()
	mine := n.write(filepath.Join(n.dir, "b/SKILL.md"), "mine")
	if err := os.RemoveAll(filepath.Join(n.dir, "a")); err != nil {
		t.Fatal(err)
	}
	n.seed()
	if got, err := os.ReadFile(mine); err != nil || string(got) == "mine" || !n.has("a/SKILL.md") {
		t.Errorf("not all was written again: %q %v", got, err)
	}
}

func TestB06MarkerLast(t *testing.T) {
	t.Parallel()
	n := newNursery(t, "a", "b")
	tree := &trapped{FS: os.DirFS(n.from), name: "a/SKILL.md", open: func() error { return errors.New("broken") }}
	n.o.Sources = []fs.FS{tree}
	for range 2 {
		done := n.seed()
		if n.has(".seed-fingerprint") || !n.has("b/SKILL.md") || len(done.Failed) != 1 || done.Writes == 0 {
			t.Errorf("%+v", done)
		}
	}
	tree.open = nil
	if done := n.seed(); len(done.Failed) > 0 || !n.has(".seed-fingerprint") || !n.has("a/SKILL.md") {
		t.Errorf("%+v", done)
	}
}

func TestB07LeftoversRemoved(t *testing.T) {
	t.Parallel()
	n := newNursery(t, "a")
	n.seed()
	left := []string{".seed-manifest.json", "x.seed-backups", "y.tmp-seed1"}
	for _, name := range left {
		n.write(filepath.Join(n.dir, name), "")
	}
	n.mkdir(n.data, ".builtin-skills.tmp-seed7", "a")
	other := n.mkdir(n.data, "mine.tmp-seed1")
	n.seed()
	for _, name := range append(left, "../.builtin-skills.tmp-seed7") {
		if n.has(name) {
			t.Errorf("%s is still there", name)
		}
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a folder of somebody else is gone: %v", err)
	}
}

func TestB08FirstSourceWinsPerName(t *testing.T) {
	t.Parallel()
	n := newNursery(t, "a")
	second := n.mkdir(n.root, "second")
	n.write(filepath.Join(second, "a/SKILL.md"), text("a", "license: second"))
	n.skill(filepath.Join(second, "b"))
	n.o.Sources = append(n.o.Sources, os.DirFS(filepath.Join(n.root, "absent")), os.DirFS(second))
	equal(t, "skills", n.seed().Skills, []string{"a", "b"})
	if got, err := os.ReadFile(filepath.Join(n.dir, "a/SKILL.md")); err != nil || string(got) != text("a") {
		t.Errorf("%q %v", got, err)
	}
}

func TestB09NoReadableSource(t *testing.T) {
	t.Parallel()
	n := newNursery(t, "a")
	n.seed()
	before := n.state()
	n.o.Sources = []fs.FS{os.DirFS(filepath.Join(n.root, "absent"))}
	n.seed()
	equal(t, "files", n.state(), before)
}

func TestB10BuildAndRunFingerprintsAgree(t *testing.T) {
	t.Parallel()
	built, err := builtin.Built()
	if err != nil {
		t.Fatal(err)
	}
	now, err := builtin.Fingerprint(builtin.FS())
	if err != nil || !reflect.DeepEqual(built, now) {
		t.Errorf("%+v\n%+v %v", built, now, err)
	}
	n := newNursery(t)
	n.o.Sources = []fs.FS{builtin.FS()}
	is(t, "marker", n.seed().Fingerprint, built.Combined)
}

func sum(s string) string {
	d := sha256.Sum256([]byte(s))
	return hex.EncodeToString(d[:])
}

func TestB11FingerprintDetails(t *testing.T) {
	t.Parallel()
	n := newNursery(t, "a")
	print := func() builtin.Fingerprints {
		t.Helper()
		f, err := builtin.Fingerprint(os.DirFS(n.from))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	script := n.write(filepath.Join(n.from, "a/run.sh"), "#!/bin/sh\n")
	plain := print()
	// Paths, contents and execute bits, spelt out.
	skillLine := "SKILL.md\x00" + sum(text("a")) + "\x000"
	is(t, "aggregate", plain.Skills["a"], sum(skillLine+"\nrun.sh\x00"+sum("#!/bin/sh\n")+"\x000"))
	is(t, "combined", plain.Combined, sum("v1\x00a\x00"+plain.Skills["a"]))
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && print().Combined == plain.Combined {
		t.Error("the execute bit makes no difference")
	}
	before := print()
	n.mkdir(n.from, "a", "empty")
	if print().Combined != before.Combined {
		t.Error("an empty directory makes a difference")
	}
	n.link(n.write(filepath.Join(n.root, "target"), "text"), filepath.Join(n.from, "a/linked.md"))
	through := print()
	if err := os.Remove(filepath.Join(n.from, "a/linked.md")); err != nil {
		t.Fatal(err)
	}
	n.write(filepath.Join(n.from, "a/linked.md"), "text")
	if print().Combined != through.Combined {
		t.Error("a linked file is not read through")
	}
	n.link(n.mkdir(n.root, "targets"), filepath.Join(n.from, "a/dir"))
	n.skill(filepath.Join(n.from, "b"))
	if done := n.seed(); len(done.Failed) != 1 || done.Failed["a"] == "" || !n.has("b/SKILL.md") || n.has("a") {
		t.Errorf("%+v", done)
	}
}

func TestB12RetiredNotSeeded(t *testing.T) {
	t.Parallel()
	n := newNursery(t, "a")
	n.write(filepath.Join(n.from, "old/SKILL.md"), text("old", "retired: true"))
	equal(t, "skills", n.seed().Skills, []string{"a"})
	if n.has("old") {
		t.Error("a retired skill was seeded")
	}
}

// offered reports whether a host with these tools offers a skill.
func offered(id string, tools []string) bool {
	return builtin.Gate{Host: builtin.Host{Tools: tools, MiniMax: true}}.Allows(id)
}

func TestB13GateByTools(t *testing.T) {
	t.Parallel()
	rows := map[string]string{
		"code-review": "read", "deep-research": "read write todowrite webSearch", "deploy-website": "read write bash website_deploy",
		"edit-deployed-website": "read edit bash website_deploy", "skill-refiner": "read edit", "visual-page": "write", "x-link-reader": "web_fetch",
	}
	for _, id := range []string{"docx", "pdf", "pptx", "xlsx", "init", "plugin-creator", "skill-creator"} {
		rows[id] = "read write bash"
	}
	for _, id := range []string{"lark-tools", "llm-call", "mcode-tools-master", "mavis-doctor"} {
		rows[id] = "bash"
	}
	for id, list := range rows {
		tools := strings.Fields(list)
		if !offered(id, tools) || !offered(id, nil) {
			t.Errorf("%s is not offered with its tools, or with an undefined list", id)
		}
		for i := range tools {
			if offered(id, slices.Delete(slices.Clone(tools), i, i+1)) {
				t.Errorf("%s is offered without %s", id, tools[i])
			}
		}
	}
	for _, one := range []string{"web_fetch", "bash"} {
		if !offered("deep-research", []string{"read", "write", "todowrite", one}) {
			t.Errorf("deep-research is not offered with %s", one)
		}
	}
	// In deft the two that write need no shell.
	if !(builtin.Gate{Host: builtin.Host{Tools: []string{"read", "write"}}}).Allows("init") {
		t.Error("deft asks for bash")
	}
	if code, _ := (builtin.Gate{}).Blocks("mavis"); code != "" {
		t.Error("deft gates a name that it does not ship")
	}
}

func TestB14RegionGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill(filepath.Join(w.root, "bundle/skills/x-link-reader"))
	for region, want := range map[string]bool{"cn": false, "CN": false, "us": true, "": true} {
		w.config.Filters.Gate = builtin.Gate{Host: builtin.Host{Region: region, MiniMax: true}}
		s := w.snapshot()
		if got := available(s, "x-link-reader") != nil; got != want {
			t.Errorf("region %q: shown %v", region, got)
		}
		if !want && s.All[0].Reasons[0].Code != "region" {
			t.Errorf("%v", s.All[0].Reasons)
		}
	}
}

var owned = []string{"resume-codex", "cu-desktop", "miniapp-creator", "mavis", "create-agent", "minimax-code-product"}

func TestB15CapabilityOwned(t *testing.T) {
	t.Parallel()
	for _, id := range owned {
		off := builtin.Gate{Host: builtin.Host{MiniMax: true}}
		on := builtin.Gate{Host: builtin.Host{Features: []string{id}, MiniMax: true}}
		if off.Allows(id) || !on.Allows(id) {
			t.Errorf("%s does not follow its switch", id)
		}
		if _, err := builtin.Selection([]string{id}, true); err == nil {
			t.Errorf("%s can be selected in a strict agent file", id)
		}
		if got, err := builtin.Selection([]string{id}, false); err != nil || len(got) != 1 {
			t.Errorf("%v %v", got, err)
		}
	}
}

func TestB16CliProfile(t *testing.T) {
	t.Parallel()
	cli := builtin.Gate{Host: builtin.Host{Profile: "cli", Tools: []string{"read", "write", "bash"}, MiniMax: true}}
	for id, want := range map[string]bool{"resume-codex": true, "mavis-doctor": false, "plugin-creator": false, "minimax-code-product": false, "init": true} {
		if cli.Allows(id) != want {
			t.Errorf("cli: %s %v", id, !want)
		}
	}
	cli.Host.Tools = []string{"read"}
	if cli.Allows("resume-codex") {
		t.Error("cli: resume-codex without bash")
	}
	if (builtin.Gate{Host: builtin.Host{Profile: "desktop", MiniMax: true}}).Allows("resume-codex") {
		t.Error("desktop: resume-codex")
	}
}

func TestB17GateExemptsUserCopies(t *testing.T) {
	t.Parallel()
	for dir, usable := range map[string]bool{
		"repo/.minimax/skills": true, "home/.claude/skills": true, "data/skills": true,
		"data/agents/mavis/skills": false, "bundle/skills": false, "data/.builtin-skills": false,
	} {
		w := newWorld(t)
		w.config.Filters.Gate = builtin.Gate{Host: builtin.Host{Tools: []string{}, MiniMax: true}}
		w.skill(filepath.Join(w.root, dir, "docx"))
		if got := available(w.snapshot(), "docx") != nil; got != usable {
			t.Errorf("%s: usable %v", dir, got)
		}
	}
}

func TestB18UnknownIdGated(t *testing.T) {
	t.Parallel()
	if (builtin.Gate{}).Allows("nobody-knows") {
		t.Error("an unknown id is offered")
	}
}

func TestB19SelectionList(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ list, want []string }{
		{nil, nil}, {[]string{}, []string{}}, {[]string{"docx", "nobody-knows"}, nil}, {[]string{"docx", "plan-mode"}, []string{"docx"}},
	} {
		got, err := builtin.Selection(row.list, false)
		if err != nil || !reflect.DeepEqual(got, row.want) {
			t.Errorf("%v: %v %v", row.list, got, err)
		}
	}
	w := newWorld(t)
	w.skill(filepath.Join(w.root, "bundle/skills/docx"))
	w.skill(filepath.Join(w.root, "bundle/skills/pdf"))
	for want, list := range map[string][]string{"docx pdf": nil, "": {}, "pdf": {"pdf"}} {
		w.config.Filters.Selected = list
		is(t, "shown", strings.Join(names(w.snapshot()), " "), want)
	}
}

func TestB20BuildExclusionList(t *testing.T) {
	t.Parallel()
	six := []string{"create-agent", "mavis", "mavis-doctor", "mavis-team", "miniapp-creator", "plugin-creator"}
	equal(t, "excluded", builtin.Excluded(), six)
	n := newNursery(t, append(slices.Clone(six), "other")...)
	equal(t, "seeded", n.seed().Skills, []string{"other"})
	for _, id := range six {
		if _, err := fs.Stat(builtin.FS(), id); err == nil {
			t.Errorf("%s is bundled", id)
		}
		if n.has(id) || !builtin.Known(id) {
			t.Errorf("%s: seeded, or gone from the table", id)
		}
	}
}

func TestB21SkillCreatorNamesThePlaces(t *testing.T) {
	t.Parallel()
	n := newNursery(t)
	n.o.Sources = []fs.FS{builtin.FS()}
	n.seed()
	file, err := os.ReadFile(filepath.Join(n.dir, "skill-creator/SKILL.md"))
	if err != nil {
		t.Fatal(err)
	}
	said := skill.ExpandDataDir(string(file), n.data, skill.MiniMax)
	for _, place := range []string{n.data + "/skills/NAME/SKILL.md", n.data + "/agents/AGENT/skills/", ".minimax/skills/NAME/SKILL.md"} {
		if !strings.Contains(said, place) {
			t.Errorf("the text does not name %s", place)
		}
	}
}

var _ registry.Gate = builtin.Gate{}
