package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// column is one field of a row, bound to its variable.
type column interface {
	sql.Scanner
	driver.Valuer
	// digest appends the value with its kind and length.
	digest(buf []byte) ([]byte, error)
}

// table describes how rows of R are kept. Reading, writing and the checksum all
// follow this one list of columns.
type table[R any] struct {
	name    string
	columns []string // the key first
	fields  func(*R) []column
}

// The text of "WHERE" for every row of this tenant.
const tenant = "tenant = :tenant"

func (t table[R]) query(where string) string {
	if where != "" {
		where = " AND " + where
	}
	return "SELECT " + strings.Join(t.columns, ", ") + ", sum FROM " + t.name +
		" WHERE " + tenant + where + " ORDER BY " + t.columns[0]
}

// each calls f with every row that where names, each checked against its sum, which
// f gets too. A row that does not give its sum is a *rowDamage.
func (t table[R]) each(ctx context.Context, q querier, where string, args []any, f func(r R, sum uint64)) error {
	rows, err := q.QueryContext(ctx, t.query(where), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	// One row's variables serve for all: ten thousand rows are read at a process's start.
	var r, zero R
	var kept int64
	cols := t.fields(&r)
	dest := make([]any, 0, len(cols)+1)
	for _, c := range cols {
		dest = append(dest, c)
	}
	dest = append(dest, &kept)
	buf := make([]byte, 0, 512)
	for rows.Next() {
		r = zero
		if err := rows.Scan(dest...); err != nil {
			return &rowDamage{t.name, err.Error()}
		}
		sum, err := t.sum(buf, cols)
		if err != nil {
			return err
		}
		if sum != uint64(kept) {
			key, _ := cols[0].Value()
			return &rowDamage{t.name, fmt.Sprint(key)}
		}
		f(r, sum)
	}
	return rows.Err()
}

// list returns the rows that where names, in the order of their keys.
func (t table[R]) list(ctx context.Context, q querier, where string, args ...any) ([]R, error) {
	var out []R
	err := t.each(ctx, q, where, args, func(r R, _ uint64) { out = append(out, r) })
	return out, err
}

// sum is the first quarter of a SHA-256 over the table's name and the values, each
// with its kind and length: a changed value, a swapped pair and a moved border all
// give another one.
func (t table[R]) sum(buf []byte, cols []column) (uint64, error) {
	buf = append(buf[:0], t.name...)
	for _, c := range cols {
		var err error
		if buf, err = c.digest(buf); err != nil {
			return 0, err
		}
	}
	return digestSum(buf), nil
}

func digestSum(buf []byte) uint64 {
	h := sha256.Sum256(buf)
	return binary.LittleEndian.Uint64(h[:8])
}

func digestText(buf []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(append(buf, 2), uint64(len(s))), s...)
}

// put writes r over the row with its key.
func (t table[R]) put(c *change, r R) error {
	cols := t.fields(&r)
	key, err := cols[0].Value()
	if err != nil {
		return err
	}
	c.note(t.name, fmt.Sprint(key))
	if err := t.drop(c, t.columns[0]+" = ?", cols[0]); err != nil {
		return err
	}
	sum, err := t.sum(nil, cols)
	if err != nil {
		return err
	}
	args := make([]any, 0, len(cols)+1)
	for _, col := range cols {
		args = append(args, col)
	}
	err = c.tx.insert(c.ctx, t.name, append(slices.Clone(t.columns), "sum"), append(args, int64(sum)))
	c.total += sum
	c.changed = true
	return err
}

// drop deletes the rows that where names; there may be none.
func (t table[R]) drop(c *change, where string, args ...any) error {
	n := 0
	err := t.each(c.ctx, c.tx, where, args, func(r R, sum uint64) {
		c.total -= sum
		n++
		key, _ := t.fields(&r)[0].Value()
		c.note(t.name, fmt.Sprint(key))
	})
	if err != nil || n == 0 {
		return err
	}
	c.changed = true
	_, err = c.tx.ExecContext(c.ctx, "DELETE FROM "+t.name+" WHERE "+tenant+" AND "+where, args...)
	return err
}

type textColumn[T ~string] struct{ p *T }

func text[T ~string](p *T) column { return textColumn[T]{p} }

func (c textColumn[T]) Value() (driver.Value, error) { return string(*c.p), nil }

func (c textColumn[T]) digest(buf []byte) ([]byte, error) { return digestText(buf, string(*c.p)), nil }

func (c textColumn[T]) Scan(v any) error {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("%T is no text", v)
	}
	*c.p = T(s)
	return nil
}

// timeColumn keeps microseconds UTC; the zero time is NULL.
type timeColumn struct{ p *time.Time }

func at(p *time.Time) column { return timeColumn{p} }

func (c timeColumn) Value() (driver.Value, error) {
	if c.p.IsZero() {
		return nil, nil
	}
	return c.p.UnixMicro(), nil
}

func (c timeColumn) digest(buf []byte) ([]byte, error) {
	if c.p.IsZero() {
		return append(buf, 0), nil
	}
	return binary.LittleEndian.AppendUint64(append(buf, 1), uint64(c.p.UnixMicro())), nil
}

func (c timeColumn) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*c.p = time.Time{}
	case int64:
		*c.p = time.UnixMicro(v).UTC()
	default:
		return fmt.Errorf("%T is no time", v)
	}
	return nil
}

// listColumn keeps a JSON array of strings; nil and empty are one.
type listColumn struct{ p *[]string }

func list(p *[]string) column { return listColumn{p} }

func (c listColumn) Value() (driver.Value, error) { return c.json() }

func (c listColumn) digest(buf []byte) ([]byte, error) {
	s, err := c.json()
	return digestText(buf, s), err
}

func (c listColumn) json() (string, error) {
	if len(*c.p) == 0 {
		return "[]", nil
	}
	b, err := json.Marshal(*c.p)
	return string(b), err
}

func (c listColumn) Scan(v any) error {
	var text []byte
	switch v := v.(type) {
	case string:
		text = []byte(v)
	case []byte:
		text = v
	default:
		return fmt.Errorf("%T is no list", v)
	}
	*c.p = nil
	if string(text) == "[]" {
		return nil
	}
	return json.Unmarshal(text, c.p)
}
