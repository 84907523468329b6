package store

import (
	"strings"
	"unicode/utf8"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/ledger"
)

// column is one of an entry's: an integer or a text.
type column struct {
	name    string
	integer func(*ledger.Entry) int64
	text    func(*ledger.Entry) string
}

// ledgerColumns are an entry's, in the order of scanEntry. Figures that sums are made of
// are amounts that every store holds exactly: no other reaches a statement.
var ledgerColumns = append([]column{
	{"number", func(e *ledger.Entry) int64 { return e.Number }, nil},
	{"request_id", nil, func(e *ledger.Entry) string { return e.ID }},
	{"key_id", nil, func(e *ledger.Entry) string { return e.KeyID }},
	{"owner", nil, func(e *ledger.Entry) string { return e.Owner }},
	{"protocol", nil, func(e *ledger.Entry) string { return e.Protocol }},
	{"method", nil, func(e *ledger.Entry) string { return e.Method }},
	{"model", nil, func(e *ledger.Entry) string { return e.Request.Model }},
	{"start_time", func(e *ledger.Entry) int64 { return e.Start.UnixMicro() }, nil},
	{"trace_id", nil, func(e *ledger.Entry) string { return e.TraceID }},
	{"outcome", nil, func(e *ledger.Entry) string { return string(e.Outcome) }},
	{"kind", nil, func(e *ledger.Entry) string { return e.Kind }},
	{"reason", nil, func(e *ledger.Entry) string { return e.Reason }},
	{"route", nil, func(e *ledger.Entry) string { return e.Route }},
	{"upstream", nil, func(e *ledger.Entry) string { return e.Upstream }},
	{"attempts", func(e *ledger.Entry) int64 { return e.Attempts }, nil},
	{"served_model", nil, func(e *ledger.Entry) string { return e.Result.Model }},
	{"cost", func(e *ledger.Entry) int64 { return amount.Bound(e.Cost) }, nil},
	{"price", nil, func(e *ledger.Entry) string { return e.Price }},
	{"usage_source", nil, func(e *ledger.Entry) string { return string(e.UsageSource) }},
	{"duration", func(e *ledger.Entry) int64 { return e.Duration.Microseconds() }, nil},
	{"first_event", func(e *ledger.Entry) int64 { return amount.Bound(e.FirstEvent.Microseconds()) }, nil},
	{"upstream_protocol", nil, func(e *ledger.Entry) string { return e.UpstreamProtocol }},
	{"losses", nil, func(e *ledger.Entry) string { return e.Losses }},
	{"timeline", nil, func(e *ledger.Entry) string { return e.Timeline }},
	{"unpriced", func(e *ledger.Entry) int64 { return flag(e.Unpriced) }, nil},
	{"charges", nil, func(e *ledger.Entry) string { return e.Charges }},
}, kindColumns()...)

// flag is how a column has a bool.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// kindColumns are those of what a request used.
func kindColumns() []column {
	columns := make([]column, len(ledger.Kinds))
	for i, k := range ledger.Kinds {
		columns[i] = column{k.Name, func(e *ledger.Entry) int64 { return amount.Bound(*e.Usage.At(k)) }, nil}
	}
	return columns
}

// openingColumns is how many of them are known as a request begins; they never change.
const openingColumns = 9

// columnNames are their names, as statements list them.
var columnNames = func() string {
	var names []string
	for _, c := range ledgerColumns {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}()

// closeEntry follows the values of an insertion: what is open is closed, and what is
// closed stays as it is. identity are the columns of the unique index that an entry is known by.
func closeEntry(identity string) string {
	var set []string
	for _, c := range ledgerColumns[openingColumns:] {
		set = append(set, c.name+" = excluded."+c.name)
	}
	return ` ON CONFLICT (` + identity + `) DO UPDATE SET ` + strings.Join(set, ", ") + `
		WHERE ledger.outcome IN ('open', 'interrupted') AND excluded.outcome <> 'open'`
}

const (
	identityOfRow = "process, number"
	// identityByDay has the column of the partitions, which PostgreSQL wants in each unique index of
	// them. An entry's start_time is the same whenever and by whomever it is written.
	identityByDay = "process, number, start_time"
)

// value is what the column has of an entry: an int64 or a string.
func (c column) value(e *ledger.Entry) any {
	if c.text != nil {
		return text(c.text(e))
	}
	return c.integer(e)
}

// same reports whether two entries have the same value.
func (c column) same(a, b *ledger.Entry) bool {
	if c.text != nil {
		return c.text(a) == c.text(b)
	}
	return c.integer(a) == c.integer(b)
}

// text is s as every database keeps it: PostgreSQL refuses a zero byte and what is not
// UTF-8, and one such text would keep its whole batch from being written.
func text(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
