package coreproc

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core/store"
)

// The parts of a core that may fail. Probes name them to any caller.
const (
	partStore  = "store"
	partLedger = "ledger"
)

const (
	// storeGrace is how long a core is ready while its store is away: as long as it
	// serves the keys that it knows (keys.Config.Staleness).
	storeGrace = time.Minute
	// lookEvery is the interval between two checks of the parts. Probes read the last result.
	lookEvery = time.Second
)

// readiness looks after the parts that a core cannot serve without.
type readiness struct {
	// ask fails while the store does not answer.
	ask func(context.Context) error
	// met returns the first damage that any statement has met; nil is none.
	met func() error
	// ledger says since when the ledger cannot be written, and why.
	ledger func() (time.Time, error)
	// report is called with the failing parts when they change.
	report func(failing []string)
	log    *slog.Logger

	asked   time.Time // when the store has answered last
	failing []string
	// damaged is how the store is damaged, from when that was found on: it does not mend
	// by itself.
	damaged error
	// checked returns what came of the check of the store at the start; nil is none.
	checked <-chan error
	// onDamage is called once, when damage is found; nil is nothing.
	onDamage func()
}

// damage records the first error that means that the store is damaged, and logs it at once.
func (r *readiness) damage(err error) {
	if r.damaged != nil || !store.Damaged(err) {
		return
	}
	r.damaged = err
	r.log.Error("THE STORE IS DAMAGED: keys and the ledger may be lost; stop the server, keep the file, and restore a backup", "error", err)
	if r.onDamage != nil {
		r.onDamage()
	}
}

// watch looks after the parts until ctx ends.
func (r *readiness) watch(ctx context.Context) {
	r.asked = time.Now()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		r.look(ctx)
		select {
		case <-ticker.C:
		case err := <-r.checked:
			r.checked = nil
			r.damage(err)
			if err != nil && r.damaged == nil && ctx.Err() == nil {
				r.log.Warn("the store could not be checked for damage", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// look reports which parts fail if that has changed.
func (r *readiness) look(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, lookEvery)
	defer cancel()
	var failing []string
	now, err := time.Now(), r.ask(asking)
	switch {
	case ctx.Err() != nil:
		return
	case err == nil:
		r.asked = now
	case now.Sub(r.asked) >= storeGrace:
		failing = append(failing, partStore)
	}
	since, cause := r.ledger()
	r.damage(r.met())
	if r.damaged != nil && !slices.Contains(failing, partStore) {
		failing, err = append(failing, partStore), r.damaged
	}
	if cause != nil && (store.Unwritable(cause) || now.Sub(since) >= storeGrace) {
		failing, err = append(failing, partLedger), cause
	}
	if slices.Equal(failing, r.failing) {
		return
	}
	r.failing = failing
	r.report(failing)
	if len(failing) > 0 {
		r.log.Error("not ready", "failing", strings.Join(failing, ","), "cause", err)
	} else {
		r.log.Info("ready again")
	}
}

// lookAfter keeps the server's health up to date until ctx ends.
func (c *Core) lookAfter(ctx context.Context) {
	checked := make(chan error, 1)
	var checking sync.WaitGroup
	checking.Go(func() { checked <- c.store.Check(ctx) })
	defer checking.Wait()
	r := readiness{
		checked:  checked,
		onDamage: func() { c.damaged.Store(true) },
		ask: func(ctx context.Context) error {
			_, err := c.store.Keys().Version(ctx)
			if err != nil {
				c.counts.StoreFailed("check")
			}
			return err
		},
		met:    c.store.Damage,
		ledger: c.ledger.Failing,
		report: c.server.SetFailing,
		log:    c.log,
	}
	r.watch(ctx)
}

// announceEnd has the server report that it is about to end, when a ctx of cli.Delay does.
func (c *Core) announceEnd(ctx context.Context) {
	select {
	case <-cli.Draining(ctx):
		c.server.Drain()
	case <-ctx.Done():
	}
}
