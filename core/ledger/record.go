package ledger

import "time"

// Record is an entry that is open.
type Record struct {
	recorder *Recorder
	entry    *Entry // as it is opened
	opening  *batch // the batch it is in
	settled  bool
}

// ID names the entry in its store: its process, and its number there. Both are 0 for a nil Record.
func (e *Record) ID() (process, number int64) {
	if e == nil {
		return 0, 0
	}
	return e.recorder.process, e.entry.Number
}

// Settle closes the entry. The first call counts; later ones, and those on a nil
// Record, do nothing. With Config.Wait it returns when the entry is written, or after
// MaxWait, and then logs that it is not.
func (e *Record) Settle(result Result) {
	if e == nil {
		return
	}
	in := e.settle(result)
	if in == nil || !e.recorder.config.Wait {
		return
	}
	timer := time.NewTimer(e.recorder.config.MaxWait)
	defer timer.Stop()
	select {
	case <-in.written:
	case <-timer.C:
		e.recorder.config.Logger.Error("a request has ended, and its ledger entry is not written yet", "request_id", e.entry.ID)
	}
}

// settle queues the closed entry and gives its batch; nil when it was settled or the
// recorder is closed, whose end has closed the entry.
func (e *Record) settle(result Result) *batch {
	r := e.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.settled || r.closed {
		return nil
	}
	e.settled = true
	for _, text := range []*string{&result.Reason, &result.Model, &result.Upstream, &result.Route, &result.Price} {
		*text = clip(*text)
	}
	if e.opening == r.pending {
		// A short request is one write.
		e.entry.Result = result
		r.journal.add(e.entry)
	} else {
		r.queue(&Entry{Number: e.entry.Number, Request: e.entry.Request, Result: result})
	}
	return r.pending
}
