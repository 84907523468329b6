package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/core/ledger"
)

const (
	signOfLife = `UPDATE ledger_processes SET seen_time = ?, host = ?, version = ?, address = ?, configuration = ?, degraded = ? WHERE id = ?`
	processes  = `SELECT id, start_time, seen_time, host, version, address, configuration, degraded FROM ledger_processes WHERE seen_time >= ? ORDER BY id DESC LIMIT 1000`
)

// Processes lists those that have been alive since.
func (s ledgerStore) Processes(ctx context.Context, since time.Time) ([]ledger.Process, error) {
	rows, err := s.db.query(ctx, processes, sinceMicros(since))
	if err != nil {
		return nil, fmt.Errorf("select processes: %w", err)
	}
	defer rows.Close()
	var list []ledger.Process
	for rows.Next() {
		var p ledger.Process
		var start, seen int64
		var degraded string
		if err := rows.Scan(&p.Number, &start, &seen, &p.Host, &p.Version, &p.Address, &p.Configuration, &degraded); err != nil {
			return nil, fmt.Errorf("scan process: %w", err)
		}
		p.Start, p.Seen = time.UnixMicro(start).UTC(), time.UnixMicro(seen).UTC()
		if degraded != "" {
			p.Degraded = strings.Split(degraded, ",")
		}
		list = append(list, p)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("select processes: %w", err)
	}
	slices.Reverse(list)
	return list, nil
}
