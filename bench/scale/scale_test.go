package scale

import (
	"context"
	"testing"
	"time"

	"github.com/genway/genway/bench/growth"
)

// Each figure of both servers is there, and none is absurd.
func TestFigures(t *testing.T) {
	ledger := func(ctx context.Context, n int, during time.Duration) (growth.Row, error) {
		return Ledger(ctx, nil, n, during)
	}
	prune := func(ctx context.Context, n int, _ time.Duration) (growth.Row, error) { return Prune(ctx, nil, n) }
	for name, measure := range map[string]func(context.Context, int, time.Duration) (growth.Row, error){"ledger": ledger, "limits": Limits, "prune": prune} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row, err := measure(t.Context(), 2, 100*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if row.N != 2 || len(row.Metrics) < 6 {
				t.Errorf("%+v", row)
			}
			for _, m := range row.Metrics {
				if m.Value <= 0 || m.Value > 1e7 {
					t.Errorf("%s: %v %s", m.What, m.Value, m.Unit)
				}
			}
		})
	}
}
