package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// waitsEvery is how often Config.Waits is called while it is waited.
const waitsEvery = time.Minute

// Wait is that a process waits for another one, which migrates the same PostgreSQL database.
type Wait struct {
	// Store is the address of the database, without the password.
	Store string
	// Holder is the process that holds the lock of migrations, by its number in pg_stat_activity, with the name, the
	// user, the address and the time that the server shows to this user.
	Holder string
	// Waited is for how long it is waited already.
	Waited time.Duration
}

// holderOf describes who holds an advisory lock of the database; empty is nobody.
func holderOf(ctx context.Context, db database, lock int64) (string, error) {
	var number int64
	var name, user, from string
	var since sql.NullTime
	err := db.row(ctx, `SELECT a.pid, COALESCE(a.application_name, ''), COALESCE(a.usename::text, ''), COALESCE(host(a.client_addr), ''), a.xact_start
		FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid
		WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.classid::bigint = ? AND l.objid::bigint = ?
		AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`, lock>>32, lock&0xffffffff).Scan(&number, &name, &user, &from, &since)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var holder strings.Builder
	fmt.Fprintf(&holder, "process %d", number)
	for _, part := range []struct{ before, text string }{{" (", name}, {" of user ", user}, {" from ", from}} {
		if part.text == "" {
			continue
		}
		holder.WriteString(part.before + part.text)
		if part.before == " (" {
			holder.WriteString(")")
		}
	}
	if since.Valid {
		holder.WriteString(" since " + since.Time.UTC().Format(time.RFC3339))
	}
	return holder.String(), nil
}
