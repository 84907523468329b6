package ledger

import (
	"math"
	"time"

	"github.com/genway/genway/core/amount"
)

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
	// Known is how many requests this is of, those without a first event included. Of the other
	// requests of a row nothing is known: they were summed up by a version that did not count
	// first events.
	Known int64
	// Sum is of all times, in microseconds. It saturates.
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
