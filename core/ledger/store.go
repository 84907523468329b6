// Package ledger accounts for requests: one entry for each request the core accepts,
// opened when it is admitted and closed exactly once, with what became of it, what it
// used and who served it. An entry never holds a prompt, an answer or a key.
//
// A Recorder takes entries off the requests' path and writes them in batches; a Store
// keeps them (package core/store). What prices, limits and budgets make of the entries
// is for packages of their own.
//
// It must import only the standard library and core/amount: the border to the store is here.
package ledger

import (
	"context"
	"iter"
	"math"
	"strconv"
	"time"

	"github.com/genway/genway/core/amount"
)

// A Store keeps entries. Each method is atomic and safe for concurrent use by any
// number of goroutines and processes. Package core/store/storetest tests all of this.
//
// An entry is known by its process and its number, so that writing it again changes
// nothing: a write whose outcome is not known may be repeated.
type Store interface {
	// Begin makes the number of a process that will write.
	Begin(ctx context.Context, now time.Time) (process int64, err error)
	// Write adds the entries that are new and closes those that are open. What is
	// closed stays as it is, but for Interrupted: another process may have taken this
	// one for dead, and the process that ran the request knows better. An error that is ErrRefused
	// says that the store refuses what an entry holds; any other is the store's.
	Write(ctx context.Context, process int64, entries []*Entry) error
	// Beat records a heartbeat of a process and what it is, and closes as Interrupted the open
	// entries of processes without a heartbeat since dead. It reports how many it closed.
	Beat(ctx context.Context, process int64, node Node, now, dead time.Time) (interrupted int64, err error)
	// Processes returns those with a heartbeat since a time, at most the 1000 that began last, by
	// number.
	Processes(ctx context.Context, since time.Time) ([]Process, error)
	// End closes a process's open entries as Interrupted and reports how many.
	End(ctx context.Context, process int64) (interrupted int64, err error)
	// Entries walks over all entries that began at since or later, by process and
	// number. After an error there are no more.
	Entries(ctx context.Context, since time.Time) iter.Seq2[*Entry, error]
	// View runs do on one state of the store, which writers do not change meanwhile. What it
	// reads is read in one piece: a part of the ledger, not all of it.
	View(ctx context.Context, do func(View) error) error
	// Left counts the open entries of processes without a heartbeat since dead.
	Left(ctx context.Context, dead time.Time) (entries int64, err error)
	// Report sums the entries up, with what was pruned: a row for each combination of
	// the dimensions' values, in their order. Without dimensions it is one row, or none
	// where there are no entries.
	Report(ctx context.Context, query Query) ([]Row, error)
	// Spent sums up what entries cost that began on since's day, of UTC, or later, by key,
	// owner and process, in that order, without reading the entries: of one key, of one owner if
	// keyID is empty, of all if both are. The time that one takes does not grow with the number of others. Not counted are
	// entries that are open or interrupted, and what was pruned more than a month after. Rows whose cost is 0 may be
	// left out.
	Spent(ctx context.Context, since time.Time, keyID, owner string) ([]Spend, error)
	// Prune removes terminal entries that began before the day before is in, the oldest
	// first, and keeps their sums by day, key, owner, protocol, model, upstream and served
	// model. It removes count of them at once, and those that began with the last of
	// these, so that it keeps writers waiting for a moment only; of a store with partitions, whole days as
	// well. It reports how many; 0 when none are left.
	Prune(ctx context.Context, before time.Time, count int64) (pruned int64, err error)
	// Roll sums up the entries of an hour or a day that ended before, once, so that reports
	// need not read them: reports say the same before and after, and while it runs. Entries
	// may be written meanwhile and later. It reports whether there was something to do, and is
	// called again until there is not.
	Roll(ctx context.Context, before time.Time) (done bool, err error)
	// Leads reports whether a process is the one that calls Roll: the first of those with a
	// heartbeat since dead. There may be two or none for a moment.
	Leads(ctx context.Context, process int64, dead time.Time) (bool, error)
}

// A View is one state of a Store.
type View interface {
	// Next is the first moment at since or later of which the store has anything: an entry,
	// sums that reports are made of, or, for its whole day, what was pruned. The zero time is
	// before all, and is given where there is nothing.
	Next(ctx context.Context, since time.Time) (time.Time, error)
	// Walk walks over the entries that began at since or later, before until, in the order in
	// which they began. After an error there are no more.
	Walk(ctx context.Context, since, until time.Time) iter.Seq2[*Entry, error]
	// Rolled returns the sums that reports of a day, of UTC, are made of instead of its entries.
	Rolled(ctx context.Context, day time.Time) ([]Rolled, error)
	// Report is as in Store.
	Report(ctx context.Context, query Query) ([]Row, error)
}

// Rolled are the sums of the entries that are closed, of an hour or a day.
type Rolled struct {
	Start  time.Time
	Length time.Duration
	// By are the dimensions that there is a row for each combination of.
	By   []Dimension
	Rows []Row
}

// Spend is what the requests of a key cost that one process served while the key had that owner, in nano-dollars.
type Spend struct {
	// Process is the name of the process: see ProcessName.
	Process      string
	KeyID, Owner string
	Cost         int64
}

// Dimension is what a report has a row for each of.
type Dimension string

// The dimensions. Days and hours are in UTC, and are when requests began; models are those
// asked for, served models those that answered. Of what was pruned no hour is known: its value by
// hour is the day's.
const (
	ByKey      Dimension = "key"
	ByOwner    Dimension = "owner"
	ByModel    Dimension = "model"
	ByDay      Dimension = "day"
	ByHour     Dimension = "hour"
	ByProtocol Dimension = "protocol"
	ByUpstream Dimension = "upstream"
	ByServed   Dimension = "served_model"
)

// Dimensions are all there are but ByHour, which is ByDay in more detail.
var Dimensions = []Dimension{ByKey, ByOwner, ByModel, ByDay, ByProtocol, ByUpstream, ByServed}

// HourLayout is how values by hour are written, as of package time: 2026-03-01T13.
const HourLayout = "2006-01-02T15"

// Of is an entry's value of the dimension; empty for a dimension that there is not.
func (d Dimension) Of(e *Entry) string {
	switch d {
	case ByKey:
		return e.KeyID
	case ByOwner:
		return e.Owner
	case ByModel:
		return e.Request.Model
	case ByDay:
		return e.Start.UTC().Format(time.DateOnly)
	case ByHour:
		return e.Start.UTC().Format(HourLayout)
	case ByProtocol:
		return e.Protocol
	case ByUpstream:
		return e.Upstream
	case ByServed:
		return e.Result.Model
	}
	return ""
}

// Query says what a report is about.
type Query struct {
	// By is what to have rows for, each at most once.
	By []Dimension
	// Since is the earliest start of a request, Until what all began before; the zero
	// times bound nothing. Of what was pruned whole days are known: a day counts if its
	// beginning is in between.
	Since, Until time.Time
	// Pruned leaves out the entries: the report is only of what was pruned.
	Pruned bool
	// Limit, unless 0, is how many rows there are at most: the first.
	Limit int
}

// Row is one line of a report: how many requests, by outcome, and what they used.
type Row struct {
	// Values are by the query's dimensions: the key's id, the owner, the model, the
	// day (2006-01-02), the hour (2006-01-02T15), the protocol, the upstream; empty for requests that have none.
	Values                                             []string
	Requests, OK, Failed, Cancelled, Interrupted, Open int64
	Usage
	// Cost is in nano-dollars.
	Cost int64
	// Unpriced is how many requests used something that had no price.
	Unpriced int64
	// Estimated is how many requests have a usage that no upstream reported, Rejected how many
	// of these because the upstream's figures cannot be true.
	Estimated, Rejected int64
	FirstEvents         FirstEvents
}

// Add adds another row's figures. Sums of tokens and costs saturate.
func (r *Row) Add(other Row) {
	r.Requests += other.Requests
	r.OK += other.OK
	r.Failed += other.Failed
	r.Cancelled += other.Cancelled
	r.Interrupted += other.Interrupted
	r.Open += other.Open
	r.Usage.Add(other.Usage)
	sum(&r.Cost, other.Cost)
	r.Unpriced += other.Unpriced
	r.Estimated += other.Estimated
	r.Rejected += other.Rejected
	r.FirstEvents.Add(other.FirstEvents)
}

// RowOf is what one entry adds to a report, without values.
func RowOf(e *Entry) Row {
	r := Row{Requests: 1, Usage: e.Usage, Cost: e.Cost, FirstEvents: firstEvents(e)}
	switch e.Outcome {
	case OK:
		r.OK = 1
	case Failed:
		r.Failed = 1
	case Cancelled:
		r.Cancelled = 1
	case Interrupted:
		r.Interrupted = 1
	case Open:
		r.Open = 1
	}
	if e.IsUnpriced() {
		r.Unpriced = 1
	}
	if e.UsageSource != Reported {
		r.Estimated = 1
	}
	if e.UsageSource == Rejected {
		r.Rejected = 1
	}
	return r
}

// Position is the place of an entry among those that are listed: by Start, then by process and
// number. The zero Position is the newest entry's.
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
	// Lost means requests that lost a member, Retried requests with more than one call.
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
	// Search lists entries from the newest, or after a position, at most size. Where
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

// A Partitioner is a Store that keeps its entries in a partition for each day.
type Partitioner interface {
	// Extend makes the partitions of the day that now is in, of UTC, and of the next three that are
	// missing. It reports how many it made, also with an error. Without its
	// partition an entry is written elsewhere, never refused.
	Extend(ctx context.Context, now time.Time) (made int, err error)
	// Repeated returns entries of which there are several, at most so many. There are none unless a
	// program has written one entry with two times.
	Repeated(ctx context.Context, most int) ([]Key, error)
}

// Node is what a process reports of itself with each heartbeat.
type Node struct {
	// Host is the machine's name, Version the program's, and Address the one on which
	// it is configured to listen.
	Host, Version, Address string
	// Configuration is the hash of the configuration in force.
	Configuration string
	// Degraded names the parts that do not work at present; empty is none.
	Degraded []string
}

// ProcessName names a process by its number and when it began. A process of another database may have the same
// number.
func ProcessName(number int64, began time.Time) string {
	return strconv.FormatInt(number, 10) + "-" + strconv.FormatInt(began.UnixMicro(), 10)
}

// Process is a process that has registered with a store.
type Process struct {
	// Number is what Begin has given.
	Number int64
	// Start is when it began, and Seen when it sent its last heartbeat.
	Start, Seen time.Time
	// Node is what that heartbeat reported. It is zero before the first heartbeat, and of
	// processes that report nothing of themselves.
	Node
}

// FailureCount counts failed requests of an upstream by the kind of their fault.
type FailureCount struct {
	// Upstream is the one that failed last; empty for requests that no upstream saw.
	Upstream, Kind string
	Requests       int64
}

// Failures are counts of failed requests.
type Failures struct {
	// Counts are by upstream, and within an upstream by frequency.
	Counts []FailureCount
	// From is the start of the earliest request that was counted, where not all were; zero otherwise.
	From time.Time
}

// FirstEventBuckets is how many buckets a histogram of times to the first event has.
const FirstEventBuckets = 15

// firstBound is the bound of the first bucket. Each of the others, but the last, which has none,
// is twice as far as the one before: 16 ms, 32 ms, … 131.072 s.
const firstBound = 16 * time.Millisecond

// FirstEventBound is the longest time that the i-th bucket counts; the last one has no bound.
func FirstEventBound(i int) (bound time.Duration, ok bool) {
	if i < 0 || i >= FirstEventBuckets-1 {
		return 0, false
	}
	return firstBound << i, true
}

// FirstEvents sums up the times from the start of requests to the first events of their streams.
type FirstEvents struct {
	// Known is how many requests were counted, also without a first event. Of the other
	// requests of a row nothing is known: they were summed up by a version that did not count
	// first events.
	Known int64
	// Sum is the sum of all times, in microseconds. It saturates.
	Sum int64
	// Buckets count the requests that had a first event, by the time to it.
	Buckets [FirstEventBuckets]int64
}

// firstEvents is what one entry adds.
func firstEvents(e *Entry) FirstEvents {
	f := FirstEvents{Known: 1}
	f.Sum = amount.Bound(e.FirstEvent.Microseconds())
	if f.Sum == 0 {
		return f
	}
	i := 0
	for bound, ok := FirstEventBound(i); ok && f.Sum > bound.Microseconds(); bound, ok = FirstEventBound(i) {
		i++
	}
	f.Buckets[i] = 1
	return f
}

// Add adds another row's times. Sums saturate.
func (f *FirstEvents) Add(other FirstEvents) {
	sum(&f.Known, other.Known)
	sum(&f.Sum, other.Sum)
	for i := range f.Buckets {
		sum(&f.Buckets[i], other.Buckets[i])
	}
}

// Count is how many requests had a first event.
func (f *FirstEvents) Count() int64 { return amount.Sum(f.Buckets[:]...) }

// Mean is the mean time, to the microsecond; 0 where no request had a first event.
func (f *FirstEvents) Mean() time.Duration {
	n := f.Count()
	if n == 0 {
		return 0
	}
	return time.Duration(amount.Times(f.Sum/n, int64(time.Microsecond)))
}

// Quantile estimates the time within which a share q of the first events came, of 0 to 1; it is 0 where
// no request had one. The exact quantile is in the same bucket, so the estimate is less than a
// factor of 2 off. Inside a bucket, times are taken to be spread evenly on a logarithmic scale. In
// the last bucket, which has no bound, it is the longest bound: the quantile is that or more.
func (f *FirstEvents) Quantile(q float64) time.Duration {
	n := f.Count()
	if n == 0 {
		return 0
	}
	rank := 0.0
	if q > 0 { // and no NaN
		rank = min(q, 1) * float64(n)
	}
	below := 0.0
	for i, in := range f.Buckets {
		if in == 0 || below+float64(in) < rank {
			below += float64(in)
			continue
		}
		bound, ok := FirstEventBound(i)
		if !ok {
			break
		}
		within := (rank - below) / float64(in)
		return time.Duration(float64(bound) * math.Exp2(within-1)).Round(time.Microsecond)
	}
	longest, _ := FirstEventBound(FirstEventBuckets - 2)
	return longest
}
