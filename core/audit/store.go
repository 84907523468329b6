package audit

import (
	"context"
	"iter"
)

// A Query says which entries to read. The zero value is all.
type Query struct {
	// After leaves out the entries up to that number.
	After int64
	// Before, unless 0, leaves out the entries from that number on.
	Before int64
	// Newest returns them by descending number.
	Newest bool
	// Subject, unless empty, leaves out those of others.
	Subject string
}

// Matches reports whether the query asks for that entry.
func (q Query) Matches(e *Entry) bool {
	return e.Number > q.After && (q.Before == 0 || e.Number < q.Before) && (q.Subject == "" || e.Subject == q.Subject)
}

// A Store keeps the record. It has no way to append: an entry is written in the transaction of
// the change that it records. Entries are never changed nor deleted, and
// the database refuses to.
type Store interface {
	// Entries returns what the query asks for by ascending number, or by descending one, as it is stored. An
	// error ends the sequence. It may be left early, and entries that are appended
	// meanwhile may be among it.
	Entries(ctx context.Context, query Query) iter.Seq2[*Entry, error]
}

// A Recorder appends entries of changes that are not the database's, such as a file's. It is called
// before the change, so that there is none without its entry.
type Recorder interface {
	Record(ctx context.Context, change Change) error
}
