package coreproc

import (
	"context"
	"os"
	"time"

	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/keys"
)

// advise logs what an operator has most likely forgotten: that there is no key.
func (c *Core) advise(ctx context.Context) {
	live, err := c.Keys.List(ctx, keys.Query{Limit: 1, LiveAt: time.Now()})
	if err != nil {
		c.log.Warn("the keys cannot be listed", "error", err)
		return
	}
	flag, err := c.data.Flag(os.Getenv)
	if err != nil {
		flag = ""
	}
	if len(live) == 0 {
		c.log.Warn("there is no key, so no client can call; make one", "command", "genway keys create --group "+string(keys.GroupChat)+flag)
	}
}

// adviseOfBudgets logs that a key has a budget which no price can be counted against. It
// reads keys until it finds one, so that it runs beside the server.
func (c *Core) adviseOfBudgets(ctx context.Context) {
	if !c.routing.unpriced() {
		return
	}
	for key, err := range c.Keys.All(ctx, keys.Query{LiveAt: time.Now()}) {
		if err != nil {
			return // the server says so where it matters
		}
		if len(key.Policy.Limits.Budgets) > 0 {
			c.log.Warn("keys have budgets and the configuration has no prices: requests of these keys are refused", "key", key.ID, "remedy", config.PricesRemedy)
			return
		}
	}
}
