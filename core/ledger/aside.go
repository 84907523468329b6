package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

const (
	// maxAside bounds the entries that are set aside. Once there are as many, the store is
	// treated as one that fails: entries wait, and then requests do.
	maxAside = 1024
	// asideAtOnce is how many of them are tried again with each beat.
	asideAtOnce = 16
)

// ErrRefused is an error of Store.Write that is of what the entries hold, not of the
// state of the store: the same entries fail again, others may be written.
var ErrRefused = errors.New("ledger: the store refuses an entry")

// put writes entries, and sets aside those that the store refuses, which it finds by
// halves. The rest is what is not written because the store fails.
func (r *Recorder) put(ctx context.Context, entries []*Entry) (rest []*Entry, err error) {
	err = r.write(ctx, entries)
	switch {
	case err == nil:
		return nil, nil
	case !errors.Is(err, ErrRefused):
		return entries, err
	case len(entries) > 1:
		half := len(entries) / 2
		if rest, err = r.put(ctx, entries[:half]); err != nil {
			return slices.Concat(rest, entries[half:]), err
		}
		return r.put(ctx, entries[half:])
	case len(r.aside) >= maxAside:
		return entries, err
	}
	r.setAside(entries[0], err)
	return nil, nil
}

// setAside keeps an entry that the store refuses, so that the others can be written. The log
// has all of it, since the process may end before it can be written.
func (r *Recorder) setAside(e *Entry, err error) {
	r.aside = append(r.aside, e)
	r.config.Logger.Error("the store refuses an entry of the ledger; it is set aside and tried again every 2 s",
		"request_id", e.ID, "error", err, "process", r.process, "entry", fmt.Sprintf("%+v", *e), "set_aside", len(r.aside))
	if r.config.OnAside != nil {
		r.config.OnAside()
	}
}

// retryAside tries some of the entries again that were set aside.
func (r *Recorder) retryAside(ctx context.Context, count int) {
	trying := r.aside[:min(count, len(r.aside))]
	r.aside = r.aside[len(trying):]
	for i, e := range trying {
		err := r.write(ctx, []*Entry{e})
		if err == nil {
			r.config.Logger.Info("an entry that was set aside is written", "request_id", e.ID, "set_aside", len(r.aside)+len(trying)-i-1)
			continue
		}
		r.aside = append(r.aside, e)
		if !errors.Is(err, ErrRefused) { // the store fails: this is not the time
			r.aside = append(r.aside, trying[i+1:]...)
			return
		}
	}
}

// endAside tries the entries once more that were set aside, and says how many are lost.
func (r *Recorder) endAside(ctx context.Context) error {
	r.retryAside(ctx, len(r.aside))
	if len(r.aside) == 0 {
		return nil
	}
	return fmt.Errorf("ledger: %d entries that the store refuses are lost; the log has them", len(r.aside))
}
