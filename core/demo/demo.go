package demo

import (
	"context"
	_ "embed" // the files
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/price"
)

// Configuration is a configuration with the upstreams and the routes of the made-up week, all of
// which the sandbox answers. It names PricesName, which lies beside it.
//
//go:embed demo.yaml
var Configuration string

// Prices is the price file of the made-up requests. Its figures are invented.
//
//go:embed prices.yaml
var Prices string

// The names of the two files.
const (
	ConfigurationName = "demo.yaml"
	PricesName        = "demo-prices.yaml"
)

// The bounds of a Week.
const (
	MaxDays     = 366
	MaxRequests = 20_000_000
)

// Week is what to make up. The same week gives the same keys, but for their secrets, and the same
// rows.
type Week struct {
	// Seed chooses all that is left to chance.
	Seed uint64
	// Requests is how many requests there are, 1 to MaxRequests.
	Requests int
	// Days is how long the week is, 1 to MaxDays.
	Days int
	// End is the moment behind its last request.
	End time.Time
	// Late dates the keys and their audit entries now, for a store that has an audit already.
	Late bool
	// Actor is who made the keys, as the audit has it; empty for made-up people.
	Actor string
}

// Into is where it is written.
type Into struct {
	Keys   keys.Store
	Ledger ledger.Store
	// Progress, unless nil, is called from time to time with the number of requests that are written.
	Progress func(requests int64)
}

// Filled is what Fill has written.
type Filled struct {
	Keys, Requests int
	// Steps is how many hours and days were summed up.
	Steps int
}

// Fill writes a week, and sums up its hours, which reports are made of. A week that is broken off
// leaves what it has written.
func Fill(ctx context.Context, into Into, w Week) (Filled, error) {
	if w.Requests < 1 || w.Requests > MaxRequests || w.Days < 1 || w.Days > MaxDays {
		return Filled{}, fmt.Errorf("demo: %d requests in %d days are not within 1 to %d in 1 to %d", w.Requests, w.Days, MaxRequests, MaxDays)
	}
	catalogue, err := price.Parse(PricesName, []byte(Prices))
	if err != nil {
		return Filled{}, err
	}
	w.End = w.End.UTC().Truncate(time.Second)
	callers, made, err := makeKeys(ctx, into.Keys, w)
	if err != nil {
		return Filled{}, err
	}
	filled := Filled{Keys: made}
	recorder, err := ledger.Start(ctx, ledger.Config{Store: into.Ledger, Batch: batch, MaxWait: slowStore})
	if err != nil {
		return filled, err
	}
	maker := &maker{
		Week: w, rand: rand.New(rand.NewPCG(w.Seed, 2)), prices: catalogue, callers: callers, //nolint:gosec // nothing here is a secret
		events: eventsOf(w), sessions: map[string]*session{},
	}
	filled.Requests, err = maker.record(ctx, recorder, into.Progress)
	if err == nil { // Close itself waits for as long as the end of a server may take
		flushing, stop := context.WithTimeout(ctx, slowStore)
		_ = recorder.Flush(flushing) // Close says what is lost then
		stop()
	}
	// What is still open has been interrupted by the end of its process.
	if err := errors.Join(err, recorder.Close()); err != nil {
		return filled, err
	}
	filled.Steps, err = ledger.RollAll(ctx, into.Ledger, w.End)
	return filled, err
}

// batch is the number of rows of one write. It is larger than that of a core, as no request waits
// for the write.
const batch = 2048

// slowStore is how long the store may take for a write.
const slowStore = time.Minute
