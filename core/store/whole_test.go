package store_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/core/store"
)

// The schema in one piece is what the steps make: tables, indexes and triggers to the letter, and
// rows. The schema of a program is the same whether its file was made at once or by the steps.
func TestWholeSchema(t *testing.T) {
	steps := filepath.Join(t.TempDir(), store.FileName)
	store.MigrateByStep(t, steps, store.WholeVersion)
	got := pieces(t, steps)
	if len(got) < 30 {
		t.Fatalf("the steps make only %q", got)
	}
	text := strings.Join(got, ";\n") + ";\n"
	if *update {
		if err := os.WriteFile("whole.sql", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("whole.sql")
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("whole.sql is not what the steps up to %d make, which -update writes: they make\n%s", store.WholeVersion, text)
	}

	all, fresh := filepath.Join(t.TempDir(), store.FileName), newFile(t)
	store.MigrateByStep(t, all, 1<<62)
	opened(t, fresh)
	one, other := pieces(t, all), pieces(t, fresh)
	slices.Sort(one)
	slices.Sort(other)
	if !slices.Equal(one, other) {
		t.Errorf("by the steps:\n%s\nat once:\n%s", strings.Join(one, "\n"), strings.Join(other, "\n"))
	}
}

// pieces are the statements that make what a file has, but goose's table.
func pieces(t testing.TB, location string) []string {
	t.Helper()
	db := raw(t, location)
	const ours = ` FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%'`
	values := func(query string) (all []string) {
		for _, value := range column(t, db, query) {
			all = append(all, strings.TrimSuffix(value, "\n"))
		}
		return all
	}
	statements := values(`SELECT sql` + ours + ` ORDER BY rowid`)
	for _, table := range values(`SELECT name` + ours + ` AND type = 'table' ORDER BY rowid`) {
		row := strings.Join(values(`SELECT 'quote("' || name || '")' FROM pragma_table_info('`+table+`') ORDER BY cid`), ` || ', ' || `)
		statements = append(statements, values(`SELECT 'INSERT INTO `+table+` VALUES (' || `+row+` || ')' FROM "`+table+`"`)...)
	}
	return statements
}
