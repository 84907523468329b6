package ledger

import "context"

// batch is entries that are written together.
type batch struct {
	entries []*Entry
	half    *half         // of the journal, which has them too; nil for none
	written chan struct{} // closed once they are, or are lost
}

func newBatch() *batch { return &batch{written: make(chan struct{})} }

// queue adds an entry to the batch; the caller holds mu.
func (r *Recorder) queue(e *Entry) {
	r.pending.entries = append(r.pending.entries, e)
	r.journal.add(e)
	signal := r.full
	switch len(r.pending.entries) {
	case 1:
		signal = r.wake
	case r.config.Batch:
	default:
		return
	}
	select {
	case signal <- struct{}{}:
	default:
	}
}

// Flush waits until what has been recorded so far is written or, at the end of the recorder, lost, which Close says. A
// store that fails is tried again until ctx ends; the error is then ctx's.
func (r *Recorder) Flush(ctx context.Context) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	b := r.pending
	select {
	case r.wake <- struct{}{}: // an empty batch is behind the one that is being written
	default:
	}
	r.mu.Unlock()
	select {
	case <-b.written:
	case <-r.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
