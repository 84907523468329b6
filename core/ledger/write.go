package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// writeWithin bounds one write: far above what one takes on a disk that works.
	writeWithin = 30 * time.Second
	// retryAfter is the wait between tries of a write that failed.
	retryAfter = 250 * time.Millisecond
)

// run writes batches until the end.
func (r *Recorder) run(ctx context.Context) {
	defer close(r.ended)
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		select {
		case <-r.wake:
			r.gather()
			// Close returns what is lost: entries can be lost only at the end.
			r.err = errors.Join(r.err, r.flush(ctx))
		case <-beat.C:
			r.beat(ctx)
			r.keepJournal()
			r.recover(ctx, false)
			r.retryAside(ctx, asideAtOnce)
		case <-r.closing:
			r.err = errors.Join(r.err, r.flush(ctx))
			lost := r.err != nil
			r.err = errors.Join(r.err, r.endAside(ctx), r.end(ctx))
			r.endJournal(lost)
			return
		}
	}
}

// gather lets the window pass, unless the batch is full or the end near.
func (r *Recorder) gather() {
	if r.config.Window == 0 {
		return
	}
	timer := time.NewTimer(r.config.Window)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.full:
	case <-r.closing:
	}
}

// take returns what has gathered and begins another batch.
func (r *Recorder) take() *batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.pending
	taken.half = r.journal.swap()
	r.pending = newBatch()
	if r.space != nil {
		close(r.space)
		r.space = nil
	}
	for _, signal := range []chan struct{}{r.wake, r.full} {
		select {
		case <-signal:
		default:
		}
	}
	return taken
}

// flush writes what has gathered, however long it takes: a store that fails is tried
// again until ctx ends. The error is of entries that are lost then. Entries that the store
// refuses are set aside.
func (r *Recorder) flush(ctx context.Context) error {
	b := r.take()
	defer func() {
		b.entries = nil // requests that are open hold the batch
		close(b.written)
	}()
	if len(b.entries) == 0 {
		return nil
	}
	var failing time.Time
	for rest := b.entries; ; {
		var err error
		if rest, err = r.put(ctx, rest); err == nil {
			r.resetJournal(b.half)
			r.noteFailure(nil)
			if !failing.IsZero() {
				r.config.Logger.Info("the ledger is written again", "entries", len(b.entries), "after_seconds", r.config.Clock().Sub(failing).Seconds())
			}
			return nil
		}
		r.noteFailure(err)
		if failing.IsZero() {
			failing = r.config.Clock()
			r.config.Logger.Error("the ledger cannot be written; entries wait", "entries", len(rest), "error", err)
		}
		r.keepJournal()
		if !wait(ctx, retryAfter) {
			err = late(ctx, err)
			fate := "lost"
			if b.half != nil && b.half.err == nil {
				fate = "left in the journal"
			}
			err = fmt.Errorf("ledger: %d entries are %s: %w", len(rest), fate, err)
			r.config.Logger.Error("the ledger's last entries are "+fate, "entries", len(rest), "error", err)
			return err
		}
	}
}

func (r *Recorder) write(ctx context.Context, entries []*Entry) error {
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	return r.config.Store.Write(ctx, r.process, entries)
}

// beat says that this process lives and closes what dead ones left open.
func (r *Recorder) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	var node Node
	if r.config.Node != nil {
		node = r.config.Node()
	}
	now := r.config.Clock()
	n, err := r.config.Store.Beat(ctx, r.process, node, now, now.Add(-deadAfter))
	r.noteFailure(err)
	switch {
	case err != nil:
		r.config.Logger.Warn("the ledger cannot record that this process is alive", "error", err)
	case n > 0:
		r.config.Logger.Info("requests of an ended process are interrupted", "entries", n)
	}
}

// noteFailure notes that a write has failed, or that one has not.
func (r *Recorder) noteFailure(err error) {
	if err != nil && r.config.OnFailure != nil {
		r.config.OnFailure()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.failing = time.Time{}
	case r.failing.IsZero():
		r.failing = r.config.Clock()
	}
	r.failure = err
}

// Failing says since when the store takes nothing, and why: a zero time and nil while it
// does. It is tried every 2 s, also when there is nothing to record.
func (r *Recorder) Failing() (since time.Time, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failing, r.failure
}

// Queued is how many entries wait to be written.
func (r *Recorder) Queued() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending.entries)
}

// Lag is how long nothing can be written; 0 while the ledger is written.
func (r *Recorder) Lag() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failing.IsZero() {
		return 0
	}
	return max(r.config.Clock().Sub(r.failing), 0)
}

// end closes what is open.
func (r *Recorder) end(ctx context.Context) error {
	n, err := r.config.Store.End(ctx, r.process)
	if err = late(ctx, err); err != nil {
		return fmt.Errorf("ledger: close the open entries: %w", err)
	}
	if n > 0 {
		r.config.Logger.Warn("requests in flight are recorded as interrupted, since the process ends", "entries", n)
	}
	return nil
}

// errLate is of a write that the end of the process did not wait for.
var errLate = fmt.Errorf("the %s that the last writes have are over", endWithin)

// late returns errLate for the error of a write that the end has broken off. Those who end the process would take that
// for the answer to their signal, and not for a failure.
func late(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return errLate
	}
	return err
}

// wait lets a while pass; false when ctx ends first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
