package programs

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/server"
)

// missingTables starts servers and commands on stores two of whose tables were dropped.
func missingTables(t *testing.T, each stores) {
	each.each(t, func(t *testing.T, data string) {
		if _, err := server.CreateKey(data, "chat", "of a whole store"); err != nil {
			t.Fatal(err)
		}
		driver, source, at := "sqlite", filepath.Join(data, "genway.db"), server.At(data)
		if strings.HasPrefix(data, "postgres://") {
			driver, source, at = "pgx", data, append(at, "--data", t.TempDir())
		}
		db, err := sql.Open(driver, source)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, table := range []string{"items", "captures"} {
			if _, err := db.ExecContext(t.Context(), "DROP TABLE "+table); err != nil {
				t.Fatal(err)
			}
		}
		for _, command := range [][]string{
			{"serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--first-keys", "none"},
			{"keys", "list"},
			{"ledger", "check"},
		} {
			_, err := server.Output("genway", slices.Concat(command, at)...)
			if err == nil || !strings.Contains(err.Error(), "exit status 1\n") || !strings.Contains(err.Error(), "are missing (items, captures)") {
				t.Errorf("%q: %v", command, err)
			}
		}
	})
}
