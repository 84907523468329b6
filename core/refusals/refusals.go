// Package refusals keeps a sample of the requests that were refused for their key or a limit, in the memory of the
// process. The ledger has no rows of them: a stranger could fill a disk with these, at no cost.
//
// It must not import core, admin or a store.
package refusals

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// The bounds of the sample. A request without a known key counts as one of the key "".
const (
	// MaxKept bounds the requests that are kept: the oldest go first.
	MaxKept = 1000
	// MaxOfKey bounds the requests of one key that are kept.
	MaxOfKey = 50
	// MaxPerMinute bounds the requests of one key that are taken within a minute.
	MaxPerMinute = 10
	// maxKeys bounds the keys that are counted within a minute; requests of more are omitted.
	maxKeys = 4096
	// maxModel bounds the name of a model, in bytes.
	maxModel = 128
)

// Request is a request that was refused.
type Request struct {
	ID, KeyID, Owner, Protocol, Method, Model string
	Start                                     time.Time
	// Kind, Reason and Message are the refusal's.
	Kind, Reason, Message string
	// Quota is the limit that refused it; nil where none did. It is not to be changed.
	Quota *genwayv1.Quota
}

// Sample is what a Log has.
type Sample struct {
	// Requests are those that are kept, newest first.
	Requests []Request
	// Omitted is how many were refused besides, Since when the log began.
	Omitted int64
	Since   time.Time
}

// Log is the sample. It is safe for concurrent use.
type Log struct {
	clock func() time.Time

	mu      sync.Mutex
	since   time.Time
	kept    []Request // oldest first
	omitted int64
	// minute is the one in which the requests of taken came, by key.
	minute int64
	taken  map[string]int
}

// New makes an empty log. The clock is time.Now but in tests.
func New(clock func() time.Time) *Log {
	return &Log{clock: clock, since: clock(), taken: map[string]int{}}
}

// kinds are the failures that are kept. Of others the ledger has rows, or only the caller can act on them.
var kinds = []fault.Kind{fault.Unauthenticated, fault.PermissionDenied, fault.RateLimited, fault.QuotaExhausted}

// Add takes a call that has failed. Calls that were admitted, that failed for another reason, or that were shed under an
// overload are passed over. A nil log keeps nothing.
func (l *Log) Add(r *call.Record, f *fault.Error) {
	if l == nil || r.Admitted || r.Shed || f.Quota == nil && !slices.Contains(kinds, f.Kind) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := r.Caller.KeyID
	if minute := l.clock().Unix() / 60; minute != l.minute {
		l.minute = minute
		clear(l.taken)
	}
	if _, known := l.taken[key]; l.taken[key] >= MaxPerMinute || !known && len(l.taken) >= maxKeys {
		l.omitted++
		return
	}
	l.taken[key]++
	l.makeRoom(key)
	l.kept = append(l.kept, Request{
		ID: r.ID, KeyID: key, Owner: r.Caller.Owner, Protocol: protocol.Of(r.Caller.Protocol).Name, Method: r.RPC(), Start: r.Start,
		Model: strings.ToValidUTF8(r.AskedModel[:min(len(r.AskedModel), maxModel)], ""), Kind: fault.Name(f.Kind), Reason: f.Reason, Message: call.Quote(f.Message), Quota: f.Quota,
	})
}

// makeRoom removes the oldest request of a key that has as many as it may, or the oldest of all.
func (l *Log) makeRoom(key string) {
	first, of := -1, 0
	for i := range l.kept {
		if l.kept[i].KeyID == key {
			if of++; first < 0 {
				first = i
			}
		}
	}
	switch {
	case of >= MaxOfKey:
	case len(l.kept) >= MaxKept:
		first = 0
	default:
		return
	}
	l.kept = slices.Delete(l.kept, first, first+1)
	l.omitted++
}

// Sample returns the requests that are kept.
func (l *Log) Sample() Sample {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.Clone(l.kept)
	slices.Reverse(list)
	return Sample{list, l.omitted, l.since}
}
