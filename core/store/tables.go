package store

import (
	"context"
	"fmt"
	"strings"
)

// checkTables fails, with their names, when a database lacks tables that the steps up to its
// version make. A step that drops a table is to be taken into account here.
func checkTables(ctx context.Context, db database, version int64, known []Migration) error {
	rows, err := db.query(ctx, db.tables)
	if err != nil {
		return fmt.Errorf("read the schema's tables: %w", err)
	}
	defer rows.Close()
	there := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return fmt.Errorf("read the schema's tables: %w", err)
		}
		there[name] = true
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the schema's tables: %w", err)
	}
	var missing []string
	for _, step := range known {
		if step.Version > version {
			break
		}
		text, err := migrations.ReadFile("migrations/" + step.Name)
		if err != nil {
			return fmt.Errorf("read the migrations: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			made, found := strings.CutPrefix(line, "CREATE TABLE ")
			name, _, _ := strings.Cut(made, " ")
			if found && !there[name] {
				missing = append(missing, name)
			}
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("its schema is version %d, but tables of it are missing (%s): restore it from a backup (docs/operation.md, When a store or disk fails)", version, strings.Join(missing, ", "))
	}
	return nil
}
