package ledger

import (
	"testing"

	"github.com/genway/genway/test/conformance/server"
)

// onEach runs a test on each kind of store, at once: data is a directory or the URL of
// a PostgreSQL database.
func onEach(t *testing.T, test func(t *testing.T, data string)) {
	t.Helper()
	for kind, fresh := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { t.Helper(); return t.TempDir() },
		"PostgreSQL": func(t *testing.T) string { t.Helper(); return server.StartPostgres(t).Database(t) },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}
