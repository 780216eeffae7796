package gate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Constraint is what a grant demands of one argument. What it cannot judge (a path that
// leads nowhere, a value of another type, an operator that it does not know) does not hold.
type Constraint struct {
	// Path leads to the value: a JSON pointer ("/order/amount") or keys and indices parted
	// by dots ("order.amount").
	Path string `json:"path"`
	// Op is one of = != < <= > >= in prefix. Numbers compare as decimals, exactly.
	Op    string          `json:"op"`
	Value json.RawMessage `json:"value"` // for in: an array
}

// operators say whether an argument stands in a relation to a constraint's value. Both are
// parsed JSON with numbers as json.Number.
var operators = map[string]func(arg, value any) bool{
	"=":  equalJSON,
	"!=": func(arg, value any) bool { return kindOf(arg) == kindOf(value) && !equalJSON(arg, value) },
	"<":  ordered(func(sign int) bool { return sign < 0 }),
	"<=": ordered(func(sign int) bool { return sign <= 0 }),
	">":  ordered(func(sign int) bool { return sign > 0 }),
	">=": ordered(func(sign int) bool { return sign >= 0 }),
	"in": func(arg, value any) bool {
		list, _ := value.([]any)
		return slices.ContainsFunc(list, func(v any) bool { return equalJSON(arg, v) })
	},
	"prefix": func(arg, value any) bool {
		a, isText := arg.(string)
		v, wantsText := value.(string)
		return isText && wantsText && strings.HasPrefix(a, v)
	},
}

// whereOps are the operators as they stand in a text: of two that begin alike the longer first.
var whereOps = [...]string{"!=", "<=", ">=", "=", "<", ">", " in ", " prefix "}

// ParseWhere reads a constraint as a person writes it: "amount<=100", "to = alice",
// `coin in ["BTC","ETH"]`, "note prefix order-". The value is JSON, and any other text stands
// for itself.
func ParseWhere(text string) (Constraint, error) {
	at, op := -1, ""
	for _, o := range whereOps {
		if i := strings.Index(text, o); i >= 0 && (at < 0 || i < at) {
			at, op = i, o
		}
	}
	if at < 0 {
		return Constraint{}, fmt.Errorf("constraint %q: want PATH, one of = != < <= > >= in prefix, and a value", clip(text))
	}
	c := Constraint{Path: strings.TrimSpace(text[:at]), Op: strings.TrimSpace(op)}
	value := strings.TrimSpace(text[at+len(op):])
	if _, err := parseArgs(json.RawMessage(value)); err == nil {
		c.Value = json.RawMessage(value)
	} else {
		c.Value = canonical(strings.ToValidUTF8(value, "\uFFFD"))
	}
	return c, c.valid()
}

// String writes the constraint as ParseWhere reads it.
func (c Constraint) String() string {
	return c.Path + " " + c.Op + " " + string(c.Value)
}

// valid returns why no call could ever fulfil the constraint as it is meant.
func (c Constraint) valid() error {
	value, err := parseArgs(c.Value)
	_, number := value.(json.Number)
	_, list := value.([]any)
	_, text := value.(string)
	switch {
	case operators[c.Op] == nil:
		return fmt.Errorf("constraint %q: unknown operator %q", clip(c.Path), clip(c.Op))
	case len(c.keys()) == 0 || slices.Contains(c.keys(), "") && !strings.HasPrefix(c.Path, "/"):
		return fmt.Errorf("constraint %q: the path names no argument", clip(c.Path))
	case err != nil:
		return fmt.Errorf("constraint %q: value: %w", clip(c.Path), err)
	case strings.ContainsAny(c.Op, "<>") && !number:
		return fmt.Errorf("constraint %q: %s compares numbers", clip(c.Path), c.Op)
	case c.Op == "in" && !list:
		return fmt.Errorf("constraint %q: in wants an array", clip(c.Path))
	case c.Op == "prefix" && !text:
		return fmt.Errorf("constraint %q: prefix wants a text", clip(c.Path))
	}
	return nil
}

// holds reports whether the arguments of a call fulfil the constraint.
func (c Constraint) holds(args map[string]any) bool {
	op := operators[c.Op]
	value, err := parseArgs(c.Value)
	arg, found := lookup(args, c.keys())
	return op != nil && err == nil && found && op(arg, value)
}

// keys are the steps of the path.
func (c Constraint) keys() []string {
	switch rest, pointer := strings.CutPrefix(c.Path, "/"); {
	case c.Path == "":
		return nil
	case pointer:
		keys := strings.Split(rest, "/")
		for i, k := range keys {
			keys[i] = strings.ReplaceAll(strings.ReplaceAll(k, "~1", "/"), "~0", "~")
		}
		return keys
	}
	return strings.Split(c.Path, ".")
}

// lookup follows keys from v.
func lookup(v any, keys []string) (any, bool) {
	for _, k := range keys {
		switch in := v.(type) {
		case map[string]any:
			next, ok := in[k]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(k)
			if err != nil || i < 0 || i >= len(in) || strconv.Itoa(i) != k {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// unbound reports whether a value below v, at the end of no path of paths, is there: one
// that no constraint is about.
func unbound(v any, at []string, paths [][]string) bool {
	for _, p := range paths {
		if len(at) > 0 && slices.Equal(p, at) {
			return false
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if unbound(e, append(at[:len(at):len(at)], k), paths) {
				return true
			}
		}
		return len(v) == 0 && len(at) > 0
	case []any:
		for i, e := range v {
			if unbound(e, append(at[:len(at):len(at)], strconv.Itoa(i)), paths) {
				return true
			}
		}
		return len(v) == 0
	}
	return true
}

func ordered(want func(sign int) bool) func(arg, value any) bool {
	return func(arg, value any) bool {
		a, isNumber := decimal(arg)
		v, wantsNumber := decimal(value)
		return isNumber && wantsNumber && want(a.Cmp(v))
	}
}

// decimal is the exact value of a number. Its size is bounded where it was parsed.
func decimal(v any) (*big.Rat, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}

func equalJSON(a, b any) bool {
	if x, ok := decimal(a); ok {
		y, both := decimal(b)
		return both && x.Cmp(y) == 0
	}
	return bytes.Equal(canonical(a), canonical(b))
}

// kindOf is the JSON type of a parsed value.
func kindOf(v any) string {
	if _, ok := v.(json.Number); ok {
		return "number"
	}
	return fmt.Sprintf("%T", v)
}
