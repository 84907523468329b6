//go:build unix

package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/ledger/reconcile"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/servers"
)

// Cores that were started before, each of whose requests waits for its row, write while their ledger is partitioned, and afterwards: no request is
// refused, each is one row, the sums add up, and no index is built while others wait.
func TestP27PartitionUnderLoad(t *testing.T) {
	location := servers.PostgresDatabase(t)
	fill(t, location, time.Now().Add(-3*aDay), 2000)
	db := raw(t, location)
	indexes := `SELECT indexrelid::text FROM pg_index WHERE indrelid = '%s'::regclass AND NOT indisprimary ORDER BY 1`
	before := column(t, db, fmt.Sprintf(indexes, "ledger"))
	run(t, db, `CREATE ROLE reports_p27`, `GRANT SELECT ON ledger TO reports_p27`)
	t.Cleanup(func() {
		_, _ = db.ExecContext(context.WithoutCancel(t.Context()), `DROP OWNED BY reports_p27`)
		_, _ = db.ExecContext(context.WithoutCancel(t.Context()), `DROP ROLE reports_p27`)
	})
	var callers sync.WaitGroup
	var requests atomic.Int64
	stop := make(chan struct{})
	var recorders []*ledger.Recorder
	for range 2 {
		r, err := ledger.Start(t.Context(), ledger.Config{Store: opened(t, location).Ledger(), Wait: true, MaxWait: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		recorders = append(recorders, r)
		for range 4 {
			callers.Go(func() {
				for {
					record, err := r.Open(t.Context(), ledger.Request{ID: "req", KeyID: "key_p27", Model: "m", Start: time.Now()})
					if err != nil {
						t.Errorf("a request is refused: %v", err)
						return
					}
					requests.Add(1)
					record.Settle(ledger.Result{Outcome: ledger.OK, Attempts: 1, Price: "p", Cost: 1})
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
	}
	partition(t, location, time.Now())
	until := requests.Load() + 200
	await(t, func() bool { return requests.Load() >= until || t.Failed() })
	close(stop)
	callers.Wait()
	for _, r := range recorders {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	got := column(t, db, `SELECT count(*) || ' ' || count(DISTINCT (process, number)) || ' ' || count(*) FILTER (WHERE outcome = 'ok') FROM ledger`)
	if n := requests.Load() + 2000; got[0] != fmt.Sprintf("%d %d %d\n", n, n, n) {
		t.Errorf("%d requests, rows: %s", n, got)
	}
	checkedGood(t, location)
	names := column(t, db, `SELECT relname FROM pg_class JOIN pg_inherits ON inhrelid = pg_class.oid WHERE inhparent = 'ledger'::regclass ORDER BY 1`)
	if len(names) != 2 {
		t.Errorf("partitions: %q", names)
	}
	if after := column(t, db, fmt.Sprintf(indexes, strings.TrimSpace(names[0]))); !slices.Equal(before, after) {
		t.Errorf("indexes of the first partition: %q, before %q", after, before)
	}
	if may := column(t, db, `SELECT has_table_privilege('reports_p27', 'ledger', 'SELECT')::text`); may[0] != "true\n" {
		t.Error("a privilege is lost")
	}
	if triggers := column(t, db, `SELECT tgname FROM pg_trigger WHERE tgrelid = 'ledger'::regclass AND NOT tgisinternal`); len(triggers) != 3 {
		t.Errorf("triggers: %q", triggers)
	}
}

// fill writes so many closed rows, of three days.
func fill(t testing.TB, location string, from time.Time, rows int64) {
	t.Helper()
	s := opened(t, location)
	process, err := s.Ledger().Begin(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var entries []*ledger.Entry
	for n := range rows {
		entries = append(entries, &ledger.Entry{
			Number:  n + 1,
			Request: ledger.Request{ID: "req_" + strconv.FormatInt(n, 10), KeyID: "key_fill", Model: "m", Start: from.Add(time.Duration(n) * 3 * aDay / time.Duration(rows))},
			Result:  ledger.Result{Outcome: ledger.OK, Attempts: 1, Price: "p", Cost: n},
		})
	}
	if err := s.Ledger().Write(t.Context(), process, entries); err != nil {
		t.Fatal(err)
	}
	if err := s.Ledger().Write(t.Context(), process, entries[:min(rows, 10)]); err != nil { // again
		t.Fatal(err)
	}
}

// checkedGood has genway ledger check find nothing wrong.
func checkedGood(t testing.TB, location string) *reconcile.Checked {
	t.Helper()
	checked, err := reconcile.Check(t.Context(), reconcile.Checking{Store: opened(t, location).Ledger(), Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if !checked.Good() {
		t.Errorf("%d left, %q, %q", checked.Left, checked.Wrong, checked.Sums)
	}
	return checked
}

// partitionVariable makes the test binary a program that partitions the ledger of the database that it
// names, and kills itself as the step begins whose number is ahead of it.
const partitionVariable = "GENWAY_STORE_TEST_PARTITION"

func partitioningChild(at string) int {
	number, location, _ := strings.Cut(at, " ")
	last, err := strconv.Atoi(number)
	if err != nil {
		return 2
	}
	steps := 0
	err = store.PartitionLedger(context.Background(), store.Config{Location: location}, time.Now(), func(step string) {
		fmt.Fprintln(os.Stdout, step)
		if steps++; steps == last {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}, func(int64, int64) {})
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	return 0
}

// partitioner is such a program.
func partitioner(t testing.TB, location string, step int) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), partitionVariable+"="+strconv.Itoa(step)+" "+location)
	return cmd
}

// A program that is killed as each of the steps begins, and in the midst of making the index, leaves a
// ledger that is written and read as before, and the next call goes on.
func TestP28PartitionKilled(t *testing.T) {
	location := servers.PostgresDatabase(t)
	fill(t, location, time.Now().Add(-3*aDay), 50)
	s := opened(t, location)
	process, err := s.Ledger().Begin(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	written := int64(0)
	works := func(when string) {
		t.Helper()
		written++
		start := time.Now()
		for _, outcome := range []ledger.Outcome{ledger.Open, ledger.OK, ledger.OK} {
			e := &ledger.Entry{Number: written, Request: ledger.Request{ID: "req", Start: start}, Result: ledger.Result{Outcome: outcome}}
			if err := s.Ledger().Write(t.Context(), process, []*ledger.Entry{e}); err != nil {
				t.Fatalf("%s: %v", when, err)
			}
		}
		if got := column(t, raw(t, location), `SELECT count(*) FROM ledger WHERE outcome = 'ok'`); got[0] != fmt.Sprintf("%d\n", 50+written) {
			t.Errorf("%s: %s rows", when, got)
		}
	}
	killed := func(step int) {
		t.Helper()
		if out, err := partitioner(t, location, step).Output(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("step %d: %v, %s", step, err, out)
		}
		works(fmt.Sprintf("killed as step %d of what was left began", step))
	}
	killed(1)
	killed(2) // the bound is there
	killed(2) // it is proved

	// An index is made once the transactions before it have ended.
	db := raw(t, location)
	writer, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Rollback()
	if _, err := writer.ExecContext(t.Context(), `LOCK TABLE ledger IN ROW EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	midst := partitioner(t, location, 0)
	if err := midst.Start(); err != nil {
		t.Fatal(err)
	}
	const making = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'CREATE UNIQUE INDEX CONCURRENTLY%' AND state = 'active'`
	await(t, func() bool { return column(t, db, making)[0] == "1\n" })
	if err := midst.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = midst.Wait()
	works("killed in the midst of the index")
	if err := writer.Rollback(); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return column(t, db, making)[0] == "0\n" })
	killed(2) // the index is made
	if out, err := partitioner(t, location, 0).Output(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	works("partitioned")
	checkedGood(t, location)
	if found, err := store.InspectPartitioning(t.Context(), store.Config{Location: location}, time.Now()); err != nil || len(found.Partitions) != 2 {
		t.Errorf("%+v, %v", found, err)
	}
}

// A partitioning that was interrupted and not resumed is undone before the day from which the table would
// refuse rows.
func TestPartitionAbandoned(t *testing.T) {
	location := servers.PostgresDatabase(t)
	s := opened(t, location)
	ctx, cancel := context.WithCancel(t.Context())
	steps := 0
	err := store.PartitionLedger(ctx, store.Config{Location: location}, time.Now(), func(string) {
		if steps++; steps == 2 {
			cancel()
		}
	}, func(int64, int64) {})
	if err == nil || !errors.Is(ctx.Err(), context.Canceled) {
		t.Fatal(err)
	}
	bounds := func() int {
		return len(column(t, raw(t, location), `SELECT conname FROM pg_constraint WHERE conname = 'ledger_first_partition'`))
	}
	for days, want := range []int{1, 1, 1, 1, 1, 1, 1, 0, 0} {
		extend(t, s, time.Now().Add(time.Duration(days)*aDay))
		if got := bounds(); got != want {
			t.Errorf("after %d days: %d bounds", days, got)
		}
	}
}
