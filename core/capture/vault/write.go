package vault

import (
	"context"
	"fmt"
	"time"
)

func (v *Vault) run() {
	defer close(v.ended)
	expire := time.NewTicker(expireEvery)
	defer expire.Stop()
	for {
		select {
		case <-v.closing:
			v.drain()
			return
		case <-v.wake:
			for v.write(v.take()) {
			}
		case <-expire.C:
			v.expire()
		}
	}
}

// drain writes what is left, as far as the store takes it in time.
func (v *Vault) drain() {
	for began := time.Now(); time.Since(began) < writeWithin; {
		some := v.take()
		if len(some) == 0 || !v.write(some) && v.failing {
			break
		}
	}
	for some := v.take(); len(some) > 0; some = v.take() {
		v.done(some, Lost)
	}
}

// take takes some of what waits.
func (v *Vault) take() []waiting {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := min(batch, len(v.waiting))
	some := v.waiting[:n:n]
	v.waiting = v.waiting[n:]
	return some
}

// write writes captures, and reports whether to look for more.
func (v *Vault) write(some []waiting) bool {
	if len(some) == 0 {
		return false
	}
	ring := v.ring.Load()
	rows := make([]Row, 0, len(some))
	for i, w := range some {
		content, err := encode(w.capture.Bodies())
		if err != nil {
			v.config.Logger.Error("captured bodies cannot be written", "error", err)
			v.done(some[i:i+1], Lost)
			continue
		}
		w.row.Content = content
		ring.seal(&w.row)
		some[len(rows)], rows = w, append(rows, w.row)
	}
	some = some[:len(rows)]
	err := v.put(rows)
	if err != nil && v.pause() {
		err = v.put(rows)
	}
	switch {
	case err != nil && !v.failing:
		v.failing = true
		v.config.Logger.Warn("captured bodies cannot be kept", "error", err)
	case err == nil && v.failing:
		v.failing = false
		v.config.Logger.Info("captured bodies are kept again")
	}
	if err != nil {
		v.done(some, Lost)
	} else {
		v.done(some, Kept)
	}
	return true
}

func (v *Vault) put(rows []Row) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeWithin)
	defer cancel()
	if err := v.config.Store.Put(ctx, rows); err != nil {
		return fmt.Errorf("vault: %w", err)
	}
	return nil
}

// pause waits before the second try, and reports false when the vault is closed meanwhile.
func (v *Vault) pause() bool {
	timer := time.NewTimer(retryAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-v.closing:
		return false
	}
}

func (v *Vault) done(some []waiting, result string) {
	for _, w := range some {
		w.capture.Release()
		v.config.Count(result)
	}
}

// expire removes rows whose time is over.
func (v *Vault) expire() {
	ctx, cancel := context.WithTimeout(context.Background(), writeWithin)
	defer cancel()
	if _, err := v.Delete(ctx, Selection{Before: v.config.Clock()}); err != nil {
		v.config.Logger.Warn("captured bodies whose time is over cannot be removed", "error", err)
	}
}
