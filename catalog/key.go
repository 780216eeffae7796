package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
)

// keyWriter joins values so that different lists give different texts: each value
// goes in with its length.
type keyWriter []byte

func (k *keyWriter) add(values ...string) {
	for _, v := range values {
		*k = append(strconv.AppendInt(*k, int64(len(v)), 36), ':')
		*k = append(*k, v...)
	}
}

func (k *keyWriter) list(values []string) {
	k.add(strconv.Itoa(len(values)), strconv.FormatBool(values == nil))
	k.add(values...)
}

// fingerprint identifies everything of an input beside the snapshot and the turn.
func (o options) fingerprint(in Input) string {
	k := make(keyWriter, 0, 256)
	k.add(string(o.dialect), string(o.format), string(o.mode), string(o.unit), strconv.FormatBool(o.routing),
		strconv.Itoa(o.room.limit), strconv.Itoa(in.Budget.Window),
		in.Tools.Skill, in.Tools.Read, in.Tools.Search)
	k.list(in.Rank.Protected)
	k.list(in.Rank.Recent)
	k.list(in.Rank.Pinned)
	k.list(in.View.Skills)
	k.list(in.View.Servers)
	k.list(in.View.Negative)
	k.list(in.View.NameOnly)
	k.add(strconv.FormatBool(in.NoAliases), strconv.FormatBool(in.Incomplete), strconv.FormatBool(in.View.HideUntrusted), strconv.FormatBool(in.View.Touched == nil))
	for _, m := range []map[string]string{in.View.Unmet, in.Locations} {
		for _, name := range sortedKeys(m) {
			k.add(name, m[name])
		}
		k.add("/")
	}
	for _, m := range []map[string]bool{in.View.Touched, in.View.Flags} {
		for _, name := range sortedKeys(m) {
			k.add(name, strconv.FormatBool(m[name]))
		}
		k.add("/")
	}
	return string(k)
}

func sortedKeys[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}

// keyOf digests all that decides guidance and stable block, and nothing else: what
// is visible in its exact words, the order of concessions, the room, the words.
func keyOf(lines []*line, ranked []int32, setting string) string {
	h := sha256.New()
	h.Write([]byte(setting))
	for _, l := range lines {
		h.Write(l.digest[:])
	}
	var b [4]byte
	for _, i := range ranked {
		binary.BigEndian.PutUint32(b[:], uint32(i))
		h.Write(b[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// settingOf joins what decides a prefix beside the skills.
func settingOf(in Input, o options) string {
	k := make(keyWriter, 0, 256)
	k.add(o.shape.id.String(), string(o.mode), string(o.unit), o.counter, strconv.Itoa(o.room.stable()),
		in.Tools.Skill, in.Tools.Read, in.Tools.Search, strconv.FormatBool(in.NoAliases), strconv.FormatBool(in.Incomplete))
	return string(k)
}
