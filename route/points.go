package route

import "strconv"

// What each signal is worth. A keyword counts once however often it stands in the
// message; the sum without retrieval is at most 130.
const (
	pointsKeyword = 30
	// pointsOwnName is for the name of a skill that declares no keywords. Names are common
	// words too often to be worth a keyword that an author chose: with 30 points the first
	// place is right for 74.6 % of the tuning requests, with 10 for 78.4 %, with none 76.9 %.
	pointsOwnName    = 10
	maxKeywordPoints = 60
	pointsStage      = 20
	pointsAsset      = 15
	pointsCoActivate = 10
	pointsSignal     = 25
	// maxRetrieve is the default bound of retrieval points: with them alone a skill
	// ties at most with one keyword and a co-activation, and never passes two keywords.
	maxRetrieve = 40
	// shownKeywords is how many keywords a reason list names; the rest is a number.
	shownKeywords = 2
)

// tally is what a turn has found out about one skill.
type tally struct {
	keywords int32    // distinct ones that hit
	first    [2]int32 // the places of the first two in the declared list
	stage    bool
	asset    string // the class that matched
	signal   bool
	co       bool
	coBy     int32 // 1 + the first source in sort order; set with co, after the sort
	retrieve int32
	rank     int32 // among the hits of the text search, from 1; 0: none that counts
	sure     bool  // the evidence behind retrieve is enough for a strong fit
	implicit bool  // the only keyword is the skill's own name
	negative int32 // 1 + the negative keyword that hit
	removed  bool  // nothing counts any more
	preload  string
}

func (t *tally) keyword(place int32) {
	switch {
	case t.keywords == 0:
		t.first = [2]int32{place, -1}
	case place < t.first[0]:
		t.first = [2]int32{place, t.first[0]}
	case t.first[1] < 0 || place < t.first[1]:
		t.first[1] = place
	}
	t.keywords++
}

func (t *tally) keywordPoints() int {
	if t.implicit {
		return int(t.keywords) * pointsOwnName
	}
	return min(int(t.keywords)*pointsKeyword, maxKeywordPoints)
}

// own is the sum of a skill's own signals; only these make it a source of
// co-activation.
func (t *tally) own() int {
	p := t.keywordPoints()
	if t.stage {
		p += pointsStage
	}
	if t.asset != "" {
		p += pointsAsset
	}
	if t.signal {
		p += pointsSignal
	}
	return p
}

func (t *tally) score() int {
	p := t.own() + int(t.retrieve)
	if t.co {
		p += pointsCoActivate
	}
	return p
}

// strong reports evidence that is enough for FitStrong.
func (t *tally) strong() bool {
	return t.keywords > 0 && !t.implicit || t.signal || int(t.retrieve) >= strongRetrieve && t.sure
}

// reasons lists the signals of a tally in the order of the points table.
func (r *Router) reasons(at int32, t *tally, turn *turn) []string {
	s := &r.skills[at]
	out := make([]string, 0, 4)
	for i := range min(t.keywords, shownKeywords) {
		out = append(out, "kw:"+s.keywords[t.first[i]].word)
	}
	if t.keywords > shownKeywords {
		out = append(out, "kw:+"+strconv.Itoa(int(t.keywords)-shownKeywords))
	}
	if t.stage {
		if st, ok := (s.stages & turn.stages).Primary(); ok {
			out = append(out, "stage:"+st.String())
		}
	}
	if t.asset != "" {
		out = append(out, "asset:"+t.asset)
	}
	if t.signal {
		out = append(out, "signal:"+turn.source)
	}
	if t.coBy > 0 {
		out = append(out, "co:"+r.skills[t.coBy-1].entry.ID)
	}
	if t.retrieve > 0 {
		out = append(out, "retrieve:"+strconv.Itoa(int(t.retrieve)))
	}
	if t.preload != "" {
		out = append(out, "preload:"+t.preload)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
