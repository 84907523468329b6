package store

import (
	"context"
	"time"

	"github.com/genway/genway/core/ledger"
)

// Spent gives nothing: the schema keeps no costs, so all are 0.
func (s ledgerStore) Spent(ctx context.Context, _ time.Time) ([]ledger.Spend, error) {
	return nil, ctx.Err()
}
