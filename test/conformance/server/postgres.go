package server

import "testing"

// Postgres is a PostgreSQL server of the tests' own.
type Postgres struct{ *servant }

// StartPostgres starts a server. The test's end ends it.
func StartPostgres(tb testing.TB) *Postgres {
	tb.Helper()
	return &Postgres{startServant(tb)}
}

// Database makes an empty database and returns its URL, a Data of Options.
func (p *Postgres) Database(tb testing.TB) string {
	tb.Helper()
	return p.ask(tb, "database")
}
