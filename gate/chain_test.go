package gate

import (
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func chainOf(n int) ([]Link, Head) {
	head := Head{Chain: "session:s1"}
	var links []Link
	for i := range n {
		r := Row{
			Time: time.Unix(1_700_000_000, int64(i)*1_000_999), Trace: "t_1", Session: "s1", Turn: "1", Call: fmt.Sprint("c", i),
			Origin: Interactive, Principal: "user", Tool: "write", Tier: ConfirmOnce, Ceiling: ManualOnly, Verdict: Allow, Code: CodeRule,
			Stages: []string{"decide"}, Skills: []string{"a@b#c"},
		}
		var l Link
		l, head = head.Append(r)
		links = append(links, l)
	}
	return links, head
}

func yield(links []Link) iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		for _, l := range links {
			if !yield(l, nil) {
				return
			}
		}
	}
}

func TestWholeChainVerifies(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 100} {
		links, head := chainOf(n)
		if err := VerifyChain(head, yield(links)); err != nil {
			t.Errorf("%d rows: %v", n, err)
		}
	}
}

// The bytes that are hashed never change: a database of an earlier release verifies.
func TestHashOfARowIsFixed(t *testing.T) {
	t.Parallel()
	links, head := chainOf(2)
	if got, want := hex.EncodeToString(links[0].Hash[:]), "7c8604c79fd90fbaa827f1492fc5c7db74e1b83a2d2abe77ab5517a9e4487449"; got != want {
		t.Errorf("first hash %s, want %s", got, want)
	}
	if got, want := hex.EncodeToString(head.Hash[:]), "49a72f992263053e908c2b6d611f8b4d513390a45450f99f1ea8353867a046a1"; got != want {
		t.Errorf("second hash %s, want %s", got, want)
	}
}

// A field that is added to a row and not to its hash could be changed unseen.
func TestEveryFieldOfARowIsHashedAndKept(t *testing.T) {
	t.Parallel()
	plain, _ := Head{}.Append(Row{})
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Row]()) {
		var r Row
		switch at := reflect.ValueOf(&r).Elem().FieldByIndex(f.Index).Addr().Interface().(type) {
		case *time.Time:
			*at = time.Unix(1, 0)
		case *Tier:
			*at = ConfirmOnce
		case *[]string:
			*at = []string{"\x00"}
		case *bool: // Secret is for whoever keeps the row
			continue
		default:
			reflect.ValueOf(at).Elem().SetString("\x00")
		}
		l, _ := Head{}.Append(r)
		if l.Hash == plain.Hash || strings.Contains(fmt.Sprint(l.Row), "\x00") {
			t.Errorf("%s is not hashed, or not kept as it is read back", f.Name)
		}
	}
}

func TestEveryChangeOfAChainIsFoundAtItsFirstBadRow(t *testing.T) {
	t.Parallel()
	rehash := func(l *Link) { l.Hash = l.hash() }
	for name, c := range map[string]struct {
		change func(l []Link, h *Head) []Link
		seq    int64
	}{
		"a value":                    {func(l []Link, _ *Head) []Link { l[4].Row.Verdict = Deny; return l }, 5},
		"a value, hashed anew":       {func(l []Link, _ *Head) []Link { l[4].Row.Verdict = Deny; rehash(&l[4]); return l }, 6},
		"the last, hashed anew":      {func(l []Link, _ *Head) []Link { l[9].Row.Code = "x"; rehash(&l[9]); return l }, 10},
		"a time":                     {func(l []Link, _ *Head) []Link { l[2].Row.Time = l[2].Row.Time.Add(time.Microsecond); return l }, 3},
		"a list":                     {func(l []Link, _ *Head) []Link { l[2].Row.Skills = nil; return l }, 3},
		"a row gone":                 {func(l []Link, _ *Head) []Link { return slices.Delete(l, 3, 4) }, 4},
		"the first gone":             {func(l []Link, _ *Head) []Link { return l[1:] }, 1},
		"the tail cut":               {func(l []Link, _ *Head) []Link { return l[:7] }, 8},
		"all gone":                   {func([]Link, *Head) []Link { return nil }, 1},
		"a row twice":                {func(l []Link, _ *Head) []Link { return slices.Insert(l, 3, l[3]) }, 5},
		"two swapped":                {func(l []Link, _ *Head) []Link { l[3], l[4] = l[4], l[3]; return l }, 4},
		"rows of two swapped":        {func(l []Link, _ *Head) []Link { l[3].Row, l[4].Row = l[4].Row, l[3].Row; return l }, 4},
		"another head":               {func(l []Link, h *Head) []Link { h.Hash[0] ^= 1; return l }, 10},
		"a head set back":            {func(l []Link, h *Head) []Link { h.Seq, h.Hash = 5, l[4].Hash; return l }, 6},
		"a head and a tail set back": {func(l []Link, h *Head) []Link { h.Seq = 7; return l[:7] }, 7},
		"a row of another session":   {func(l []Link, _ *Head) []Link { l[5].Row.Session = "s2"; rehash(&l[5]); return l }, 6},
		"a first row that follows":   {func(l []Link, _ *Head) []Link { l[0].Prev[3] = 1; rehash(&l[0]); return l }, 1},
		"rows of a removed chain":    {func(l []Link, h *Head) []Link { *h = h.Cut(); return l }, 1},
		"a tombstone set back":       {func(l []Link, h *Head) []Link { h.CutSeq, h.CutHash = 4, l[2].Hash; return l[4:] }, 5},
	} {
		links, head := chainOf(10)
		links = c.change(slices.Clone(links), &head)
		var broken *ChainError
		if err := VerifyChain(head, yield(links)); !errors.As(err, &broken) {
			t.Errorf("%s: %v", name, err)
		} else if broken.Seq != c.seq || broken.Chain != "session:s1" {
			t.Errorf("%s: first bad row %d, want %d: %v", name, broken.Seq, c.seq, err)
		}
	}
}

func TestRemovedChainKeepsItsHeadAndErrorsPass(t *testing.T) {
	t.Parallel()
	_, head := chainOf(3)
	head = head.Cut()
	if err := VerifyChain(head, yield(nil)); err != nil {
		t.Error(err)
	}
	l, head := head.Append(Row{Session: "s1"})
	if err := VerifyChain(head, yield([]Link{l})); err != nil || l.Seq != 4 {
		t.Errorf("row %d after the tombstone: %v", l.Seq, err)
	}
	fault := errors.New("disk")
	err := VerifyChain(head, func(yield func(Link, error) bool) { yield(Link{}, fault) })
	if !errors.Is(err, fault) {
		t.Errorf("%v", err)
	}
}

// Whatever a model calls its tool, the row reads back as it was hashed.
func TestRowIsKeptAsEveryDatabaseCan(t *testing.T) {
	t.Parallel()
	r := Row{Tool: "a\x00b\xff", Skills: []string{"\x00"}, Time: time.Unix(1, 1999).In(time.FixedZone("x", 3600))}.Kept()
	if r.Tool != "a\uFFFDb\uFFFD" || r.Skills[0] != "\uFFFD" || r.Stages == nil || r.Time.Nanosecond() != 1000 || r.Time.Location() != time.UTC {
		t.Errorf("%+v", r)
	}
	l, _ := Head{Chain: "host:h"}.Append(r)
	if again, _ := (Head{Chain: "host:h"}).Append(l.Row); again.Hash != l.Hash {
		t.Error("what is read back has another hash")
	}
}
