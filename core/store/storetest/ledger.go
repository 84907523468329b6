//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	"github.com/google/go-cmp/cmp"
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
		{"items are written with their entries or not at all", testItemsOfEntries},
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

func testItemsOfEntries(t *testing.T, database LedgerDatabase) {
	s := database(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	process := begin(t, s.Ledger(), epoch())
	want := map[[32]byte]ledger.Item{}
	item := func(id byte, sealed string) ledger.Item {
		i := ledger.Item{ID: [32]byte{id}, Sealed: []byte(sealed), Expires: epoch().Add(time.Duration(id) * time.Second).Local()}
		want[i.ID] = i
		return i
	}
	check := func() {
		t.Helper()
		var ids [][32]byte
		for id := range 256 {
			ids = append(ids, [32]byte{byte(id)})
		}
		found, err := s.Items().Get(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		got := map[[32]byte]ledger.Item{}
		for _, i := range found {
			got[i.ID] = i
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	var batch []*ledger.Entry
	for n := range int64(50) {
		e := entry(n)
		for i := range n % 5 {
			e.Items = append(e.Items, item(byte(5*n+i), fmt.Sprint("\x00\xff", n)))
		}
		batch = append(batch, opening(n), e)
	}
	write(t, s.Ledger(), process, batch...)
	check()
	write(t, s.Ledger(), process, batch...) // as after a write whose outcome was not known
	check()
	wrong := entry(51)
	wrong.Outcome, wrong.Items = "okay", []ledger.Item{{ID: [32]byte{255}}}
	if err := s.Ledger().Write(t.Context(), process, []*ledger.Entry{entry(52), wrong}); err == nil {
		t.Error("an outcome that is none is written")
	}
	check()
	// One identifier twice in a batch, and items of an entry that another one has closed.
	twice, again := entry(53), entry(54)
	twice.Items = []ledger.Item{item(254, "twice")}
	again.Items = twice.Items
	write(t, s.Ledger(), process, twice, again)
	check()
	late := entry(53)
	late.Items = []ledger.Item{item(253, "late")}
	write(t, s.Ledger(), process, late)
	check()
	left := entry(55)
	left.Items = []ledger.Item{item(252, "left in a journal")}
	other := begin(t, s.Ledger(), epoch())
	recoverer, ok := s.Ledger().(ledger.Recoverer)
	if !ok {
		t.Fatal("nothing can be recovered")
	}
	if err := recoverer.Recover(t.Context(), other, epoch(), []*ledger.Entry{left}); err != nil {
		t.Error(err)
	}
	check()
	for e, err := range s.Ledger().Entries(t.Context(), time.Time{}) {
		if err != nil || len(e.Items) != 0 {
			t.Fatalf("%+v, %v", e, err)
		}
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

func testCreateFirst(t *testing.T, database Database) {
	s := open(t, database)
	first, err := s.CreateFirst(t.Context(), []keys.Key{key(0), key(1)}, nil)
	if err != nil || !first {
		t.Fatalf("got %t, %v", first, err)
	}
	want := []keys.Key{key(0), key(1)}
	again := func(when string) {
		t.Helper()
		first, err := s.CreateFirst(t.Context(), []keys.Key{key(2)}, nil)
		if err != nil || first {
			t.Errorf("%s: got %t, %v", when, first, err)
		}
	}
	again("with keys")
	if diff := cmp.Diff(want, list(t, s)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	for _, k := range want {
		if err := revoke(t.Context(), s, k.ID); err != nil {
			t.Fatal(err)
		}
	}
	again("with revoked keys")
}

func testCreateFirstAllOrNone(t *testing.T, database Database) {
	s := open(t, database)
	first, err := s.CreateFirst(t.Context(), []keys.Key{key(0), key(1), key(0)}, nil)
	if !errors.Is(err, keys.ErrExists) || first {
		t.Errorf("got %t, %v, want ErrExists", first, err)
	}
	if got := list(t, s); len(got) != 0 {
		t.Errorf("it created %v", got)
	}
}

func testCreateFirstConcurrently(t *testing.T, database Database) {
	handles := []keys.Store{open(t, database), open(t, database), open(t, database)}
	const callers = 12
	firsts := make([]bool, callers)
	var wait sync.WaitGroup
	for n := range callers {
		wait.Go(func() {
			var err error
			firsts[n], err = handles[n%len(handles)].CreateFirst(t.Context(), []keys.Key{key(2 * n), key(2*n + 1)}, nil)
			if err != nil {
				t.Errorf("caller %d: %v", n, err)
			}
		})
	}
	wait.Wait()
	var want []keys.Key
	for n, first := range firsts {
		if first {
			want = append(want, key(2*n), key(2*n+1))
		}
	}
	if len(want) != 2 {
		t.Errorf("%d callers were first", len(want)/2)
	}
	if diff := cmp.Diff(want, list(t, handles[0])); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func testCreateConcurrently(t *testing.T, database Database) {
	handles := []keys.Store{open(t, database), open(t, database)}
	const each = 20
	var wait sync.WaitGroup
	for h, s := range handles {
		wait.Go(func() {
			for n := range each {
				if err := s.Create(t.Context(), []keys.Key{key(h*each + n)}, nil); err != nil {
					t.Errorf("handle %d: %v", h, err)
				}
			}
		})
	}
	wait.Wait()
	for _, s := range handles {
		if got := live(t, s); len(got) != each*len(handles) {
			t.Errorf("%d keys are live, want %d", len(got), each*len(handles))
		}
	}
}

// Each adds to what the one before left: none is lost.
func testUpdateConcurrently(t *testing.T, database Database) {
	handles := []keys.Store{open(t, database), open(t, database)}
	create(t, handles[0], key(0))
	const each = 10
	var wait sync.WaitGroup
	for _, s := range handles {
		for range 2 {
			wait.Go(func() {
				for range each {
					if err := update(t.Context(), s, key(0).ID, func(k *keys.Key) { k.Owner += "x" }); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wait.Wait()
	if got := len(list(t, handles[0])[0].Owner); got != 4*each {
		t.Errorf("%d changes stayed, want %d", got, 4*each)
	}
}

func testAuditConcurrently(t *testing.T, database Database) {
	one, other := database(t), database(t)
	handles := []Keys{one, other}
	const each = 20
	var wait sync.WaitGroup
	for h, s := range handles {
		wait.Go(func() {
			for n := range each {
				create(t, s.Keys(), key(h*each+n))
			}
		})
	}
	wait.Wait()
	if head := verified(t, one); head.Number != 2*each {
		t.Errorf("%d entries, want %d", head.Number, 2*each)
	}
	for _, s := range handles {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func testBeat(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	dead, alive, asking := begin(t, s, epoch()), begin(t, s, epoch()), begin(t, s, epoch())
	for _, process := range []int64{dead, alive, asking} {
		write(t, s, process, opening(1), entry(2))
	}
	at := func(seconds int) time.Time { return epoch().Add(time.Duration(seconds) * time.Second) }
	beat := func(process int64, now, dead time.Time, want int64) {
		t.Helper()
		if n, err := s.Beat(t.Context(), process, ledger.Node{}, now, dead); err != nil || n != want {
			t.Errorf("%d interrupted, %v, want %d", n, err, want)
		}
	}
	beat(asking, at(1), at(0), 0)
	beat(alive, at(5), at(0), 0)
	beat(asking, at(9), at(3), 1)
	beat(asking, at(9), at(3), 0)
	// Its own silence is no proof of a process's death.
	beat(alive, at(99), at(8), 0)
	wantEntries(t, s, interrupted(1), entry(2), opening(1), entry(2), opening(1), entry(2))
}

// Case N64: a process that was killed while the clock was a day ahead is known to be dead as
// soon as one that is killed now. One that lives says so again.
func testClockPutBack(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	day := 24 * time.Hour
	dead, alive, asking := begin(t, s, epoch().Add(day)), begin(t, s, epoch().Add(day)), begin(t, s, epoch())
	for _, process := range []int64{dead, alive} {
		write(t, s, process, opening(1))
	}
	beat := func(process int64, second int, want int64) {
		t.Helper()
		now := epoch().Add(time.Duration(second) * time.Second)
		if n, err := s.Beat(t.Context(), process, ledger.Node{}, now, now.Add(-6*time.Second)); err != nil || n != want {
			t.Errorf("second %d: %d interrupted, %v, want %d", second, n, err, want)
		}
	}
	beat(asking, 0, 0)
	beat(alive, 1, 0)
	beat(alive, 7, 1)
	beat(asking, 7, 0)
	wantEntries(t, s, interrupted(1), opening(1))
}

func testRevived(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	frozen, other := begin(t, s, epoch()), begin(t, s, epoch())
	write(t, s, frozen, opening(1))
	if n, err := s.Beat(t.Context(), other, ledger.Node{}, epoch().Add(time.Minute), epoch().Add(time.Second)); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	write(t, s, frozen, opening(1))
	wantEntries(t, s, interrupted(1))
	write(t, s, frozen, entry(1))
	wantEntries(t, s, entry(1))
}

func testEnd(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	ending, other := begin(t, s, epoch()), begin(t, s, epoch())
	write(t, s, ending, opening(1), entry(2), opening(3))
	write(t, s, other, opening(1))
	for _, want := range []int64{2, 0} {
		if n, err := s.End(t.Context(), ending); err != nil || n != want {
			t.Errorf("%d interrupted, %v, want %d", n, err, want)
		}
	}
	wantEntries(t, s, interrupted(1), entry(2), interrupted(3), opening(1))
}

// Processes are listed by number with what each said last; one that has been silent is not listed, and
// no text keeps a sign of life from being written.
func testProcesses(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	list := func(since time.Time, want ...ledger.Process) {
		t.Helper()
		got, err := s.Processes(t.Context(), since)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v, %s", err, diff)
		}
	}
	list(time.Time{})
	silent, first, second := begin(t, s, epoch()), begin(t, s, epoch()), begin(t, s, epoch())
	at := func(seconds int) time.Time { return epoch().Add(time.Duration(seconds) * time.Second) }
	beat := func(process int64, seconds int, node ledger.Node) {
		t.Helper()
		if _, err := s.Beat(t.Context(), process, node, at(seconds), epoch()); err != nil {
			t.Fatal(err)
		}
	}
	node := ledger.Node{Host: "a", Version: "v1", Address: "127.0.0.1:9090", Configuration: "0123", Degraded: []string{"limits", "store"}}
	beat(first, 3, node)
	beat(second, 1, ledger.Node{Host: "b\xff\x00,'\"", Version: "v2"})
	wanted := func(process int64, seen int, node ledger.Node) ledger.Process {
		return ledger.Process{Number: process, Start: epoch(), Seen: at(seen), Node: node}
	}
	other := ledger.Node{Host: "b\uFFFD\uFFFD,'\"", Version: "v2"}
	list(at(1), wanted(first, 3, node), wanted(second, 1, other))
	list(time.Time{}, wanted(silent, 0, ledger.Node{}), wanted(first, 3, node), wanted(second, 1, other))
	node.Configuration, node.Degraded = "4567", nil
	beat(first, 5, node)
	list(at(2), wanted(first, 5, node))
	list(at(6))
}

// What a journal has of a process is written as by the process itself: what is there
// already changes nothing, and costs nothing again.
func testRecover(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	recoverer, ok := s.(ledger.Recoverer)
	if !ok {
		t.Fatal("the store recovers nothing")
	}
	process := begin(t, s, epoch())
	write(t, s, process, opening(1), opening(2), entry(3))
	left := []*ledger.Entry{opening(2), entry(2), entry(3), opening(4), opening(5), entry(5)}
	for _, foreign := range []struct {
		process int64
		began   time.Time
	}{{process + 1, epoch()}, {process, epoch().Add(time.Microsecond)}, {0, time.Time{}}} {
		if err := recoverer.Recover(t.Context(), foreign.process, foreign.began, left); !errors.Is(err, ledger.ErrForeign) {
			t.Errorf("%+v: %v", foreign, err)
		}
	}
	wantEntries(t, s, opening(1), opening(2), entry(3))
	for range 2 {
		if err := recoverer.Recover(t.Context(), process, epoch(), left); err != nil {
			t.Fatal(err)
		}
		wantEntries(t, s, opening(1), entry(2), entry(3), opening(4), entry(5))
	}
	var spent int64
	spends, err := s.Spent(t.Context(), time.Time{}, "", "")
	for _, spend := range spends {
		spent += spend.Cost
	}
	if err != nil || spent != 2015+3015+5015 {
		t.Errorf("%d was spent, %v", spent, err)
	}
}
