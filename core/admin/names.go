package admin

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/core/ledger"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// Namer knows the names of keys. A store.Store does.
type Namer interface {
	// KeyNames returns the names of the keys that have those ids and a name.
	KeyNames(ctx context.Context, ids []string) (map[string]string, error)
}

// maxNames bounds the rows of a report whose keys are named: those that cost most.
const maxNames = 1000

// names returns the names of keys, each of which ids may have several times, and empty ones.
func (s *Service) names(ctx context.Context, ids []string) (map[string]string, error) {
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
	if s.config.Names == nil || len(ids) == 0 {
		return nil, nil
	}
	names, err := s.config.Names.KeyNames(ctx, ids)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	return names, nil
}

// keysOf are the ids of the keys of requests.
func keysOf(requests ...*adminv1.LoggedRequest) []string {
	ids := make([]string, len(requests))
	for i, r := range requests {
		ids[i] = r.GetKeyId()
	}
	return ids
}

// keysOfAudit are the ids of the keys that made entries, or that entries are about.
func keysOfAudit(entries []*adminv1.AuditEntry) []string {
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutPrefix(e.GetActor(), "key:"); ok {
			ids = append(ids, id)
		}
		ids = append(ids, e.GetSubject())
	}
	return ids
}

// keysOfUsage are the ids of the keys in the rows of a report that cost most.
func keysOfUsage(by []ledger.Dimension, rows []ledger.Row) []string {
	at := slices.Index(by, ledger.ByKey)
	if at < 0 {
		return nil
	}
	if len(rows) > maxNames {
		rows = slices.Clone(rows)
		slices.SortFunc(rows, func(a, b ledger.Row) int {
			return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Requests, a.Requests))
		})
		rows = rows[:maxNames]
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.Values[at]
	}
	return ids
}

const (
	// namesFor is how long the live tail takes a key's name for what it was.
	namesFor = time.Minute
	// maxNamed bounds how many keys it knows.
	maxNamed = 10_000
)

// namer remembers the names of the keys of the live tail, so that it does not ask for each request. It
// is for one goroutine.
type namer struct {
	names func(ctx context.Context, ids []string) (map[string]string, error)
	known map[string]string // with the empty names of keys that have none
	until time.Time
}

// of returns the names of the keys of requests. A failure leaves names out.
func (n *namer) of(ctx context.Context, requests []*adminv1.LoggedRequest) map[string]string {
	if n.names == nil || len(requests) == 0 {
		return nil
	}
	if now := time.Now(); now.After(n.until) || len(n.known) > maxNamed {
		n.known, n.until = map[string]string{}, now.Add(namesFor)
	}
	var unknown []string
	for _, r := range requests {
		if _, ok := n.known[r.GetKeyId()]; !ok {
			unknown = append(unknown, r.GetKeyId())
		}
	}
	if len(unknown) > 0 {
		found, err := n.names(ctx, unknown)
		if err == nil {
			for _, id := range unknown {
				n.known[id] = ""
			}
			maps.Copy(n.known, found)
		}
	}
	named := map[string]string{}
	for _, r := range requests {
		if name := n.known[r.GetKeyId()]; name != "" {
			named[r.GetKeyId()] = name
		}
	}
	return named
}
