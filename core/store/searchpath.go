package store

import (
	"slices"
	"strings"

	"github.com/genway/genway/core/ledger"
)

// ofFaults is the condition of the index ledger_faults, word for word, by which the databases know that it has all
// that a search means.
const ofFaults = "(attempts > 1 OR outcome NOT IN ('ok', 'open') OR kind <> '' OR reason <> '')"

// condition is the filter as conditions, without its times and what the path has of it, and whether the index has
// all that they are about.
func condition(f *ledger.Filter, by accessPath) (conditions []string, args []any, covered bool) {
	covered = true
	add := func(condition string, values ...any) {
		conditions, args = append(conditions, condition), append(args, values...)
	}
	for _, equal := range [...]struct{ column, value string }{
		{"key_id", f.KeyID}, {"owner", f.Owner}, {"protocol", f.Protocol}, {"upstream_protocol", f.UpstreamProtocol}, {"model", f.Model},
		{"served_model", f.Served}, {"route", f.Route}, {"upstream", f.Upstream}, {"request_id", f.RequestID}, {"trace_id", f.TraceID},
		{"kind", f.Kind}, {"reason", f.Reason},
	} {
		if equal.value == "" {
			continue
		}
		covered = covered && slices.Contains(by.columns, equal.column)
		if equal.column == "key_id" && by.index != byTime.index {
			if by.index == byFaults.index {
				add("key_id = ?", text(equal.value)) // without what the index of keys is known by
			}
			continue
		}
		add(equal.column+" = ?", text(equal.value))
	}
	if len(f.Outcomes) > 0 {
		var values []any
		for _, o := range f.Outcomes {
			values = append(values, string(o))
		}
		add("outcome IN (?"+strings.Repeat(", ?", len(values)-1)+")", values...)
	}
	covered = covered && (len(f.Outcomes) == 0 || slices.Contains(by.columns, "outcome"))
	if f.WithoutKind {
		covered = covered && slices.Contains(by.columns, "kind")
		add("kind = ''")
	}
	if f.Lost {
		covered = false
		add("losses <> ''")
	}
	if f.Retried {
		covered = covered && slices.Contains(by.columns, "attempts")
		add("attempts > 1")
	}
	return conditions, args, covered
}

// accessPath is the index by which a page is read, in the order of the times.
type accessPath struct {
	index string
	// only is the condition that the index has; empty for none.
	only string
	// columns are those that the index has, beside the times.
	columns []string
}

var (
	byTime   = accessPath{index: "ledger_start_time"}
	byKey    = accessPath{index: "ledger_key_time", only: "key_id = ? AND key_id <> ''", columns: []string{"key_id"}}
	byFaults = accessPath{index: "ledger_faults", only: ofFaults, columns: []string{"outcome", "attempts", "key_id", "upstream", "kind", "reason"}}
)

// pathOf chooses the index that has the fewest entries beside those that the filter means.
func pathOf(f *ledger.Filter) accessPath {
	fine := func(o ledger.Outcome) bool { return o == ledger.OK || o == ledger.Open }
	switch {
	case f.Retried, f.Kind != "", f.Reason != "", len(f.Outcomes) > 0 && !slices.ContainsFunc(f.Outcomes, fine):
		return byFaults
	case f.KeyID != "":
		return byKey
	}
	return byTime
}
