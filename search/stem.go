package search

import "bytes"

// stem cuts the commonest English endings from a lower-case word and returns a part
// of b, or b with a changed tail. Words that are short or hold anything but a–z stay
// as they are. It is deliberately light: two words that a person would call
// different must not meet.
func stem(b []byte) []byte {
	if len(b) < 5 {
		return b
	}
	for _, c := range b {
		if c < 'a' || c > 'z' {
			return b
		}
	}
	b = stemPlural(b)
	for _, suffix := range [...]string{"ation", "ment", "ing", "ed", "ly"} {
		if cut, ok := cutSuffix(b, suffix); ok {
			return stemFinal(cut)
		}
	}
	return stemFinal(b)
}

func stemPlural(b []byte) []byte {
	n := len(b)
	switch {
	case b[n-1] != 's' || b[n-2] == 's' || b[n-2] == 'u' || b[n-2] == 'i':
		return b
	case bytes.HasSuffix(b, []byte("ies")) && n > 4:
		b[n-3] = 'y'
		return b[:n-2]
	case bytes.HasSuffix(b, []byte("sses")), bytes.HasSuffix(b, []byte("ches")),
		bytes.HasSuffix(b, []byte("shes")), bytes.HasSuffix(b, []byte("xes")):
		return b[:n-2]
	}
	return b[:n-1]
}

// cutSuffix takes suffix off when three letters with a vowel among them stay, and
// undoes a doubled consonant ("mapping", "planned").
func cutSuffix(b []byte, suffix string) ([]byte, bool) {
	if !bytes.HasSuffix(b, []byte(suffix)) {
		return b, false
	}
	cut := b[:len(b)-len(suffix)]
	if len(cut) < 3 || !bytes.ContainsAny(cut, "aeiouy") {
		return b, false
	}
	n := len(cut)
	if suffix == "ing" || suffix == "ed" {
		if c := cut[n-1]; n > 3 && c == cut[n-2] && c != 'l' && c != 's' && c != 'z' {
			cut = cut[:n-1]
		}
	}
	return cut, true
}

func stemFinal(b []byte) []byte {
	if n := len(b); n > 3 && b[n-1] == 'e' {
		return b[:n-1]
	}
	return b
}
