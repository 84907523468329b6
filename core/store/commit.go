package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// ErrUnknown is of a change whose commit was sent and not answered: the store has made all of
// it or nothing.
var ErrUnknown = errors.New("it is not known whether the change was made")

// committed adds ErrUnknown to the error of a commit unless the store has refused it, or it
// was never sent. A FATAL error of PostgreSQL ends the connection, whatever was done before.
func committed(err error) error {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	_, local := errors.AsType[*sqlite.Error](err)
	switch {
	case ok && refused.Severity != "FATAL", local, Damaged(err), errors.Is(err, sql.ErrTxDone), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}
