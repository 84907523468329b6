package scale

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/bench/growth"
	"github.com/genway/genway/test/bench/process"
	"github.com/genway/genway/test/servers"
	"github.com/jackc/pgx/v5"
)

// What the entries are of. A batch is what a core writes at once under load.
const (
	keys   = 1000
	models = 5
	batch  = 256
)

// Durable are settings of a PostgreSQL whose commits reach the disk.
var Durable = []string{"fsync=on", "full_page_writes=on", "max_wal_size=4GB", "shared_buffers=512MB"}

// Ledger writes rows by so many cores at once, for that long, to the database.
func Ledger(ctx context.Context, db *Database, cores int, during time.Duration) (growth.Row, error) {
	row := growth.Row{Name: "cores that write to one PostgreSQL", N: int64(cores)}
	for _, twice := range []bool{false, true} {
		what := "rows a second, written once"
		if twice {
			what = "rows a second, opened and then closed"
		}
		cost, err := db.write(ctx, cores, twice, during)
		if err != nil {
			return row, err
		}
		row.Metrics = append(row.Metrics, growth.Metric{What: what, Unit: "1/s", Value: cost.rate},
			growth.Metric{What: "the server's CPU time for such a row", Unit: "µs", Value: cost.server},
			growth.Metric{What: "the core's CPU time for such a row", Unit: "µs", Value: cost.core},
			growth.Metric{What: "its write-ahead log", Unit: "bytes", Value: cost.wal},
			growth.Metric{What: "a commit takes", Unit: "ms", Value: cost.commit})
	}
	size, err := db.number(ctx, "SELECT (SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('ledger'))::bigint / greatest(count(*), 1) FROM ledger")
	if err != nil {
		return row, err
	}
	row.Metrics = append(row.Metrics, growth.Metric{What: "a row, with its indexes, on disk", Unit: "bytes", Value: float64(size)})
	return row, nil
}

// Database is that of a ledger, with its server's process.
type Database struct {
	url        string
	postmaster int
}

// NewDatabase makes an empty one, which ends with its server.
func NewDatabase(ctx context.Context, server *servers.Postgres) (*Database, error) {
	name, err := server.Create(ctx)
	if err != nil {
		return nil, err
	}
	db := &Database{url: server.URL(name)}
	db.postmaster, err = db.pid(ctx)
	return db, err
}

// costs are of one row, in µs and bytes, but for the rate and what one commit takes in ms.
type costs struct{ rate, server, core, wal, commit float64 }

// write has each core write batches, one after the other.
func (d *Database) write(ctx context.Context, cores int, twice bool, during time.Duration) (costs, error) {
	writers := make([]*writer, cores)
	for i := range writers {
		w, err := d.open(ctx)
		if err != nil {
			return costs{}, err
		}
		defer w.close() //nolint:gocritic // all of them stay open until the measurement is over
		writers[i] = w
	}
	wal, err := d.number(ctx, walPosition)
	if err != nil {
		return costs{}, err
	}
	server, self, began := process.TreeCPU(d.postmaster), process.SelfCPU(), time.Now()
	var rows, commits atomic.Int64
	var group sync.WaitGroup
	failed := make([]error, cores)
	for i, w := range writers {
		group.Go(func() {
			for time.Since(began) < during && failed[i] == nil {
				failed[i] = w.batch(ctx, twice)
				rows.Add(batch)
				commits.Add(1)
				if twice {
					commits.Add(1)
				}
			}
		})
	}
	group.Wait()
	took := time.Since(began)
	server, self = max(0, process.TreeCPU(d.postmaster)-server), process.SelfCPU()-self // an ended process rounds its time
	after, err := d.number(ctx, walPosition)
	if err := errors.Join(errors.Join(failed...), err); err != nil {
		return costs{}, err
	}
	n := float64(rows.Load())
	return costs{
		rate:   n / took.Seconds(),
		server: float64(server.Nanoseconds()) / n / 1000,
		core:   float64(self.Nanoseconds()) / n / 1000,
		wal:    float64(after-wal) / n,
		commit: took.Seconds() * 1000 * float64(cores) / float64(commits.Load()),
	}, nil
}

const walPosition = "SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint"

// pid is that of the server's first process.
func (d *Database) pid(ctx context.Context) (int, error) {
	var text string
	if err := d.ask(ctx, "SELECT pg_read_file('postmaster.pid')", &text); err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(text, "\n")
	return strconv.Atoi(line)
}

func (d *Database) number(ctx context.Context, query string) (n int64, err error) {
	err = d.ask(ctx, query, &n)
	return n, err
}

func (d *Database) ask(ctx context.Context, query string, into any) error {
	conn, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return err
	}
	return errors.Join(conn.QueryRow(ctx, query).Scan(into), conn.Close(ctx))
}

func (d *Database) checkpoint(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CHECKPOINT")
	return errors.Join(err, conn.Close(ctx))
}

// writer is a core's part that writes.
type writer struct {
	store   *store.Store
	process int64
	last    int64
	at      time.Time     // when the next request began; zero is now
	step    time.Duration // from one to the next, if at is set
}

func (d *Database) open(ctx context.Context) (*writer, error) {
	s, err := store.Open(ctx, store.Config{Location: d.url})
	if err != nil {
		return nil, err
	}
	w := &writer{store: s}
	w.process, err = s.Ledger().Begin(ctx, time.Now())
	return w, errors.Join(err, ctx.Err())
}

func (w *writer) close() { _ = w.store.Close() } // its database goes with it

// batch writes rows: closed, or open and then closed.
func (w *writer) batch(ctx context.Context, twice bool) error {
	entries, at := make([]*ledger.Entry, batch), w.at
	if at.IsZero() {
		at = time.Now()
	}
	for i := range entries {
		w.last++
		entries[i] = &ledger.Entry{Number: w.last, Request: ledger.Request{
			ID: fmt.Sprintf("req_%026d", w.last), KeyID: fmt.Sprintf("key_%012d", w.last%keys), Owner: fmt.Sprint("team-", w.last%keys/10),
			Protocol: "chat_completions", Method: "GenerateText", Model: fmt.Sprint("model-", w.last%models), Start: at,
		}, Result: ledger.Result{Outcome: ledger.Open}}
		at = at.Add(w.step)
	}
	if !w.at.IsZero() {
		w.at = at
	}
	if twice {
		if err := w.store.Ledger().Write(ctx, w.process, entries); err != nil {
			return err
		}
	}
	for _, e := range entries {
		e.Result = ledger.Result{
			Outcome: ledger.OK, Route: "*", Upstream: "upstream", Attempts: 1, Model: e.Request.Model,
			Usage: ledger.Usage{Input: 1000, Output: 100}, Cost: 450_000, Price: "gpt-4o@2026-01-01#01234567", Duration: time.Second,
		}
	}
	return w.store.Ledger().Write(ctx, w.process, entries)
}
