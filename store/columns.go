package store

import (
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"fmt"
)

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
