package scale

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/bench/growth"
	"github.com/genway/genway/test/servers"
)

// Each figure of both servers is there, and none is absurd.
func TestFigures(t *testing.T) {
	server := servers.NewPostgres(t)
	for name, measure := range map[string]func(context.Context, *Database, int, time.Duration) (growth.Row, error){
		"limits": func(ctx context.Context, _ *Database, n int, during time.Duration) (growth.Row, error) {
			return Limits(ctx, n, during)
		},
		"ledger": Ledger,
		"prune": func(ctx context.Context, db *Database, n int, _ time.Duration) (growth.Row, error) {
			return Prune(ctx, db, n)
		},
	} {
		db, err := NewDatabase(t.Context(), server)
		if err != nil {
			t.Fatal(err)
		}
		row, err := measure(t.Context(), db, 2, 100*time.Millisecond)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if row.N != 2 || len(row.Metrics) < 6 {
			t.Errorf("%s: %+v", name, row)
		}
		for _, m := range row.Metrics {
			// Of a tenth of a second they may be less than what the kernel rounds.
			small := strings.HasPrefix(m.What, "the server's CPU time") || strings.HasPrefix(m.What, "memory")
			if m.Value < 0 || m.Value == 0 && !small || m.Value > 1e7 {
				t.Errorf("%s: %s: %v %s", name, m.What, m.Value, m.Unit)
			}
		}
	}
}
