package gate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of one call's arguments.
const (
	maxArgs  = 1 << 20 // bytes
	maxDepth = 32      // nested arrays and objects
	maxDigit = 64      // bytes of one number
	maxExp   = 400     // magnitude of an exponent: past the range of a double
)

// argError is a fault in arguments, at a JSON pointer.
type argError struct{ pointer, message string }

func (e *argError) Error() string {
	if e.pointer == "" {
		return e.message
	}
	return "at " + e.pointer + ": " + e.message
}

// parseArgs reads one JSON value under the bounds, refusing what two readers could
// understand in two ways: duplicate keys, invalid UTF-8, trailing text.
func parseArgs(src json.RawMessage) (any, error) {
	if len(src) > maxArgs {
		return nil, &argError{"", fmt.Sprintf("%d bytes, at most %d", len(src), maxArgs)}
	}
	if !utf8.Valid(src) {
		return nil, &argError{"", "invalid UTF-8"}
	}
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	v, err := parseValue(d, "", 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, &argError{"", "text after the value"}
	}
	return v, nil
}

func parseValue(d *json.Decoder, at string, depth int) (any, error) {
	tok, err := d.Token()
	if err != nil {
		return nil, notJSON(at, err)
	}
	switch tok := tok.(type) {
	case json.Delim:
		if depth++; depth > maxDepth {
			return nil, &argError{at, fmt.Sprintf("nested deeper than %d levels", maxDepth)}
		}
		if tok == '[' {
			return parseArray(d, at, depth)
		}
		return parseObject(d, at, depth)
	case json.Number:
		return tok, checkNumber(at, tok.String())
	}
	return tok, nil
}

func parseArray(d *json.Decoder, at string, depth int) (any, error) {
	list := []any{}
	for d.More() {
		v, err := parseValue(d, at+"/"+strconv.Itoa(len(list)), depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	if _, err := d.Token(); err != nil {
		return nil, notJSON(at, err)
	}
	return list, nil
}

func parseObject(d *json.Decoder, at string, depth int) (any, error) {
	object := map[string]any{}
	for d.More() {
		tok, err := d.Token()
		if err != nil {
			return nil, notJSON(at, err)
		}
		key, ok := tok.(string)
		if !ok {
			return nil, &argError{at, "a key that is no string"}
		}
		child := at + "/" + pointerEscape(key)
		if _, twice := object[key]; twice {
			return nil, &argError{child, "the key stands twice"}
		}
		if object[key], err = parseValue(d, child, depth); err != nil {
			return nil, err
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, notJSON(at, err)
	}
	return object, nil
}

func notJSON(at string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &argError{at, "not JSON: it ends early"}
	}
	return &argError{at, "not JSON: " + err.Error()}
}

// checkNumber keeps out numbers that no double can hold and exponents whose exact
// value would fill the memory of whoever computes it.
func checkNumber(at, s string) error {
	if len(s) > maxDigit {
		return &argError{at, fmt.Sprintf("a number of %d characters, at most %d", len(s), maxDigit)}
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if e, err := strconv.Atoi(s[i+1:]); err != nil || e > maxExp || e < -maxExp {
			return &argError{at, "a number out of range"}
		}
	}
	if _, err := strconv.ParseFloat(s, 64); err != nil {
		return &argError{at, "a number out of range"}
	}
	return nil
}

func pointerEscape(key string) string {
	if !strings.ContainsAny(key, "~/") {
		return key
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// canonical writes v with sorted keys, no blanks and one spelling of each string
// and number (RFC 8785; numbers that a double cannot hold exactly keep their
// digits, so that two different amounts never look alike).
func canonical(v any) json.RawMessage { return appendCanonical(nil, v) }

func appendCanonical(out []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(out, "null"...)
	case bool:
		return strconv.AppendBool(out, v)
	case json.Number:
		return append(out, canonicalNumber(v.String())...)
	case string:
		return appendString(out, v)
	case []any:
		out = append(out, '[')
		for i, e := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendCanonical(out, e)
		}
		return append(out, ']')
	case map[string]any:
		out = append(out, '{')
		for i, k := range sortedKeys(v) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendString(out, k), ':')
			out = appendCanonical(out, v[k])
		}
		return append(out, '}')
	}
	panic(fmt.Sprintf("canonical: %T is no JSON value", v))
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if isASCII(a) && isASCII(b) {
			return cmp.Compare(a, b)
		}
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
	})
	return keys
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// appendString writes a text, which is valid UTF-8: all but quotes, backslashes and control
// characters as it is.
func appendString(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	const plain, short = "\"\\\b\f\n\r\t", `"\bfnrt`
	out = append(out, '"')
	from := 0
	for i := range len(s) {
		if s[i] >= 0x20 && s[i] != '"' && s[i] != '\\' {
			continue
		}
		out = append(out, s[from:i]...)
		from = i + 1
		if k := strings.IndexByte(plain, s[i]); k >= 0 {
			out = append(out, '\\', short[k])
		} else {
			out = append(out, '\\', 'u', '0', '0', hex[s[i]>>4], hex[s[i]&15])
		}
	}
	return append(append(out, s[from:]...), '"')
}

func canonicalNumber(s string) string {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	short := shortNumber(f)
	exact, ok := new(big.Rat).SetString(s)
	got, ok2 := new(big.Rat).SetString(short)
	if ok && ok2 && exact.Cmp(got) == 0 {
		return short
	}
	return s
}

// shortNumber is ECMAScript's Number.toString: plain digits between 1e-6 and 1e21.
func shortNumber(f float64) string {
	if f == 0 {
		return "0"
	}
	if a := max(f, -f); a >= 1e-6 && a < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	return mantissa + "e" + exp[:1] + strings.TrimLeft(exp[1:], "0")
}
