package store

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// concurrently begins the statement by which PostgreSQL makes an index while others write. PostgreSQL refuses the
// statement in a transaction and for a partitioned table.
const concurrently = "CREATE INDEX CONCURRENTLY"

// indexPattern is the statement of a step that makes an index beside writers. The step has no other.
var indexPattern = regexp.MustCompile(`(?s)^(?:\s*--[^\n]*\n)*\s*` + concurrently + ` (\w+) ON (\w+) ([^;]+);\s*$`)

// concurrent reports whether the step makes an index beside writers.
func (m Migration) concurrent() bool { return strings.Contains(m.SQL, concurrently) }

// index makes the step's index beside writers, who wait for nothing. Of a partitioned table it makes
// that of each partition first, and then that of the table, which takes those that are there. What a step that
// was interrupted has left is made again.
func (m Migration) index(ctx context.Context, db database) error {
	parts := indexPattern.FindStringSubmatch(m.SQL)
	if parts == nil {
		return fmt.Errorf("%s: a step that makes an index beside writers has no other statement", m.Name)
	}
	name, table, rest := parts[1], parts[2], parts[3]
	partitions, err := listedBy(ctx, db, `SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass(?) ORDER BY 1`, table)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	if len(partitions) == 0 {
		err = indexOf(ctx, db, name, table, rest)
	}
	for _, partition := range partitions {
		if err == nil {
			err = indexOf(ctx, db, partition[0]+"_"+strings.TrimPrefix(name, table+"_"), partition[0], rest)
		}
	}
	if err == nil && len(partitions) > 0 {
		// A partition that was made meanwhile has few rows yet.
		c := &conversion{db: db, now: time.Now(), say: func(string) {}}
		err = c.bounded(ctx, func(tx transaction) error {
			_, err := tx.exec(ctx, `CREATE INDEX IF NOT EXISTS `+name+` ON `+table+` `+rest)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	return nil
}

// indexOf makes an index of a table without partitions, unless it is there and good.
func indexOf(ctx context.Context, db database, name, table, rest string) error {
	found, err := listedBy(ctx, db, `SELECT indisvalid::text FROM pg_index WHERE indexrelid = to_regclass(?)`, pgx.Identifier{name}.Sanitize())
	if err != nil {
		return err
	}
	name, table = pgx.Identifier{name}.Sanitize(), pgx.Identifier{table}.Sanitize()
	if len(found) > 0 {
		if found[0][0] == "true" {
			return nil
		}
		if _, err := db.exec(ctx, `DROP INDEX CONCURRENTLY `+name); err != nil {
			return err
		}
	}
	_, err = db.exec(ctx, concurrently+` `+name+` ON `+table+` `+rest)
	return err
}

// listedBy reads rows of texts.
func listedBy(ctx context.Context, db database, query string, args ...any) (rows [][]string, err error) {
	err = db.once(ctx, sql.LevelDefault, func(tx transaction) error {
		rows, err = listed(ctx, tx, query, args...)
		return err
	})
	return rows, err
}
