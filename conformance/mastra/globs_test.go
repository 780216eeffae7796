package mastra

import (
	"testing"
	"time"
)

func TestW061_GlobFindsRootsAtSeveralDepths(t *testing.T) {
	t.Parallel()
	listed(t, []string{"**/skills"}, []string{"skills/a", "x/skills/b", "x/y/skills/c"}, []string{"skills/a", "x/skills/b", "x/y/skills/c"})
}

func TestW062_PlainPathsAreUnaffected(t *testing.T) {
	t.Parallel()
	listed(t, []string{"skills"}, []string{"skills/a", "x/skills/b"}, []string{"skills/a"})
}

func TestW063_NoMatchIsEmpty(t *testing.T) {
	t.Parallel()
	listed(t, []string{"**/nothing"}, []string{"skills/a"}, nil)
}

func TestW064_PlainAndGlobAreAUnion(t *testing.T) {
	t.Parallel()
	listed(t, []string{"one", "x/**/skills"}, []string{"one/a", "x/y/skills/b"}, []string{"one/a", "x/y/skills/b"})
}

func TestW065_DotDirectoriesMatch(t *testing.T) {
	t.Parallel()
	listed(t, []string{"**/skills"}, []string{".agents/skills/a"}, []string{".agents/skills/a"})
}

func TestW066_MissingBaseIsEmpty(t *testing.T) {
	t.Parallel()
	listed(t, []string{"nowhere/**/skills"}, []string{"skills/a"}, nil)
}

func TestW067_LeadingDotSlashOfAGlob(t *testing.T) {
	t.Parallel()
	listed(t, []string{"./**/skills"}, []string{"x/skills/a"}, []string{"x/skills/a"})
}

func TestW068_DoubledStars(t *testing.T) {
	t.Parallel()
	listed(t, []string{"**/**/skills"}, []string{"x/skills/a"}, []string{"x/skills/a"})
}

func TestW069_FiveBelowTheBaseIsNotFound(t *testing.T) {
	t.Parallel()
	listed(t, []string{"**/skills"}, []string{"a/b/c/d/skills/x"}, nil)
}

func TestW070_DepthCountsFromTheBase(t *testing.T) {
	t.Parallel()
	listed(t, []string{"g/**/skills"}, []string{"g/a/b/c/skills/x", "g/a/b/c/d/skills/y"}, []string{"g/a/b/c/skills/x"})
}

func TestW071_EverythingBelowARoot(t *testing.T) {
	t.Parallel()
	listed(t, []string{"skills/**"}, []string{"skills/a", "skills/b"}, []string{"skills/a", "skills/b"})
}

func TestW072_EverythingBelowAnyRoot(t *testing.T) {
	t.Parallel()
	listed(t, []string{"**/skills/**"}, []string{"x/skills/a", "skills/b"}, []string{"skills/b", "x/skills/a"})
}

func TestW073_TheFileCountsAsAComponent(t *testing.T) {
	t.Parallel()
	listed(t, []string{"**/SKILL.md"}, []string{"a/b/x", "a/b/c/y"}, []string{"a/b/x"})
}

func TestW074_FilesBelowARootAndALevelDeeper(t *testing.T) {
	t.Parallel()
	listed(t, []string{"skills/**/SKILL.md"}, []string{"skills/a", "skills/group/b"}, []string{"skills/a", "skills/group/b"})
}

func TestW075_GlobOfOneFile(t *testing.T) {
	t.Parallel()
	listed(t, []string{"skill[s]/a/SKILL.md"}, []string{"skills/a", "skills/b"}, []string{"skills/a"})
}

func TestW076_TrailingSlashIsNothing(t *testing.T) {
	t.Parallel()
	listed(t, []string{"skills/", "x/**/skills/"}, []string{"skills/a", "x/skills/b"}, []string{"skills/a", "x/skills/b"})
}

func TestW077_OverlappingPatternsListOnce(t *testing.T) {
	t.Parallel()
	listed(t, []string{"**/skills", "skills", "**/SKILL.md"}, []string{"skills/a"}, []string{"skills/a"})
}

// TestG001_WhatMakesAPattern: a form with a metacharacter is matched, one without is a
// path that must be there.
func TestG001_WhatMakesAPattern(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"x/*", "x/**", "x/?", "x/{a,b}", "x/[ab]"} {
		listed(t, []string{form}, []string{"x/a", "x/b"}, []string{"x/a", "x/b"})
	}
	listed(t, []string{"x/a"}, []string{"x/a", "x/b"}, []string{"x/a"})
}

// TestG002_WhereAPatternStarts: depth is counted from the part before the first
// metacharacter, cut at the last slash, and from the top where there is none.
func TestG002_WhereAPatternStarts(t *testing.T) {
	t.Parallel()
	listed(t, []string{"g/h/sk*/**/SKILL.md"}, []string{"g/h/skills/a/x", "g/h/skills/a/b/y"}, []string{"g/h/skills/a/x"})
	listed(t, []string{"g*/**/SKILL.md"}, []string{"g/a/x", "g/a/b/y"}, []string{"g/a/x"})
}

func TestG003_WhatAPatternMatches(t *testing.T) {
	t.Parallel()
	listed(t, []string{"g/*/SKILL.md"}, []string{"g/a", "g/b/c"}, []string{"g/a"}) // a star stays in its segment
	listed(t, []string{"{g,h}/*"}, []string{"g/a", "h/b", "i/c"}, []string{"g/a", "h/b"})
	listed(t, []string{"g/*", "h/*"}, []string{"g/a", "h/b"}, []string{"g/a", "h/b"})
	listed(t, []string{"*/skills"}, []string{".dot/skills/a"}, []string{".dot/skills/a"})
	listed(t, []string{"./g/*"}, []string{"g/a"}, []string{"g/a"})
}

// A host that asks more often than every five seconds has its patterns walked no more
// often than that; plain paths are looked at as it says.
func TestPatternsAreWalkedEveryFiveSecondsAtMost(t *testing.T) {
	t.Parallel()
	for form, after := range map[string][]string{"**/skills": {"a"}, "skills": {"a", "b"}} {
		m := inMemory("a")
		h := open(t, setup{fsys: m, forms: []string{form}, cooldown: time.Second})
		v := h.view()
		m.put("skills/b/SKILL.md", text("b"))
		h.pass(2 * time.Second)
		want(t, form, names(check(t, v)), after)
		h.pass(6 * time.Second)
		want(t, form+", later", names(check(t, v)), []string{"a", "b"})
	}
}
