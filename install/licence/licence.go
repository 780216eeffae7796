package licence

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// Decision is what follows from a licence, the best first.
type Decision string

// The decisions.
const (
	Allow         Decision = "allow"         // go on
	Warn          Decision = "warn"          // a person is asked once
	Refuse        Decision = "refuse"        // its terms are against keeping a copy
	Contradiction Decision = "contradiction" // one text grants what another refuses
	None          Decision = "none"          // nothing says that it may be kept
)

// rank orders decisions: of several that all hold, the greatest counts.
var rank = []Decision{Allow, Warn, None, Refuse, Contradiction}

// Verdict is the licence of one skill and what it rests on.
type Verdict struct {
	SPDX       string   `json:"spdx"`           // expression; "" = unknown
	File       string   `json:"file,omitempty"` // that said it, in the tree; "" = the header
	SHA256     string   `json:"sha256,omitempty"`
	Confidence float64  `json:"confidence"` // share of the text that is the licence's, 0 to 1; 1 for an identifier
	Decision   Decision `json:"decision"`
	Evidence   string   `json:"evidence,omitempty"` // the words that decided, or both sides of a contradiction
}

// A text is certainly a licence when at least certain of it is that licence's, and
// likely one from likely on.
const (
	certain = 90.0
	likely  = 75.0
	// maxText is how much of a licence file is read: the longest known ones have 35 KiB.
	maxText = 256 << 10
	// maxEvidence is how much of a text is repeated as what decided, in bytes.
	maxEvidence = 160
)

// Options are a person's own decisions.
type Options struct {
	Allow []string // identifiers that pass although they would be refused or asked about
}

// Decide returns the licence of the skill whose SKILL.md is source and lies in dir of
// tree. header is what its header gives as licence. The text nearest to the skill
// decides: its own files and header, then those of the folders above, then what a
// package says of itself. An error is one of reading the tree.
func Decide(tree fs.FS, dir, header string, source []byte, o Options) (Verdict, error) {
	own, err := ownVerdicts(tree, dir, header, source, o)
	if err != nil {
		return Verdict{}, err
	}
	if len(own) > 0 {
		return together(own), nil
	}
	for at := parent(dir); ; at = parent(at) {
		above, err := above(tree, at, o)
		if err != nil {
			return Verdict{}, err
		}
		if len(above) > 0 {
			return together(above), nil
		}
		if at == "." {
			break
		}
	}
	return Verdict{Decision: None, Evidence: "no licence file, and the header names none"}, nil
}

// together is one verdict from several that all hold.
func together(list []Verdict) Verdict {
	worst := slices.MaxFunc(list, func(a, b Verdict) int {
		return slices.Index(rank, a.Decision) - slices.Index(rank, b.Decision)
	})
	good := slices.IndexFunc(list, func(v Verdict) bool { return v.Decision == Allow || v.Decision == Warn })
	switch {
	case good < 0:
	case worst.Decision == Refuse:
		worst.Decision = Contradiction
		worst.Evidence = clip(fmt.Sprintf("%s says %s, %s says: %s", place(list[good]), list[good].SPDX, place(worst), worst.Evidence))
	case worst.Decision == None: // a name that says nothing beside a text that does
		return list[good]
	}
	return worst
}

func place(v Verdict) string {
	if v.File == "" {
		return "the header"
	}
	return v.File
}

// OfText tells which licence a text is. Words that forbid what keeping a copy needs
// count before its name, where they are no part of the licence itself.
func OfText(text []byte, o Options) Verdict {
	sum := sha256.Sum256(text)
	v := Verdict{SHA256: hex.EncodeToString(sum[:])}
	cov := licensecheck.Scan(text)
	var ids []string
	rest := slices.Clone(text)
	for _, m := range cov.Match {
		if id := standard(m.ID); !m.IsURL && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		clear(rest[m.Start:m.End])
	}
	v.Confidence = cov.Percent / 100
	if words := forbids(string(rest), len(ids) > 0); words != "" {
		v.SPDX, v.Decision, v.Evidence = "LicenseRef-Proprietary", Refuse, clip(words)
		return v
	}
	if len(ids) == 0 || cov.Percent < likely {
		v.Decision, v.Evidence = None, clip("no known licence: "+strings.Join(strings.Fields(string(text)), " "))
		return v
	}
	// Several texts in one file: each part of what it covers has its own.
	v.SPDX = strings.Join(ids, " AND ")
	v.Decision = ofExpression(v.SPDX, o)
	v.Evidence = v.SPDX
	if cov.Percent < certain && v.Decision == Allow {
		v.Decision, v.Evidence = Warn, fmt.Sprintf("%.0f %% of the text are those of %s", cov.Percent, v.SPDX)
	}
	return v
}

// standard is the identifier of the public list for a name of the classifier.
func standard(id string) string {
	switch id {
	case "GPL-2.0", "GPL-3.0", "LGPL-2.1", "LGPL-3.0", "AGPL-3.0":
		return id + "-only"
	}
	return id
}

// OfName reads what a header gives as licence: an identifier, an expression or a usual
// name. ok is false where it names none.
func OfName(name string, o Options) (v Verdict, ok bool) {
	name = strings.TrimSpace(name)
	if name == "" {
		return Verdict{}, false
	}
	v = Verdict{Confidence: 1, Evidence: clip(name)}
	if words := forbids(name, false); words != "" {
		v.SPDX, v.Decision = "LicenseRef-Proprietary", Refuse
		return v, true
	}
	if id := names()[strings.ToLower(strings.TrimSuffix(name, "."))]; id != "" {
		name = id
	}
	d := ofExpression(name, o)
	if d == None {
		v.Decision, v.Evidence = None, clip("the header says "+name+", which is no known licence")
		return v, true
	}
	v.SPDX, v.Decision = name, d
	return v, true
}

func clip(s string) string {
	if len(s) <= maxEvidence {
		return s
	}
	return strings.ToValidUTF8(s[:maxEvidence], "") + "…"
}
