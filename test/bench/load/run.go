package load

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Client keeps connections to one address between runs.
type Client struct {
	connections []*connection
}

// NewClient returns a client of so many connections to a HOST:PORT, none open yet; behind https:// they are TLS. An
// exchange takes at most the timeout.
func NewClient(address string, connections int, timeout time.Duration) *Client {
	c := &Client{}
	for range connections {
		c.connections = append(c.connections, newConnection(address, timeout))
	}
	return c
}

// Close closes the connections.
func (c *Client) Close() {
	for _, conn := range c.connections {
		conn.close()
	}
}

// Run is how long and how fast requests are sent.
type Run struct {
	// Duration is for how long requests are begun. Those under way are waited for.
	Duration time.Duration
	// Requests, unless 0, is how many requests a closed loop begins at most.
	Requests int64
	// Rate, unless 0, makes an open loop of so many requests a second.
	Rate float64
	// Deadline, unless 0, is how long the callers of an open loop wait for their answers,
	// from the instant at which the request is due. Those that would be sent later are not.
	Deadline time.Duration
	// Callers makes each connection of an open loop a caller of its own, to whom every so
	// many requests are due in turn. One that is due while the caller still waits for the
	// answer to the last is not sent. Otherwise requests wait for any connection.
	Callers bool
	// Settle, unless 0, is after how long an open loop's latencies count as settled.
	Settle time.Duration
	// Ramp spreads the first requests of a closed loop's connections over a time.
	Ramp time.Duration
}

// tally is what one connection has seen.
type tally struct {
	latency, first, lag []time.Duration
	settled             []time.Duration
	refused             []time.Duration // how long answers took whose status is not 200
	within              int
	events, bytes       int64
	settle              time.Time
	errors              map[string]int
}

// Once sends a job's request over the first connection, and says what is wrong with
// the answer.
func (c *Client) Once(ctx context.Context, job *Job) error {
	_, err := c.connections[0].exchange(ctx, job)
	return err
}

// Do runs, and returns when the last answer is there. An end of ctx ends it early.
func (c *Client) Do(ctx context.Context, job *Job, run Run) Result {
	start := time.Now()
	stop := start.Add(run.Duration)
	tallies := make([]tally, len(c.connections))
	var schedules []chan time.Time
	var pacing sync.WaitGroup
	waiting := 0
	if run.Rate > 0 {
		schedules = run.schedules(len(c.connections))
		pacing.Go(func() { waiting = pace(ctx, schedules, start, stop, run.Rate) })
	}
	var sent atomic.Int64
	var running sync.WaitGroup
	for i, conn := range c.connections {
		t := &tallies[i]
		t.errors, t.settle = map[string]int{}, start.Add(run.Settle)
		running.Go(func() {
			if len(schedules) > 0 {
				conn.open(ctx, job, schedules[i%len(schedules)], t, stop, run.Deadline)
				return
			}
			begin := start.Add(run.Ramp * time.Duration(i) / time.Duration(len(c.connections)))
			if !sleep(ctx, time.Until(begin)) {
				return
			}
			more := func() bool {
				return ctx.Err() == nil && time.Now().Before(stop) && (run.Requests == 0 || sent.Add(1) <= run.Requests)
			}
			conn.closed(ctx, job, more, t, stop)
		})
	}
	running.Wait()
	pacing.Wait()
	if waiting > 0 {
		tallies[0].errors[errWaiting] += waiting
	}
	return summarize(tallies, min(time.Since(start), run.Duration), time.Since(start))
}

// errWaiting counts requests of callers who still waited for an answer.
const errWaiting = "not sent: the caller waits"

// schedules returns the channels of an open loop: one for all connections, or one for each.
func (r Run) schedules(connections int) (all []chan time.Time) {
	if !r.Callers {
		return []chan time.Time{make(chan time.Time, 1<<16)}
	}
	for range connections {
		all = append(all, make(chan time.Time)) // taken by a caller who waits for nothing
	}
	return all
}

// closed sends the next request when the last one is answered.
func (c *connection) closed(ctx context.Context, job *Job, more func() bool, t *tally, stop time.Time) {
	for more() {
		begin := time.Now()
		s, err := c.exchange(ctx, job)
		t.add(s, err, begin, stop)
		if err != nil && !sleep(ctx, 10*time.Millisecond) { // a target that is down is not hammered
			return
		}
	}
}

// open sends a request as soon as one is due and this connection is free.
func (c *connection) open(ctx context.Context, job *Job, due <-chan time.Time, t *tally, stop time.Time, deadline time.Duration) {
	timeout := c.timeout
	defer func() { c.timeout = timeout }()
	for at := range due {
		lag := time.Since(at)
		t.lag = append(t.lag, lag)
		if deadline > 0 {
			if c.timeout = deadline - lag; c.timeout <= 0 {
				t.errors["not sent in time"]++
				continue
			}
		}
		s, err := c.exchange(ctx, job)
		t.add(s, err, at, stop)
	}
}

func (t *tally) add(s sample, err error, begin, stop time.Time) {
	if err != nil {
		t.errors[err.Error()]++
		if _, whole := errors.AsType[statusError](err); whole {
			t.refused = append(t.refused, s.end.Sub(s.begin))
		}
		return
	}
	t.latency = append(t.latency, s.end.Sub(begin))
	if !begin.Before(t.settle) {
		t.settled = append(t.settled, s.end.Sub(begin))
	}
	if s.events > 0 {
		t.first = append(t.first, s.first.Sub(begin))
	}
	if s.end.Before(stop) {
		t.within++
	}
	t.events += int64(s.events)
	t.bytes += int64(s.bytes)
}

// sleep waits, and reports whether ctx still goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
