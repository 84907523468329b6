package store

import (
	"context"
	"database/sql"
	"sync"
)

// kept has statements of SQLite that are asked again and again, prepared: to prepare one takes longer than to
// read what it finds. Drivers of PostgreSQL keep what they have prepared themselves. It is for a few texts that
// never change, and safe for concurrent use.
type kept struct {
	mu       sync.Mutex
	prepared map[string]*sql.Stmt
}

// kept returns the rows of a statement that stays prepared until the database is closed.
func (d database) kept(ctx context.Context, statement string, args ...any) (*result, error) {
	if d.statements == nil {
		return d.query(ctx, statement, args...)
	}
	prepared, err := d.statements.of(ctx, d.pool, d.bind(statement)) //nolint:sqlclosecheck // it is closed with the database
	if err != nil {
		return nil, d.seen.note(err)
	}
	list, err := prepared.QueryContext(ctx, args...) //nolint:rowserrcheck // the result's user asks it
	return &result{list, d.seen}, d.seen.note(err)
}

func (k *kept) of(ctx context.Context, pool *sql.DB, statement string) (*sql.Stmt, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if prepared, ok := k.prepared[statement]; ok {
		return prepared, nil
	}
	prepared, err := pool.PrepareContext(ctx, statement) //nolint:sqlclosecheck // it is closed with the database
	if err != nil {
		return nil, err
	}
	if k.prepared == nil {
		k.prepared = map[string]*sql.Stmt{}
	}
	k.prepared[statement] = prepared
	return prepared, nil
}
