package ledger

import (
	"context"
	"time"
)

// Position is the place of an entry among those that are listed: by Start, then by process and
// number. The zero Position is that of the newest.
type Position struct {
	// Start is in microseconds since 1970.
	Start           int64
	Process, Number int64
}

// Filter says which entries are meant: those for which all that is set holds. Texts are
// compared as a whole; the zero Filter means all.
type Filter struct {
	// Since is the earliest start, Until what all began before; the zero times bound nothing.
	Since, Until time.Time
	// Outcomes are those meant; none is all.
	Outcomes                       []Outcome
	Protocol, UpstreamProtocol     string
	Model, Served, Route, Upstream string
	KeyID, Owner                   string
	RequestID, TraceID             string
	Kind, Reason                   string
	// WithoutKind means those that have no Kind.
	WithoutKind bool
	// Lost means those that lost a member, Retried those of more than one call.
	Lost, Retried bool
}

// Located is an entry with the number of its process.
type Located struct {
	Process int64
	*Entry
}

// Page is a part of a list of entries.
type Page struct {
	// Entries are the newest first.
	Entries []Located
	// Next is where the next page begins; nil where there is none.
	Next *Position
}

// Searcher finds entries. Its methods read a bounded part of the entries each, so that none of
// them takes long, however many there are.
type Searcher interface {
	// Search lists entries from the newest, or from behind a position on, at most size. Where
	// few match it returns fewer, or none, with a Next.
	Search(ctx context.Context, filter Filter, after *Position, size int) (Page, error)
	// Find returns one entry; nil where there is none.
	Find(ctx context.Context, process, number int64) (*Located, error)
	// Neighbours returns entries of a trace that began within an hour of at, the oldest first,
	// at most size.
	Neighbours(ctx context.Context, trace string, at time.Time, size int) ([]Located, error)
	// Failures counts the failed requests that began at since or later and before until, by upstream and
	// kind: those among the newest that did not simply succeed. The zero times bound nothing.
	Failures(ctx context.Context, since, until time.Time) (Failures, error)
	// Tail returns what was written since: see Cursor.
	Tail(ctx context.Context, cursor *Cursor) (ended []Located, dropped int64, err error)
}

// Cursor is how far a Tail has read: of each process the number of the last entry, and those
// that were open. The zero Cursor begins with what is written from now on. It is not for
// concurrent use.
type Cursor struct {
	// Last are the numbers by process; nil before the first call.
	Last map[int64]int64
	// Open are the entries whose end is waited for.
	Open map[Key]struct{}
}

// Key names an entry.
type Key struct{ Process, Number int64 }

// Means reports whether the filter means the entry.
func (f *Filter) Means(e *Entry) bool {
	if !f.Since.IsZero() && e.Start.Before(f.Since) || !f.Until.IsZero() && !e.Start.Before(f.Until) {
		return false
	}
	if len(f.Outcomes) > 0 {
		found := false
		for _, o := range f.Outcomes {
			found = found || o == e.Outcome
		}
		if !found {
			return false
		}
	}
	for _, text := range [...][2]string{
		{f.Protocol, e.Protocol}, {f.UpstreamProtocol, e.UpstreamProtocol}, {f.Model, e.Request.Model}, {f.Served, e.Result.Model},
		{f.Route, e.Route}, {f.Upstream, e.Upstream}, {f.KeyID, e.KeyID}, {f.Owner, e.Owner}, {f.RequestID, e.ID}, {f.TraceID, e.TraceID},
		{f.Kind, e.Kind}, {f.Reason, e.Reason},
	} {
		if text[0] != "" && text[0] != text[1] {
			return false
		}
	}
	if f.WithoutKind && e.Kind != "" {
		return false
	}
	return (!f.Lost || e.Losses != "") && (!f.Retried || e.Attempts > 1)
}
