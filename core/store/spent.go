package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/ledger"
)

// Spent sums up what was spent, by key, owner and process. Of one key or one owner, it uses the indexes
// ledger_spent_key and ledger_spent_owner.
func (s ledgerStore) Spent(ctx context.Context, since time.Time, keyID, owner string) ([]ledger.Spend, error) {
	args := []any{sinceMicros(since) / microsOfDay}
	of := ""
	if keyID != "" {
		of, args = "key_id", append(args, keyID)
	} else if owner != "" {
		of, args = "owner", append(args, owner)
	}
	rows, err := s.db.query(ctx, spentSince(s.db.dialect, of), args...)
	if err != nil {
		return nil, fmt.Errorf("sum costs: %w", err)
	}
	defer rows.Close()
	var spent []ledger.Spend
	for rows.Next() {
		var spend ledger.Spend
		var process, began int64
		if err := rows.Scan(&spend.KeyID, &spend.Owner, &process, &began, &spend.Cost); err != nil {
			return nil, fmt.Errorf("sum costs: %w", err)
		}
		spend.Process = ledger.ProcessName(process, time.UnixMicro(began))
		spent = append(spent, spend)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("sum costs: %w", err)
	}
	return spent, nil
}

// spentSince sums up by process, of which there is no row for what was spent before the table (process 0). of is a
// column to select one value of; empty for none.
func spentSince(d *dialect, of string) string {
	if of != "" {
		of = ` AND ` + of + ` = ?`
	}
	return `SELECT s.key_id, s.owner, s.process, COALESCE(p.start_time, 0), s.cost FROM (` +
		`SELECT key_id, owner, process, ` + d.sum("cost") + ` AS cost FROM ledger_spent WHERE day >= ?` + of + ` GROUP BY key_id, owner, process` +
		`) AS s LEFT JOIN ledger_processes AS p ON p.id = s.process ORDER BY s.key_id, s.owner, s.process`
}

// spender is whose costs of a day are one row of ledger_spent.
type spender struct {
	day          int64
	keyID, owner string
}

// costs are what is added to rows.
type costs map[spender]int64

// add adds what entries that have been closed cost. That of an interrupted one is not
// known: the process that ran the request may still report it.
func (c costs) add(entries []*ledger.Entry) {
	for _, e := range entries {
		if e.Outcome != ledger.Interrupted && e.Cost > 0 {
			s := spender{e.Start.UnixMicro() / microsOfDay, text(e.KeyID), text(e.Owner)}
			c[s] = amount.Sum(c[s], amount.Bound(e.Cost))
		}
	}
}

var moreSpent = ` ON CONFLICT (day, process, key_id, owner) DO UPDATE SET cost = ` + saturated("ledger_spent.cost", "excluded.cost")

// prepareAdders prepares the statements that add to so many rows. The caller holds mu, and
// no transaction.
func (w *rowWriter) prepareAdders(ctx context.Context) error {
	for _, n := range shapeRows {
		if w.adders[n] != nil {
			continue
		}
		//nolint:gosec // of constants
		add := `INSERT INTO ledger_spent (process, day, key_id, owner, cost) VALUES (?1, ?, ?, ?, ?)` + strings.Repeat(", (?1, ?, ?, ?, ?)", n-1) + moreSpent
		adder, err := w.pool.PrepareContext(ctx, add) //nolint:sqlclosecheck // it is closed with the pool
		if err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
		w.adders[n] = adder
	}
	return nil
}

// additions returns the statements that add costs.
func (w *rowWriter) additions(process int64, spent costs) (steps []step) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := slices.Collect(maps.Keys(spent))
	for _, n := range shapeRows {
		for ; len(rest) >= n; rest = rest[n:] {
			args := []any{process}
			for _, s := range rest[:n] {
				args = append(args, s.day, s.keyID, s.owner, spent[s])
			}
			steps = append(steps, step{statement: w.adders[n], args: args})
		}
	}
	return steps
}
