package skill

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// versionForm is a version as people write one: 3, 1.2, v1.2.3-rc.1+5, 1.2.rc1.
var versionForm = regexp.MustCompile(`^v?\d+(\.\d+)*$|^v?\d+(\.\d+)+[-+.].*$`)

// IsVersion reports whether a text is written as versions are.
func IsVersion(s string) bool { return versionForm.MatchString(s) }

// CompareVersions orders versions: by number, a pre-release before its release, what is
// no version before everything that is one.
func CompareVersions(a, b string) int {
	na, pa, oka := splitVersion(a)
	nb, pb, okb := splitVersion(b)
	if !oka || !okb {
		return boolInt(oka) - boolInt(okb)
	}
	for i := range max(len(na), len(nb)) {
		if c := compareNumbers(part(na, i), part(nb, i)); c != 0 {
			return c
		}
	}
	if (pa == "") != (pb == "") {
		return boolInt(pa == "") - boolInt(pb == "")
	}
	xs, ys := strings.Split(pa, "."), strings.Split(pb, ".")
	for i := range min(len(xs), len(ys)) {
		if c := compareIdentifiers(xs[i], ys[i]); c != 0 {
			return c
		}
	}
	return len(xs) - len(ys)
}

// splitVersion takes v1.2.3-pre+build apart; the build says nothing about the order.
func splitVersion(s string) (numbers []string, pre string, ok bool) {
	if !versionForm.MatchString(s) {
		return nil, "", false
	}
	s, _, _ = strings.Cut(strings.TrimPrefix(s, "v"), "+")
	s, pre, _ = strings.Cut(s, "-")
	for _, n := range strings.Split(s, ".") {
		if digits := strings.TrimLeft(n, "0123456789"); digits != "" { // 1.2.rc1
			return numbers, strings.Trim(n+"."+pre, "."), true
		}
		numbers = append(numbers, n)
	}
	return numbers, pre, true
}

func part(numbers []string, i int) string {
	if i < len(numbers) {
		return numbers[i]
	}
	return "0"
}

// compareNumbers compares digits of any length.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(len(a)-len(b), strings.Compare(a, b))
}

// compareIdentifiers compares parts of a pre-release: numbers by value and before words.
func compareIdentifiers(a, b string) int {
	_, ea := strconv.ParseUint(a, 10, 64)
	_, eb := strconv.ParseUint(b, 10, 64)
	switch {
	case ea == nil && eb == nil:
		return compareNumbers(a, b)
	case (ea == nil) != (eb == nil):
		return boolInt(eb == nil) - boolInt(ea == nil)
	}
	return strings.Compare(a, b)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Range is a set of versions, as headers ask for: "^1.2", "~1.2.3", "1.x", ">=1.2 <3",
// "1.2 - 1.9", alternatives between "||". The zero value holds every version.
type Range struct{ any []interval }

// interval is from one version to another; "" = no bound.
type interval struct {
	from, to         string
	fromOut, toOut   bool // the bound itself is not in it
	preFrom, preUpTo bool // a bound names a pre-release: those of its version count
}

// rangeLimits bound what a header may ask for.
const (
	maxRange        = 256 // bytes
	maxAlternatives = 16
)

// ParseRange reads a range. A text that is none is an error that names its part.
func ParseRange(text string) (Range, error) {
	var r Range
	if text = strings.TrimSpace(text); text == "" || text == "latest" {
		return r, nil
	}
	alternatives := strings.Split(text, "||")
	if len(text) > maxRange || len(alternatives) > maxAlternatives {
		return r, fmt.Errorf("range %.40q: longer than %d bytes or more than %d alternatives", text, maxRange, maxAlternatives)
	}
	for _, alternative := range alternatives {
		in, err := parseInterval(alternative)
		if err != nil {
			return Range{}, fmt.Errorf("range %q: %w", text, err)
		}
		if in == (interval{}) {
			return Range{}, nil
		}
		r.any = append(r.any, in)
	}
	return r, nil
}

// comparator is one part of a range: an operator and a version.
var comparator = regexp.MustCompile(`^(\^|~>|~|>=|<=|>|<|==|=|)(.+)$`)

// apart is an operator with blanks behind it.
var apart = regexp.MustCompile(`(\^|~>|~|>=|<=|>|<|=)\s+`)

func parseInterval(text string) (interval, error) {
	if from, to, ok := strings.Cut(text, " - "); ok {
		text = ">=" + strings.TrimSpace(from) + " <=" + strings.TrimSpace(to)
	}
	text = apart.ReplaceAllString(text, "$1")
	all := interval{}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }) {
		m := comparator.FindStringSubmatch(word)
		if m == nil {
			return all, fmt.Errorf("%q is no version", word)
		}
		in, err := compared(m[1], m[2])
		if err != nil {
			return all, err
		}
		all = all.and(in)
	}
	return all, nil
}

// compared is the interval of one operator and version. What a version leaves out, or
// writes as x or *, may be anything.
func compared(op, version string) (interval, error) {
	numbers, loose := strings.Split(strings.TrimPrefix(version, "v"), "."), false
	for i, n := range numbers {
		if n == "x" || n == "X" || n == "*" {
			numbers, loose = numbers[:i], true
			break
		}
	}
	if len(numbers) == 0 {
		return interval{}, nil
	}
	if loose {
		version = strings.Join(numbers, ".")
	}
	given, pre, ok := splitVersion(version)
	if !ok {
		return interval{}, fmt.Errorf("%q is no version", version)
	}
	switch op {
	case ">":
		if loose || len(given) < 3 && pre == "" {
			return interval{from: after(given, len(given)-1)}, nil
		}
		return interval{from: version, fromOut: true, preFrom: pre != ""}, nil
	case ">=":
		return interval{from: version, preFrom: pre != ""}, nil
	case "<":
		return interval{to: version, toOut: true, preUpTo: pre != ""}, nil
	case "<=":
		if len(given) < 3 && pre == "" {
			return interval{to: after(given, len(given)-1), toOut: true}, nil
		}
		return interval{to: version, preUpTo: pre != ""}, nil
	case "^":
		at := 0 // the first number that is not 0 stays
		for at < len(given)-1 && strings.Trim(given[at], "0") == "" {
			at++
		}
		return interval{from: version, to: after(given, at), toOut: true, preFrom: pre != ""}, nil
	case "~", "~>":
		return interval{from: version, to: after(given, min(1, len(given)-1)), toOut: true, preFrom: pre != ""}, nil
	}
	if loose || len(given) < 3 && pre == "" {
		return interval{from: version, to: after(given, len(given)-1), toOut: true}, nil
	}
	return interval{from: version, to: version, preFrom: pre != "", preUpTo: pre != ""}, nil
}

// after is the first version that differs in the number at a place.
func after(numbers []string, at int) string {
	next := append([]string{}, numbers[:at+1]...)
	digits := []byte("0" + next[at])
	for i := len(digits) - 1; ; i-- {
		if digits[i] < '9' {
			digits[i]++
			break
		}
		digits[i] = '0'
	}
	if next[at] = strings.TrimLeft(string(digits), "0"); next[at] == "" {
		next[at] = "0"
	}
	for len(next) < 3 {
		next = append(next, "0")
	}
	return strings.Join(next, ".")
}

// and is what two intervals have in common.
func (a interval) and(b interval) interval {
	out := a
	if c := compareBound(a.from, b.from, -1); c < 0 || c == 0 && b.fromOut {
		out.from, out.fromOut, out.preFrom = b.from, b.fromOut, b.preFrom
	}
	if c := compareBound(a.to, b.to, 1); c > 0 || c == 0 && b.toOut {
		out.to, out.toOut, out.preUpTo = b.to, b.toOut, b.preUpTo
	}
	return out
}

// compareBound orders bounds, of which none is before or after all, by side.
func compareBound(a, b string, side int) int {
	switch {
	case a == "" && b == "":
		return 0
	case a == "":
		return side
	case b == "":
		return -side
	}
	return CompareVersions(a, b)
}

func (a interval) empty() bool {
	if a.from == "" || a.to == "" {
		return false
	}
	c := CompareVersions(a.from, a.to)
	return c > 0 || c == 0 && (a.fromOut || a.toOut)
}

// Holds reports whether a version is in the range. A pre-release is only where a bound
// names one of the same version: whoever asks for ^1.2 does not mean 1.3.0-beta. What is
// no version is in no range but the one that holds all.
func (r Range) Holds(version string) bool {
	if len(r.any) == 0 {
		return true
	}
	numbers, pre, ok := splitVersion(version)
	if !ok {
		return false
	}
	for _, in := range r.any {
		low, high := compareBound(in.from, version, -1), compareBound(in.to, version, 1)
		if low > 0 || low == 0 && in.fromOut && in.from != "" || high < 0 || high == 0 && in.toOut && in.to != "" {
			continue
		}
		if pre == "" || in.preFrom && sameNumbers(in.from, numbers) || in.preUpTo && sameNumbers(in.to, numbers) {
			return true
		}
	}
	return false
}

func sameNumbers(bound string, numbers []string) bool {
	own, _, _ := splitVersion(bound)
	for i := range max(len(own), len(numbers)) {
		if compareNumbers(part(own, i), part(numbers, i)) != 0 {
			return false
		}
	}
	return true
}

// Meets reports whether some version can be in both ranges.
func (r Range) Meets(o Range) bool {
	if len(r.any) == 0 || len(o.any) == 0 {
		return true
	}
	for _, a := range r.any {
		for _, b := range o.any {
			if !a.and(b).empty() {
				return true
			}
		}
	}
	return false
}
