package gate

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"
)

// Hash is one of a chain of rows: of the row and of the hash before it.
type Hash [sha256.Size]byte

// Link is a Row in its chain: a session's, or a host's for rows without a session. Whoever
// changes, drops, adds or moves a row later breaks the chain there; who can write the whole
// chain and its Head anew can't be noticed by it.
type Link struct {
	Chain string // "session:<id>" or "host:<name>"
	Seq   int64  // within the chain, from 1
	Row   Row
	Prev  Hash // of the link before; zero for the first
	Hash  Hash
}

// Head is the end of a chain as it is kept beside the rows, so that a cut end shows.
type Head struct {
	Chain string
	Seq   int64
	Hash  Hash
	// CutSeq and CutHash are the head that the chain had when retention removed its rows: the
	// tombstone that stands for them. What came later follows it. 0 = nothing was removed.
	CutSeq  int64
	CutHash Hash
}

// Cut returns the head of the chain without its rows.
func (h Head) Cut() Head {
	h.CutSeq, h.CutHash = h.Seq, h.Hash
	return h
}

// ChainOf names the chain of a row.
func ChainOf(r Row, host string) string {
	if r.Session != "" {
		return "session:" + r.Session
	}
	return "host:" + host
}

// Append makes the link that follows head, which is the zero Head but for its Chain where
// there is none yet. The row is as it will be read back: see Row.Kept.
func (h Head) Append(r Row) (Link, Head) {
	l := Link{Chain: h.Chain, Seq: h.Seq + 1, Row: r.Kept(), Prev: h.Hash}
	l.Hash = l.hash()
	h.Seq, h.Hash = l.Seq, l.Hash
	return l, h
}

// hash is SHA-256(prev || canonical JSON of the row without its hash). Members that the row
// does not have are absent, so that a later release may add some.
func (l Link) hash() Hash {
	r := l.Row
	row := map[string]any{
		"chain": l.Chain, "seq": json.Number(strconv.FormatInt(l.Seq, 10)),
		"ts": json.Number(strconv.FormatInt(r.Time.UnixMicro(), 10)),
	}
	texts, lists := r.texts()
	for _, f := range texts {
		if *f.value != "" {
			row[f.name] = *f.value
		}
	}
	for _, f := range []field[Tier]{{"tier", &r.Tier}, {"ceiling", &r.Ceiling}} {
		if *f.value != 0 {
			row[f.name] = json.Number(strconv.Itoa(int(*f.value)))
		}
	}
	for _, f := range lists {
		if len(*f.value) > 0 {
			list := make([]any, len(*f.value))
			for i, s := range *f.value {
				list[i] = s
			}
			row[f.name] = list
		}
	}
	return sha256.Sum256(appendCanonical(l.Prev[:], row))
}

// Kept returns the row as every database keeps it: its time in microseconds UTC, lists that
// are there, and texts that are valid UTF-8 without NUL.
func (r Row) Kept() Row {
	r.Time = r.Time.UTC().Truncate(time.Microsecond)
	texts, lists := r.texts()
	for _, f := range texts {
		*f.value = keptText(*f.value)
	}
	for _, f := range lists {
		*f.value = keptList(*f.value)
	}
	return r
}

// field is one of a row, with its name in what is hashed.
type field[T any] struct {
	name  string
	value *T
}

// texts are the fields of a row that hold text.
func (r *Row) texts() (texts []field[string], lists []field[[]string]) {
	return []field[string]{
		{"trace_id", &r.Trace}, {"session", &r.Session}, {"turn", &r.Turn}, {"call", &r.Call}, {"origin", (*string)(&r.Origin)},
		{"principal", &r.Principal}, {"tool", &r.Tool}, {"via", &r.Via}, {"verdict", (*string)(&r.Verdict)}, {"code", &r.Code},
		{"rule", &r.Rule}, {"grant_id", &r.GrantID}, {"confirm_id", &r.ConfirmID}, {"call_hash", &r.CallHash},
		{"bypassed_by", &r.BypassedBy}, {"tier_override", &r.Override},
	}, []field[[]string]{{"stages", &r.Stages}, {"skills", &r.Skills}}
}

func keptText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func keptList(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = keptText(s)
	}
	return out
}

// ChainError says where a chain is broken first.
type ChainError struct {
	Chain string
	Seq   int64 // of the first bad row; one more than the last where rows are missing at the end
	Why   string
}

func (e *ChainError) Error() string {
	return fmt.Sprintf("audit chain %s: row %d: %s", e.Chain, e.Seq, e.Why)
}

// VerifyChain walks the links of one chain in the order of Seq and holds them against its
// head. The error is a *ChainError, or what links yields.
func VerifyChain(head Head, links iter.Seq2[Link, error]) error {
	at := Head{Seq: head.CutSeq, Hash: head.CutHash}
	bad := func(seq int64, format string, args ...any) error {
		return &ChainError{head.Chain, seq, fmt.Sprintf(format, args...)}
	}
	for l, err := range links {
		switch {
		case err != nil:
			return err
		case l.Seq <= head.CutSeq:
			return bad(l.Seq, "it stands where the rows were removed")
		case l.Seq != at.Seq+1:
			return bad(at.Seq+1, "it is missing; the next one is %d", l.Seq)
		case l.Chain != head.Chain || ChainOf(l.Row, strings.TrimPrefix(head.Chain, "host:")) != head.Chain:
			return bad(l.Seq, "it belongs to another chain")
		case l.Prev != at.Hash:
			return bad(l.Seq, "it does not follow the row before it")
		case l.hash() != l.Hash:
			return bad(l.Seq, "it is not what was written")
		case l.Seq > head.Seq:
			return bad(l.Seq, "the chain ends before it")
		}
		at.Seq, at.Hash = l.Seq, l.Hash
	}
	switch {
	case at.Seq < head.Seq:
		return bad(at.Seq+1, "it is missing; the chain ends at %d", head.Seq)
	case at.Hash != head.Hash:
		return bad(at.Seq, "the chain's head is another")
	}
	return nil
}
