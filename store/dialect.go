package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// One SQL text serves both databases: parameters are written ?, and :tenant stands
// for the tenant of the Store. Where the two must differ, tx says which one it is.

// querier is a transaction or a connection, to read from.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// executor is what database/sql has to offer: a transaction, a connection or a pool.
type executor interface {
	querier
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// tx is a transaction under way, or a connection to read from.
type tx struct {
	q        executor
	postgres bool
	tenant   string
	now      time.Time // UTC, whole microseconds, one for the whole transaction
	version  int64     // of the state, when this transaction changed it
	dry      bool      // what it is to write is let go; each statement changes one row, so to speak
}

// QueryContext is that of database/sql, in the text of both dialects.
func (t *tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return t.q.QueryContext(ctx, t.text(query), args...)
}

// QueryRowContext is that of database/sql, in the text of both dialects.
func (t *tx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return t.q.QueryRowContext(ctx, t.text(query), args...)
}

// ExecContext is that of database/sql, in the text of both dialects.
func (t *tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if t.dry {
		return driver.RowsAffected(1), nil
	}
	return t.q.ExecContext(ctx, t.text(query), args...)
}

// changed is ExecContext; it returns how many rows it changed.
func (t *tx) changed(ctx context.Context, query string, args ...any) (rows int64, err error) {
	res, err := t.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// texts reads a query of one column.
func texts(ctx context.Context, q querier, query string, args ...any) (out []string, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// forUpdate ends a SELECT whose rows this transaction is going to change. SQLite has
// one writer: whoever writes has locked every row.
func (t *tx) forUpdate() string {
	if t.postgres && !t.dry {
		return " FOR UPDATE"
	}
	return ""
}

// insert writes rows, in as few statements as the number of parameters allows. The
// tenant is added to the columns.
func (t *tx) insert(ctx context.Context, table string, columns []string, rows ...[]any) error {
	const most = 30_000 // parameters of one statement: SQLite takes 32,766, PostgreSQL 65,535
	for batch := max(1, most/len(columns)); len(rows) > 0; {
		n := min(batch, len(rows))
		values := "(:tenant" + strings.Repeat(", ?", len(columns)) + ")"
		query := "INSERT INTO " + table + " (tenant, " + strings.Join(columns, ", ") + ") VALUES " +
			values + strings.Repeat(", "+values, n-1)
		args := make([]any, 0, n*len(columns))
		for _, row := range rows[:n] {
			args = append(args, row...)
		}
		if _, err := t.ExecContext(ctx, query, args...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

const tenantWord = ":tenant"

// text puts the tenant in and numbers the parameters for PostgreSQL. What stands in
// quotes stays.
func (t *tx) text(query string) string {
	var out strings.Builder
	out.Grow(len(query) + 32)
	quoted, n := false, 0
	for i := 0; i < len(query); i++ {
		switch c := query[i]; {
		case c == '\'':
			quoted = !quoted
			out.WriteByte(c)
		case !quoted && c == '?' && t.postgres:
			n++
			out.WriteByte('$')
			out.WriteString(strconv.Itoa(n))
		case !quoted && c == ':' && strings.HasPrefix(query[i:], tenantWord):
			// A literal is safe: checkTenant lets nothing through that ends one.
			out.WriteString("'" + t.tenant + "'")
			i += len(tenantWord) - 1
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

func checkTenant(tenant string) error {
	if ok, _ := regexp.MatchString(`^[a-z0-9][a-z0-9_-]{0,62}$`, tenant); !ok {
		return fmt.Errorf("%w: tenant %q; want lower-case letters, digits, - and _, at most 63", ErrInvalid, tenant)
	}
	return nil
}
