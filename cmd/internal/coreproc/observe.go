package coreproc

import (
	"os"
	"sync/atomic"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/internal/certs"
	"github.com/genway/genway/telemetry/instrument"
)

// watch has the state of the core read whenever metrics are collected.
func (c *Core) watch(limitsUnavailable *atomic.Bool) error {
	var fills *limit.Fills
	if counted, ok := c.limits.store.(interface{ Fills() *limit.Fills }); ok {
		fills = counted.Fills()
	}
	_, err := instrument.State{
		Breakers: c.routing.Router.Breakers, LedgerQueue: c.ledger.Queued, LedgerLag: c.ledger.Lag,
		LimitsDegraded: limitsUnavailable.Load, StoreDamaged: c.damaged.Load, AnswerBytes: c.routing.Answers.Held,
		Budgets: func(yield func(scope, period string, fill float64)) {
			if fills != nil {
				fills.Each(time.Now(), yield)
			}
		},
		Certificates: c.expiries, ConfigHash: c.routing.Hash, Ready: func() bool { return len(c.server.Failing()) == 0 },
		LogLinesLost: cli.LinesLost(c.log),
	}.Watch(c.telemetry.Meter)
	return err
}

// expiries calls yield with the groups of certificates, and when the first of each ends.
func (c *Core) expiries(yield func(group string, end time.Time)) {
	if end, ok := c.certificates.First(); ok {
		yield("grpc", end)
	}
	c.routing.mu.Lock()
	end, ok := certs.First(c.routing.current.certificates)
	c.routing.mu.Unlock()
	if ok {
		yield("upstreams", end)
	}
}

// Hash is that of the configuration in force: the first digits of its SHA-256, or none
// without a file.
func (r *Routing) Hash() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hash
}

// noHash stands for a core without a configuration file.
const noHash = "none"

func hashOf(file string) string {
	if file == "" {
		return noHash
	}
	text, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return noHash
	}
	return hashOfText(text)
}
