package store

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// values are the columns of r as they are written, the sum last.
func (t table[R]) values(r *R) ([]any, error) {
	cols := t.fields(r)
	sum, err := t.sum(nil, cols)
	out := make([]any, 0, len(cols)+1)
	for _, c := range cols {
		out = append(out, c)
	}
	return append(out, int64(sum)), err
}

// add writes a row whose key is not taken, outside the state's total.
func (t table[R]) add(ctx context.Context, tx *tx, r R) error {
	values, err := t.values(&r)
	if err != nil {
		return err
	}
	return tx.insert(ctx, t.name, append(slices.Clone(t.columns), "sum"), values)
}

// rewrite changes the row with the key of r in its place, outside the state's total: who
// waits for a lock on it sees the new one, which a row that is deleted and written anew
// would hide.
func (t table[R]) rewrite(ctx context.Context, tx *tx, r R) error {
	values, err := t.values(&r)
	if err != nil {
		return err
	}
	set := strings.Join(append(slices.Clone(t.columns), "sum"), " = ?, ") + " = ?"
	_, err = tx.ExecContext(ctx, "UPDATE "+t.name+" SET "+set+" WHERE "+tenant+" AND "+t.columns[0]+" = ?", append(values, values[0])...)
	return err
}

// numberColumn keeps a whole number.
type numberColumn struct{ p *int64 }

func whole(p *int64) column { return numberColumn{p} }

func (c numberColumn) Value() (driver.Value, error) { return *c.p, nil }

func (c numberColumn) digest(buf []byte) ([]byte, error) {
	return binary.LittleEndian.AppendUint64(append(buf, 1), uint64(*c.p)), nil
}

func (c numberColumn) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("%T is no whole number", v)
	}
	*c.p = n
	return nil
}

// jsonColumn keeps a value as JSON. A server may give it back in another spelling, so T
// holds nothing whose spelling matters.
type jsonColumn[T any] struct{ p *T }

func jsonOf[T any](p *T) column { return jsonColumn[T]{p} }

func (c jsonColumn[T]) Value() (driver.Value, error) {
	b, err := json.Marshal(*c.p)
	return string(b), err
}

func (c jsonColumn[T]) digest(buf []byte) ([]byte, error) {
	b, err := json.Marshal(*c.p)
	return digestText(buf, string(b)), err
}

func (c jsonColumn[T]) Scan(v any) error {
	var text []byte
	switch v := v.(type) {
	case string:
		text = []byte(v)
	case []byte:
		text = v
	default:
		return fmt.Errorf("%T is no JSON", v)
	}
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	*c.p = value
	return nil
}
