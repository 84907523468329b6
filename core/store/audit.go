package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/genway/genway/core/audit"
)

// auditStore is audit.Store over the table audit.
type auditStore struct {
	db database
}

var _ audit.Store = auditStore{}

// Audit keeps the record of what was changed.
func (s *Store) Audit() audit.Store {
	return auditStore{db: s.db}
}

// Recorder appends entries of changes that are not the database's.
func (s *Store) Recorder() audit.Recorder {
	return auditStore{db: s.db}
}

// Record appends an entry, in a transaction of its own.
func (s auditStore) Record(ctx context.Context, change audit.Change) error {
	return s.db.change(ctx, func(tx transaction) error { return record(ctx, tx, []audit.Change{change}) })
}

// record appends what was changed, within the change's transaction. No other
// transaction appends meanwhile: see database.change.
func record(ctx context.Context, tx transaction, changes []audit.Change) error {
	if len(changes) == 0 {
		return nil
	}
	var head audit.Entry
	var hash []byte
	last := &head
	switch err := tx.row(ctx, `SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1`).Scan(&head.Number, &hash); {
	case errors.Is(err, sql.ErrNoRows):
		last = nil
	case err != nil:
		return fmt.Errorf("read the head of the audit: %w", err)
	}
	copy(head.Hash[:], hash)
	const one = `(?, ?, ?, ?, ?, ?, ?, ?)`
	for len(changes) > 0 {
		n := min(len(changes), insertBatch)
		args := make([]any, 0, 8*n)
		for _, change := range changes[:n] {
			last = audit.Append(last, change)
			args = append(args, last.Number, last.Time.UnixMicro(), last.Actor, last.Action, last.Subject, last.Detail, last.Previous[:], last.Hash[:])
		}
		_, err := tx.exec(ctx, `INSERT INTO audit (number, time, actor, action, subject, detail, previous, hash) VALUES `+one+strings.Repeat(", "+one, n-1), args...)
		if err != nil {
			return fmt.Errorf("append to the audit: %w", err)
		}
		changes = changes[n:]
	}
	return nil
}

// auditPage is how many entries are read at once: a walk over them holds neither a
// connection nor a lock in between.
const auditPage = 1000

// Entries returns what the query asks for.
func (s auditStore) Entries(ctx context.Context, query audit.Query) iter.Seq2[*audit.Entry, error] {
	return func(yield func(*audit.Entry, error) bool) {
		for {
			page, err := s.page(ctx, query)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if len(page) < auditPage {
				return
			}
			if last := page[len(page)-1].Number; query.Newest {
				query.Before = last
			} else {
				query.After = last
			}
		}
	}
}

func (s auditStore) page(ctx context.Context, query audit.Query) ([]*audit.Entry, error) {
	statement := `SELECT number, time, actor, action, subject, detail, previous, hash FROM audit WHERE number > ?`
	args := []any{query.After}
	order := `number`
	if query.Newest {
		order = `number DESC`
	}
	if query.Before != 0 {
		statement += ` AND number < ?`
		args = append(args, query.Before)
	}
	if query.Subject != "" {
		statement += ` AND subject = ?`
		args = append(args, query.Subject)
	}
	rows, err := s.db.query(ctx, statement+` ORDER BY `+order+` LIMIT ?`, append(args, auditPage)...)
	if err != nil {
		return nil, fmt.Errorf("select the audit: %w", err)
	}
	defer rows.Close()
	var page []*audit.Entry
	for rows.Next() {
		var (
			e              audit.Entry
			at             int64
			previous, hash sql.RawBytes
		)
		if err := rows.Scan(&e.Number, &at, &e.Actor, &e.Action, &e.Subject, &e.Detail, &previous, &hash); err != nil {
			return nil, fmt.Errorf("scan the audit: %w", err)
		}
		if len(previous) != sha256.Size || len(hash) != sha256.Size {
			return nil, &audit.BrokenError{Number: e.Number, Reason: "its hash is not one"}
		}
		e.Time = time.UnixMicro(at).UTC()
		copy(e.Previous[:], previous)
		copy(e.Hash[:], hash)
		page = append(page, &e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("select the audit: %w", err)
	}
	return page, nil
}
