package coreproc

import (
	"context"
	"os"
	"time"

	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/keys"
)

// advise logs what an operator has most likely forgotten: that there is no key, or that a
// key has a budget which no price can be counted against.
func (c *Core) advise(ctx context.Context) {
	list, err := c.Keys.List(ctx)
	if err != nil {
		c.log.Warn("the keys cannot be listed", "error", err)
		return
	}
	flag, err := c.data.Flag(os.Getenv)
	if err != nil {
		flag = ""
	}
	live, budgeted, now := 0, 0, time.Now()
	for _, key := range list {
		if key.RevokeTime != nil || key.Expired(now) {
			continue
		}
		live++
		if len(key.Policy.Limits.Budgets) > 0 {
			budgeted++
		}
	}
	if live == 0 {
		c.log.Warn("there is no key, so nobody can call; make one", "command", "genway keys create --group "+string(keys.GroupChat)+flag)
	}
	if budgeted > 0 && c.routing.unpriced() {
		c.log.Warn("keys have budgets and the configuration has no prices: requests of these keys are refused", "keys", budgeted, "remedy", config.PricesRemedy)
	}
}
