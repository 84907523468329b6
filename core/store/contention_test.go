//go:build unix

package store_test

import (
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/servers"
)

// Who did not get the write lock in time tries again; what is wrong for good is not
// tried again.
func TestSQLiteBusyIsTriedAgain(t *testing.T) {
	path := newFile(t)
	opened(t, path)
	writer, waiter := raw(t, "file:"+path+"?_txlock=immediate"), raw(t, "file:"+path+"?_txlock=immediate")
	tx, err := writer.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := waiter.BeginTx(t.Context(), nil); err == nil || !store.TriesAgain(err) {
		t.Errorf("%v is not tried again", err)
	}
	if _, err := waiter.ExecContext(t.Context(), `SELECT nonsense`); err == nil || store.TriesAgain(err) {
		t.Errorf("%v is tried again", err)
	}
}

// A batch that the server ends because it and another transaction wait for each other is
// written again, and the caller does not learn of it. The other transaction can only go
// on when the batch, which has its second row, was ended.
func TestPostgresDeadlockIsTriedAgain(t *testing.T) {
	location := servers.PostgresDatabase(t)
	// The transaction that looks for deadlocks is ended: the other one does not look.
	s := opened(t, location+"&deadlock_timeout=3s&lock_timeout=60s")
	process, err := s.Ledger().Begin(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	entries := func(outcome ledger.Outcome) (all []*ledger.Entry) {
		for n := range int64(2) {
			all = append(all, &ledger.Entry{Number: n, Result: ledger.Result{Outcome: outcome}})
		}
		return all
	}
	if err := s.Ledger().Write(t.Context(), process, entries(ledger.Open)); err != nil {
		t.Fatal(err)
	}
	db := raw(t, location)
	other, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	do := func(statement string) {
		t.Helper()
		if _, err := other.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	do(`SET LOCAL deadlock_timeout = '1h'`)
	do(`UPDATE ledger SET model = 'other' WHERE number = 1`)
	written := make(chan error, 1)
	go func() { written <- s.Ledger().Write(t.Context(), process, entries(ledger.OK)) }()
	for waiting := false; !waiting; {
		err := db.QueryRowContext(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)
			WHERE NOT granted AND datname = current_database() AND application_name = 'genway')`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	do(`UPDATE ledger SET model = 'other' WHERE number = 0`)
	if err := other.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	for e, err := range s.Ledger().Entries(t.Context(), time.Time{}) {
		if err != nil || e.Outcome != ledger.OK || e.Request.Model != "other" {
			t.Errorf("%+v, %v", e, err)
		}
	}
}
