package store

import (
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// addressError is an error of a PostgreSQL database, with its address: an operator may have several, and the
// network's words, such as "unexpected EOF", name none.
type addressError struct {
	address string
	err     error
}

// addressed adds the address, once. An empty address adds nothing.
func addressed(address string, err error) error {
	if _, ok := errors.AsType[*addressError](err); ok || err == nil || address == "" {
		return err
	}
	return &addressError{address, err}
}

func (e *addressError) Error() string { return "store " + e.address + ": " + connectionReason(e.err) }
func (e *addressError) Unwrap() error { return e.err }

// connectionReason is the text of an error in one line. pgx and database/sql have several texts for a connection
// that the server or the network has ended.
func connectionReason(err error) string {
	if lost(err) {
		return "the connection to the server was lost"
	}
	return oneLine(err.Error())
}

func lost(err error) bool {
	return slices.ContainsFunc([]error{
		io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE, pgconn.ErrConnClosed, driver.ErrBadConn,
	}, func(known error) bool { return errors.Is(err, known) })
}
