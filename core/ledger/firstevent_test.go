package ledger_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"pgregory.net/rapid"
)

func firstEvents(times ...time.Duration) (sum ledger.FirstEvents) {
	for _, d := range times {
		sum.Add(ledger.RowOf(&ledger.Entry{Result: ledger.Result{FirstEvent: d}}).FirstEvents)
	}
	return sum
}

func TestFirstEvents(t *testing.T) {
	const ms, us = time.Millisecond, time.Microsecond
	for _, test := range []struct {
		name                string
		times               []time.Duration
		count               int64
		mean, median, ninth time.Duration
	}{
		{"none", nil, 0, 0, 0, 0},
		{"requests without one", []time.Duration{0, 0, -time.Second, time.Nanosecond}, 0, 0, 0, 0},
		{"one", []time.Duration{300 * ms}, 1, 300 * ms, 362039 * us, 477713 * us},
		{"bounds belong to the bucket below", []time.Duration{16 * ms, 32 * ms}, 2, 24 * ms, 16 * ms, 27858 * us},
		{"one of many", []time.Duration{0, 0, 0, 100 * ms}, 1, 100 * ms, 90510 * us, 119428 * us},
		{"beyond the last bound", []time.Duration{time.Hour, 2 * time.Hour}, 2, 90 * time.Minute, 131072 * ms, 131072 * ms},
		{"the longest there is", []time.Duration{math.MaxInt64, math.MaxInt64}, 2, 9007199254740991 * us, 131072 * ms, 131072 * ms},
	} {
		f := firstEvents(test.times...)
		if f.Known != int64(len(test.times)) || f.Count() != test.count || f.Mean() != test.mean || f.Quantile(0.5) != test.median || f.Quantile(0.9) != test.ninth {
			t.Errorf("%s: %+v, %d, mean %v, median %v, ninth %v", test.name, f, f.Count(), f.Mean(), f.Quantile(0.5), f.Quantile(0.9))
		}
	}
	one := firstEvents(300 * ms)
	for _, q := range []float64{math.NaN(), math.Inf(-1), -1, 0, 1, 2, math.Inf(1)} {
		if got := one.Quantile(q); got < 256*ms || got > 512*ms {
			t.Errorf("quantile %v is %v", q, got)
		}
	}
}

// The estimate of a quantile and the exact one are in one bucket: less than a factor of 2 apart. What is
// added up in parts is what is added up at once.
func TestQuantilesAreClose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.SliceOfN(rapid.Int64Range(8000, 131_072_000), 1, 200).Draw(t, "micros")
		var times []time.Duration
		for _, m := range micros {
			times = append(times, time.Duration(m)*time.Microsecond)
		}
		whole, cut := firstEvents(times...), rapid.IntRange(0, len(times)).Draw(t, "cut")
		parts := firstEvents(times[:cut]...)
		parts.Add(firstEvents(times[cut:]...))
		if parts != whole {
			t.Fatalf("%+v, in parts %+v", whole, parts)
		}
		slices.Sort(times)
		q := rapid.Float64Range(0.01, 1).Draw(t, "q")
		exact := times[int(math.Ceil(q*float64(len(times))))-1]
		if ratio := float64(whole.Quantile(q)) / float64(exact); ratio < 0.5 || ratio > 2 {
			t.Fatalf("quantile %v is %v, estimated as %v", q, exact, whole.Quantile(q))
		}
	})
}
