package store

import "testing"

// Setting is the value of a server's setting in a connection, or in the ledger's.
func (s *Store) Setting(t testing.TB, name string, ledger bool) (value string) {
	t.Helper()
	db := s.db
	if ledger {
		db = s.writer
	}
	if err := db.row(t.Context(), "SHOW "+name).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}
