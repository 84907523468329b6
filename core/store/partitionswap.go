package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// obstacles returns what a partitioning would lose, what would read only the first partition after it, and
// the nodes that could no longer write.
func obstacles(ctx context.Context, tx transaction, now time.Time) ([]string, error) {
	all, err := olderNodes(ctx, tx, now)
	if err != nil {
		return nil, err
	}
	for _, of := range []struct{ text, query string }{
		{"PostgreSQL %s is too old, it takes 13 or later", `SELECT current_setting('server_version') WHERE current_setting('server_version_num')::int < 130000`},
		{"the view %s reads the ledger: drop it, and create it again afterwards", `SELECT DISTINCT r.ev_class::regclass::text FROM pg_depend AS d JOIN pg_rewrite AS r ON r.oid = d.objid
			WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = 'ledger'::regclass`},
		{"the publication %s has the ledger: take it out, and add it again afterwards", `SELECT p.pubname FROM pg_publication_rel AS r JOIN pg_publication AS p ON p.oid = r.prpubid WHERE r.prrelid = 'ledger'::regclass`},
		{"the table %s refers to the ledger", `SELECT conrelid::regclass::text FROM pg_constraint WHERE contype = 'f' AND confrelid = 'ledger'::regclass`},
		{"the column %s of the ledger has privileges of its own: revoke them, and grant them again afterwards", `SELECT attname FROM pg_attribute WHERE attrelid = 'ledger'::regclass AND attacl IS NOT NULL`},
		{"the policy %s is of the ledger: drop it, and create it again afterwards", `SELECT polname FROM pg_policy WHERE polrelid = 'ledger'::regclass`},
	} {
		found, err := listed(ctx, tx, of.query)
		if err != nil {
			return nil, err
		}
		for _, row := range found {
			all = append(all, fmt.Sprintf(of.text, row[0]))
		}
	}
	return all, nil
}

// olderNodes are those with a heartbeat of late that do not say that they can write to partitions.
func olderNodes(ctx context.Context, tx transaction, now time.Time) ([]string, error) {
	rows, err := listed(ctx, tx, `SELECT id::text, host, version, seen_time::text FROM ledger_processes WHERE partitions = 0 AND seen_time >= ? ORDER BY id`, now.Add(-nodeAlive).UnixMicro())
	var all []string
	for _, row := range rows {
		node := "node " + row[0]
		if row[1] != "" {
			node += " on " + row[1]
		}
		if row[2] != "" {
			node += ", version " + row[2] + ","
		}
		all = append(all, node+" is older than this program and could not write any more: update it, or end it and wait a minute")
	}
	return all, err
}

// listed reads rows of texts.
func listed(ctx context.Context, tx transaction, query string, args ...any) ([][]string, error) {
	rows, err := tx.query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var all [][]string
	for rows.Next() {
		row, into := make([]string, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// swap makes the table the first partition of a new one of its name, in one transaction that changes
// the catalogue only: no row is read or moved. From then on programs that do not know partitions are refused. All others
// wait from the lock on, so that what can be read before is, and the statements go in one message.
func (c *conversion) swap(ctx context.Context, found Partitioning) error {
	return c.bounded(ctx, func(tx transaction) error {
		// No migration runs beside it.
		if _, err := tx.exec(ctx, fmt.Sprintf(`SELECT pg_advisory_xact_lock(%d)`, migrationLock)); err != nil {
			return err
		}
		left, err := obstacles(ctx, tx, c.now)
		if err != nil {
			return err
		}
		bound, proved, err := boundOf(ctx, tx)
		if err != nil {
			return err
		}
		if bound != found.Bound.UnixMicro() || !proved {
			return fmt.Errorf("%w: its preparation was taken back meanwhile: run it again", ErrPartition)
		}
		statements, err := swapStatements(ctx, tx, found.Bound)
		if err != nil {
			return err
		}
		// The first lock keeps nodes from beginning. Heartbeats lock the tables in the same order.
		if _, err := tx.exec(ctx, `LOCK TABLE ledger_processes IN SHARE ROW EXCLUSIVE MODE; LOCK TABLE ledger IN ACCESS EXCLUSIVE MODE`); err != nil {
			return err
		}
		older, err := olderNodes(ctx, tx, c.now)
		if err != nil {
			return err
		}
		if left = append(left, older...); len(left) > 0 {
			return fmt.Errorf("%w: %s", ErrPartition, strings.Join(left, "; "))
		}
		_, err = tx.exec(ctx, strings.Join(statements, "; "))
		return err
	})
}

// swapStatements reads what the table has, and gives the statements that give it to the new one.
func swapStatements(ctx context.Context, tx transaction, bound time.Time) ([]string, error) {
	name := "ledger_before_" + bound.Format("20060102")
	first := pgx.Identifier{name}.Sanitize()
	var dropped, renamed, made, after []string
	for _, part := range []struct {
		query string
		add   func(row []string)
	}{
		{`SELECT quote_ident(tgname), pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'ledger'::regclass AND NOT tgisinternal ORDER BY tgname`, func(row []string) {
			dropped = append(dropped, `DROP TRIGGER `+row[0]+` ON ledger`)
			after = append(after, row[1])
		}},
		{`SELECT quote_ident(conname) FROM pg_constraint WHERE conrelid = 'ledger'::regclass AND contype = 'p'`, func(row []string) {
			renamed = append(renamed, `ALTER TABLE `+first+` DROP CONSTRAINT `+row[0])
		}},
		{`SELECT c.relname, pg_get_indexdef(i.indexrelid) FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
			WHERE i.indrelid = 'ledger'::regclass AND NOT i.indisprimary AND c.relname <> '` + identityIndex + `' ORDER BY 1`, func(row []string) {
			renamed = append(renamed, `ALTER INDEX `+pgx.Identifier{row[0]}.Sanitize()+` RENAME TO `+pgx.Identifier{name + "_" + strings.TrimPrefix(row[0], "ledger_")}.Sanitize())
			made = append(made, row[1])
		}},
		{`SELECT quote_ident(conname), pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'ledger'::regclass AND contype IN ('c', 'f') AND conname <> '` + firstBound + `' ORDER BY 1`, func(row []string) {
			made = append(made, `ALTER TABLE ledger ADD CONSTRAINT `+row[0]+` `+row[1])
		}},
		{`SELECT quote_ident(pg_get_userbyid(relowner)) FROM pg_class WHERE oid = 'ledger'::regclass AND relowner <> (SELECT oid FROM pg_roles WHERE rolname = current_user)`, func(row []string) {
			after = append(after, `ALTER TABLE ledger OWNER TO `+row[0], `ALTER TABLE `+defaultPartition+` OWNER TO `+row[0])
		}},
		{`SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END, CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END
			FROM pg_class, aclexplode(relacl) WHERE oid = 'ledger'::regclass AND grantee <> relowner ORDER BY 1, 2`, func(row []string) {
			after = append(after, `GRANT `+row[0]+` ON ledger TO `+row[1]+row[2])
		}},
	} {
		rows, err := listed(ctx, tx, part.query)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			part.add(row)
		}
	}
	statements := slices.Concat(dropped, []string{`ALTER TABLE ledger RENAME TO ` + first}, renamed)
	statements = append(statements,
		`ALTER TABLE `+first+` ADD CONSTRAINT `+pgx.Identifier{name + "_pkey"}.Sanitize()+` PRIMARY KEY USING INDEX `+identityIndex,
		`CREATE TABLE ledger (LIKE `+first+` INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING COMMENTS, PRIMARY KEY (`+identityByDay+`)) PARTITION BY RANGE (start_time)`)
	statements = append(statements, made...)
	statements = append(statements,
		fmt.Sprintf(`ALTER TABLE ledger ATTACH PARTITION %s FOR VALUES FROM (MINVALUE) TO (%d)`, first, bound.UnixMicro()),
		`ALTER TABLE `+first+` DROP CONSTRAINT `+firstBound,
		`CREATE TABLE `+defaultPartition+` PARTITION OF ledger DEFAULT`,
		fmt.Sprintf(`UPDATE schema_least SET version = GREATEST(version, %d)`, partitionsSince))
	return append(statements, after...), nil
}

// abandoned removes the bound of a partitioning that was interrupted and not resumed, before the table
// refuses rows because of it.
func (s ledgerStore) abandoned(ctx context.Context, now time.Time) error {
	c := &conversion{db: s.db, now: now, say: func(string) {}}
	var bound int64
	err := s.db.once(ctx, 0, func(tx transaction) (err error) {
		bound, _, err = boundOf(ctx, tx)
		return err
	})
	if err != nil || bound == 0 || bound >= now.Add(24*time.Hour).UnixMicro() {
		return err
	}
	return c.takeBack(ctx)
}
