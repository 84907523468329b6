//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
)

// A LedgerDatabase opens one more handle on one and the same database. The suite
// closes the handles.
type LedgerDatabase func(t *testing.T) *store.Store

// RunLedger runs the suite of the ledger. fresh makes an empty database, which may live
// as long as its t.
func RunLedger(t *testing.T, fresh func(t *testing.T) LedgerDatabase) {
	t.Helper()
	tests := []struct {
		name string
		test func(*testing.T, LedgerDatabase)
	}{
		{"reports say what the entries say, whatever is rolled up when", testRollAnyOrder}, // the longest
		{"an entry is as it was written", testEntries},
		{"a text that is none is written all the same", testTexts},
		{"no figure keeps an entry from being written", testFigures},
		{"sums saturate", testSumsSaturate},
		{"figures that no upstream reported are marked", testUsageSources},
		{"an outcome that is none is not written, nor what is beside it", testOutcomes},
		{"an open entry is closed once", testCloseOnce},
		{"what a journal kept is written once", testRecover},
		{"writing again changes nothing", testWriteAgain},
		{"processes are what they said last", testProcesses},
		{"entries of dead processes are interrupted, and of no others", testBeat},
		{"processes that died before the clock was put back are known to be dead", testClockPutBack},
		{"the process that ran a request overrides interrupted", testRevived},
		{"an end interrupts what is open", testEnd},
		{"reports sum up by each dimension", testReport},
		{"reports sum up by several dimensions, between two times", testReportSeveral},
		{"what was spent is summed up by key, owner and process", testSpent},
		{"what is pruned stays in the sums", testPrune},
		{"pruning and closing at once lose nothing", testPruneConcurrently},
		{"rolling up, pruning and writing at once lose nothing", testRollConcurrently},
		{"one of the processes alive leads", testLeads},
		{"what dead processes left open is counted", testLeft},
		{"each entry is on one page, in the order of time", testSearchPages},
		{"a filter means what it says", testSearchFilters},
		{"failures are counted by kind", testFailures},
		{"an entry is found, and its neighbours", testFindEntry},
		{"each end is reported once, of all processes", testTail},
		{"many processes write at once", testWriteConcurrently},
		{"an ended context and a closed store are errors", testLedgerErrors},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.test(t, fresh(t))
		})
	}
}

func openLedger(t *testing.T, database LedgerDatabase) ledger.Store {
	t.Helper()
	s := database(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s.Ledger()
}

func begin(t *testing.T, s ledger.Store, now time.Time) int64 {
	t.Helper()
	process, err := s.Begin(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	return process
}

// entry is the n-th entry of the suite: closed as ok, with a number of its own in each
// figure.
func entry(n int64) *ledger.Entry {
	at := func(i int64) int64 { return 1000*n + i }
	return &ledger.Entry{
		Number: n,
		Request: ledger.Request{
			ID: fmt.Sprint("req_", n), KeyID: fmt.Sprint("key_", n%2), Owner: "team 鍵", Protocol: "chat_completions", Method: "GenerateText",
			Model: `Ünïcode 鍵 "quoted" 'single' %s; -- ?`, Start: epoch().Add(time.Duration(n) * time.Second),
			TraceID: fmt.Sprintf("%032x", n%3),
		},
		Result: ledger.Result{
			Outcome: ledger.OK, Kind: "k", Reason: "R", Route: "claude-*", Upstream: "claude", Attempts: at(1), Model: "served",
			Usage: usage(at),
			Cost:  at(15), Price: "openai:gpt-x@2026-01-01#01234567",
			Duration: time.Duration(at(13)) * time.Microsecond, FirstEvent: time.Duration(at(14)) * time.Microsecond,
			Charges: `[{"model":"鍵"}]`, UpstreamProtocol: "a way out", Losses: "seed,other", Timeline: "1,a,b|=,=,=,,,1,,,,,2,1,5k",
		},
	}
}

// usage has a number of its own in each figure, from the 16th on.
func usage(at func(i int64) int64) (u ledger.Usage) {
	for i, k := range ledger.Kinds {
		*u.At(k) = at(16 + int64(i))
	}
	return u
}

// opening is the n-th entry as it is opened.
func opening(n int64) *ledger.Entry {
	return &ledger.Entry{Number: n, Request: entry(n).Request, Result: ledger.Result{Outcome: ledger.Open}}
}

func interrupted(n int64) *ledger.Entry {
	e := opening(n)
	e.Outcome = ledger.Interrupted
	return e
}

func write(t *testing.T, s ledger.Store, process int64, entries ...*ledger.Entry) {
	t.Helper()
	if err := s.Write(t.Context(), process, entries); err != nil {
		t.Fatal(err)
	}
}

func testOutcomes(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	process := begin(t, s, epoch())
	for _, outcome := range []ledger.Outcome{"", "okay", "OK"} {
		wrong := entry(2)
		wrong.Outcome = outcome
		if err := s.Write(t.Context(), process, []*ledger.Entry{entry(1), wrong}); err == nil {
			t.Errorf("the outcome %q was written", outcome)
		}
	}
	wantEntries(t, s)
}

func wantEntries(t *testing.T, s ledger.Store, want ...*ledger.Entry) {
	t.Helper()
	var got []*ledger.Entry
	for e, err := range s.Entries(t.Context(), time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func testEntries(t *testing.T, database LedgerDatabase) {
	s, other := openLedger(t, database), openLedger(t, database)
	process := begin(t, s, epoch())
	write(t, s, process, entry(1), opening(2), entry(3))
	wantEntries(t, other, entry(1), opening(2), entry(3))
	var late []int64
	for e, err := range s.Entries(t.Context(), entry(2).Start) {
		if err != nil {
			t.Fatal(err)
		}
		late = append(late, e.Number)
		break // walking may end early
	}
	if diff := cmp.Diff([]int64{2}, late); diff != "" {
		t.Errorf("since the second (-want +got):\n%s", diff)
	}
}

// Callers and upstreams choose texts, and none may keep an entry from being written.
func testTexts(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	process := begin(t, s, epoch())
	bad, want := entry(1), entry(1)
	for _, field := range []func(*ledger.Entry) *string{
		func(e *ledger.Entry) *string { return &e.ID },
		func(e *ledger.Entry) *string { return &e.Request.Model },
		func(e *ledger.Entry) *string { return &e.Reason },
		func(e *ledger.Entry) *string { return &e.Upstream },
		func(e *ledger.Entry) *string { return &e.Result.Model },
	} {
		*field(bad), *field(want) = "a\x00b\xffc", "a\uFFFDb\uFFFDc"
	}
	write(t, s, process, bad, entry(2))
	wantEntries(t, s, want, entry(2))
	write(t, s, process)
	wantEntries(t, s, want, entry(2))
}

func testCloseOnce(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	process := begin(t, s, epoch())
	write(t, s, process, opening(1), opening(2))
	write(t, s, process, entry(1))
	failed := entry(1)
	failed.Outcome, failed.Usage = ledger.Failed, ledger.Usage{}
	write(t, s, process, failed, opening(1))
	wantEntries(t, s, entry(1), opening(2))
	write(t, s, process, opening(3), entry(3))
	wantEntries(t, s, entry(1), opening(2), entry(3))
}

func testWriteAgain(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	process := begin(t, s, epoch())
	for range 3 {
		write(t, s, process, opening(1), entry(1), opening(2))
	}
	wantEntries(t, s, entry(1), opening(2))
}

func testWriteConcurrently(t *testing.T, database LedgerDatabase) {
	const each = 20
	var wait sync.WaitGroup
	for range 3 {
		s := openLedger(t, database)
		process := begin(t, s, epoch())
		wait.Go(func() {
			for n := range int64(each) {
				if err := s.Write(t.Context(), process, []*ledger.Entry{opening(n)}); err != nil {
					t.Error(err)
				}
				if err := s.Write(t.Context(), process, []*ledger.Entry{entry(n)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	rows, err := openLedger(t, database).Report(t.Context(), ledger.Query{By: []ledger.Dimension{ledger.ByProtocol}})
	if err != nil || len(rows) != 1 || rows[0].Requests != 3*each || rows[0].OK != 3*each {
		t.Errorf("%+v, %v", rows, err)
	}
}

func testLedgerErrors(t *testing.T, database LedgerDatabase) {
	handle := database(t)
	s := handle.Ledger()
	process := begin(t, s, epoch())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	fails := func(ctx context.Context, when string) {
		t.Helper()
		_, beginErr := s.Begin(ctx, epoch())
		_, beatErr := s.Beat(ctx, process, ledger.Node{}, epoch(), epoch())
		_, processesErr := s.Processes(ctx, epoch())
		_, endErr := s.End(ctx, process)
		_, leftErr := s.Left(ctx, epoch())
		_, rollErr := s.Roll(ctx, epoch())
		_, leadsErr := s.Leads(ctx, process, epoch())
		_, pruneErr := s.Prune(ctx, epoch(), 1)
		_, spentErr := s.Spent(ctx, epoch(), "", "")
		_, reportErr := s.Report(ctx, ledger.Query{By: []ledger.Dimension{ledger.ByDay}})
		var entriesErr error
		for _, err := range s.Entries(ctx, time.Time{}) {
			entriesErr = err
		}
		for name, err := range map[string]error{
			"Begin": beginErr, "Beat": beatErr, "Processes": processesErr, "End": endErr, "Left": leftErr, "Roll": rollErr, "Leads": leadsErr, "Prune": pruneErr, "Spent": spentErr, "Report": reportErr, "Entries": entriesErr,
			"Write": s.Write(ctx, process, []*ledger.Entry{entry(1)}),
		} {
			if err == nil {
				t.Errorf("%s, %s: no error", when, name)
			}
		}
	}
	fails(ended, "ended")
	wantEntries(t, s)
	if err := handle.Close(); err != nil {
		t.Fatal(err)
	}
	fails(t.Context(), "closed")
}
