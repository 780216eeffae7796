package agentskills

import (
	"strings"
	"testing"

	"github.com/deftskills/deft/skill"
)

func TestEdgeName64Passes65Fails(t *testing.T) {
	t.Parallel()
	pass, fail := strings.Repeat("é", 64), strings.Repeat("é", 65)
	passes(t, verdict(pass, named(pass)))
	failsOnce(t, verdict(fail, named(fail)), "exceeds 64 character limit (65 chars)")
}

func TestEdgeDescription1024Passes1025Fails(t *testing.T) {
	t.Parallel()
	passes(t, verdict("x", header("name: x", "description: "+strings.Repeat("é", 1024))))
	failsOnce(t, verdict("x", header("name: x", "description: "+strings.Repeat("é", 1025))), "(1025 chars)")
}

func TestEdgeCompatibility500Passes501Fails(t *testing.T) {
	t.Parallel()
	passes(t, verdict("x", header("name: x", "description: d", "compatibility: "+strings.Repeat("😀", 500))))
	failsOnce(t, verdict("x", header("name: x", "description: d", "compatibility: "+strings.Repeat("😀", 501))), "(501 chars)")
}

func TestEdgeDescriptionUntrimmedLength(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 1020) + strings.Repeat(" ", 10)
	failsOnce(t, verdict("x", header("name: x", `description: "`+text+`"`)), "Description exceeds 1024 character limit (1030 chars)")
}

func TestEdgeNameTrimmed(t *testing.T) {
	t.Parallel()
	r := verdict("my-skill", header(`name: "  my-skill  "`, "description: d"))
	passes(t, r)
	if r.Properties.Name != "my-skill" {
		t.Errorf("%q", r.Properties.Name)
	}
}

func TestEdgeFullwidthName(t *testing.T) {
	t.Parallel()
	passes(t, verdict("skill", named("ｓｋｉｌｌ")))
}

func TestEdgeCombiningMark(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"हिन्दी", "ไทยมื้อ"} {
		r := verdict(name, named(name))
		failsOnce(t, r, "invalid characters")
		why := false
		for _, d := range r.Diagnostics {
			why = why || d.Code == "name_mark" && d.Level == skill.LevelInfo
		}
		if !why {
			t.Errorf("no name_mark: %+v", r.Diagnostics)
		}
	}
}

func TestEdgeTitlecaseDigraph(t *testing.T) {
	t.Parallel()
	// The compatibility form of these digraphs is two letters, so the directory
	// may be written either way.
	passes(t, verdict("ǆ", named("ǆ")))
	failsOnce(t, verdict("ǅ", named("ǅ")), "lowercase")
}

func TestEdgeDottedCapitalI(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("İstanbul", named("İstanbul")), "lowercase")
}

func TestEdgeSharpSAndFinalSigma(t *testing.T) {
	t.Parallel()
	passes(t, verdict("straße", named("straße")))
	passes(t, verdict("λόγος", named("λόγος")))
}

func invalidCharacters(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		failsOnce(t, verdict(name, header(`name: "`+name+`"`, "description: d")), "invalid characters")
	}
}

func TestEdgeEmojiAndZeroWidth(t *testing.T) {
	t.Parallel()
	invalidCharacters(t, "a😀", "a\u200Bb")
}

func TestEdgeBlankAndDotAndSlash(t *testing.T) {
	t.Parallel()
	invalidCharacters(t, "a b", "a.b", "a/b")
}

func TestEdgeLoneHyphen(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("-", header(`name: "-"`, "description: d")), "cannot start or end with a hyphen")
}

func TestEdgeTrailingHyphen(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("a-", named("a-")), "cannot start or end with a hyphen")
}

func TestEdgeSingleLetterAndLeadingDigit(t *testing.T) {
	t.Parallel()
	passes(t, verdict("a", named("a")))
	passes(t, verdict("1st", named("1st")))
}
