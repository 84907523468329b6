package coreproc

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/limit/shared"
)

// Limits is the limiter of a configuration, which is kept over its changes, with all it
// has counted.
type Limits struct {
	Limiter *limit.Limiter
	store   limit.Store
	// shared is the store where it is one that cores share; else nil.
	shared  *shared.Store
	section config.Limits
}

// openLimits makes the limiter. What was spent in the day and the month under way is
// taken from the ledger, where process is the name of this one. onGone is called when a shared store stops answering, and when it
// answers again.
func openLimits(ctx context.Context, section config.Limits, entries ledger.Store, process string, onGone func(bool), log *slog.Logger) (*Limits, error) {
	spent := func(ctx context.Context, since time.Time, keyID, owner string) ([]limit.Spend, error) {
		rows, err := entries.Spent(ctx, since, keyID, owner)
		spends := make([]limit.Spend, len(rows))
		for i, r := range rows {
			spends[i] = limit.Spend(r)
		}
		return spends, err
	}
	l := &Limits{section: section}
	if section.Store == "" {
		memory := limit.NewMemory(nil)
		if err := memory.Restore(ctx, spent); err != nil {
			return nil, err
		}
		l.store = memory
	} else {
		var err error
		l.shared, err = shared.Start(ctx, shared.Config{
			URL: section.Store, Prefix: section.Prefix, Timeout: time.Duration(section.Timeout),
			Policy: policyOf(section), Process: process, Spent: spent, OnUnavailable: onGone, Logger: log,
		})
		if err != nil {
			return nil, err
		}
		l.store = l.shared
	}
	l.Limiter = limit.New(l.store, section.Rules())
	return l, nil
}

func policyOf(section config.Limits) shared.Policy {
	return shared.Policy{Local: section.WhenGone == "local", Share: float64(section.LocalShare)}
}

// errStore is a change that a running core cannot follow.
var errStore = errors.New("limits: store, prefix and timeout cannot change while the core runs; restart it")

// check refuses a section that a running core cannot follow.
func (l *Limits) check(section config.Limits) error {
	if l != nil && (section.Store != l.section.Store || section.Prefix != l.section.Prefix || section.Timeout != l.section.Timeout) {
		return errStore
	}
	return nil
}

// swap follows a section that was checked. What is counted stays.
func (l *Limits) swap(section config.Limits) {
	if l == nil {
		return
	}
	l.section = section
	l.Limiter.Swap(section.Rules())
	if l.shared != nil {
		l.shared.SetPolicy(policyOf(section))
	}
}

// Close settles what is left.
func (l *Limits) Close() error { return l.store.Close() }
