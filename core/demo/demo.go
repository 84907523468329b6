// Package demo writes a made-up week into an empty store, to look at the console with and to take the
// pictures of its documents: keys, and rows of the ledger with failures, fallbacks, callers that
// disconnect, losses, timelines and costs.
//
// It writes as a core does: keys by package keys, rows by a ledger.Recorder. So the audit and the
// ledger keep the promises that they keep for real requests.
//
// It must import no store and no upstream.
package demo

import (
	"context"
	_ "embed" // the files
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/price"
)

// Configuration is a configuration with the upstreams and the routes of the made-up week, all of
// which the sandbox answers. It names PricesName, which must be in the same directory.
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

const (
	week = 7 * 24 * time.Hour
	// batch is the number of rows of one write. It is larger than that of a core, as no request waits
	// for the write.
	batch = 2048
	// slowStore is how long the store may take for a write.
	slowStore = time.Minute
)

// Fill writes keys, and so many requests of the week before end, and sums up its hours, from which reports
// are made. It returns how many keys there are. A Fill that fails leaves what it has written.
func Fill(ctx context.Context, store keys.Store, rows ledger.Store, requests int, end time.Time) (made int, err error) {
	catalogue, err := price.Parse(PricesName, []byte(Prices))
	if err != nil {
		return 0, err
	}
	end = end.UTC().Truncate(time.Second)
	ids, err := makeKeys(ctx, store, end.Add(-4*week))
	if err != nil {
		return 0, err
	}
	recorder, err := ledger.Start(ctx, ledger.Config{Store: rows, Batch: batch, MaxWait: slowStore})
	if err != nil {
		return 0, err
	}
	m := &maker{rand: rand.New(rand.NewPCG(1, 2)), prices: catalogue, ids: ids, outage: end.Add(-week / 3)} //nolint:gosec // nothing here is a secret
	err = m.record(ctx, recorder, m.starts(requests, end))
	if err == nil { // Close itself waits for as long as the end of a server may take
		flushing, stop := context.WithTimeout(ctx, slowStore)
		_ = recorder.Flush(flushing) // Close says what is lost then
		stop()
	}
	if err := errors.Join(err, recorder.Close()); err != nil {
		return 0, err
	}
	_, err = ledger.RollAll(ctx, rows, end)
	return len(ids), err
}

// makeKeys makes a key for each of the callers, and returns their identifiers.
func makeKeys(ctx context.Context, store keys.Store, at time.Time) ([]string, error) {
	service, err := keys.New(keys.Config{Store: store, Clock: func() time.Time { return at }})
	if err != nil {
		return nil, err
	}
	defer service.Close()
	ids := make([]string, len(callers))
	for i, c := range callers {
		s := keys.Settings{Name: c.name, Owner: c.owner, Labels: map[string]string{"demo": "made up"}}
		s.Policy.Limits.RequestsPerMinute = c.perMinute
		s.Policy.Limits.Budgets = []limit.Budget{{Amount: c.dollars * 1e9, Period: limit.Month}}
		_, key, err := service.Create(audit.WithActor(ctx, "user:ada"), keys.CreateParams{Group: c.group, Settings: s})
		if err != nil {
			return nil, err
		}
		ids[i] = key.ID
	}
	return ids, nil
}

// starts returns the starts of n requests in the week before end, in their order: most are in office hours.
func (m *maker) starts(n int, end time.Time) []time.Time {
	list := make([]time.Time, 0, n)
	for len(list) < n {
		at := end.Add(-time.Duration(m.rand.Int64N(int64(week))) - time.Microsecond).Truncate(time.Microsecond)
		load := math.Exp(-math.Pow((float64(at.Hour())-13.5)/4, 2))
		if day := at.Weekday(); day == time.Saturday || day == time.Sunday {
			load /= 4
		}
		if m.rand.Float64() < load+.05 {
			list = append(list, at)
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}

// record writes a request for each start. The one in the middle is not settled: the ledger has it as interrupted.
func (m *maker) record(ctx context.Context, recorder *ledger.Recorder, starts []time.Time) error {
	for i, at := range starts {
		request, result := m.next(at)
		record, err := recorder.Open(ctx, request)
		if err != nil {
			if _, cause := recorder.Failing(); cause != nil && errors.Is(err, ledger.ErrBusy) {
				err = cause
			}
			return fmt.Errorf("demo: %w", err)
		}
		if i != len(starts)/2 {
			record.Settle(result)
		}
	}
	return nil
}
