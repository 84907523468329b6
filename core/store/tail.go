package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/genway/genway/core/ledger"
)

const (
	// tailRows bounds the entries of one process that one Tail reads; what is beyond is passed
	// over.
	tailRows = 2000
	// tailOpen bounds the entries whose end is waited for.
	tailOpen = 20_000
	// tailFew and tailChunk are how many entries a statement looks up by their numbers.
	tailFew   = 10
	tailChunk = 200
	// tailAlive is how old the last heartbeat of a process that is followed may be.
	tailAlive = time.Minute
)

// Tail follows the processes by the numbers of their entries, which are given in the order in
// which they are written, and looks those up again that were open.
func (s ledgerStore) Tail(ctx context.Context, c *ledger.Cursor) (ended []ledger.Located, dropped int64, err error) {
	first := c.Last == nil
	if first {
		c.Last, c.Open = map[int64]int64{}, map[ledger.Key]struct{}{}
	}
	last, err := s.lastNumbers(ctx)
	if err != nil {
		return nil, 0, err
	}
	if ended, err = s.ended(ctx, c); err != nil {
		return nil, 0, err
	}
	wait := func(key ledger.Key) {
		if len(c.Open) >= tailOpen {
			dropped++
			return
		}
		c.Open[key] = struct{}{}
	}
	if first {
		open, err := s.openKeys(ctx)
		if err != nil {
			return nil, 0, err
		}
		for key := range open {
			wait(key)
		}
	}
	for process, number := range last {
		before, known := c.Last[process]
		c.Last[process] = number
		if first || known && number <= before {
			continue
		}
		from := max(before, number-tailRows)
		dropped += from - before
		rows, err := s.located(ctx, s.db.kept, " WHERE process = ? AND number > ? AND number <= ?", process, from, number)
		if err != nil {
			return nil, 0, err
		}
		for _, e := range rows {
			if e.Outcome == ledger.Open {
				wait(ledger.Key{Process: process, Number: e.Number})
				continue
			}
			ended = append(ended, e)
		}
	}
	for process := range c.Last {
		if _, alive := last[process]; !alive {
			delete(c.Last, process)
		}
	}
	return ended, dropped, nil
}

// lastNumbers returns the number of the last entry of each process that is alive.
func (s ledgerStore) lastNumbers(ctx context.Context) (map[int64]int64, error) {
	rows, err := s.db.kept(ctx, `SELECT id, COALESCE((SELECT max(number) FROM ledger WHERE process = id), 0) FROM ledger_processes
		WHERE seen_time >= (SELECT max(seen_time) FROM ledger_processes) - ?`, tailAlive.Microseconds())
	if err != nil {
		return nil, fmt.Errorf("select processes: %w", err)
	}
	defer rows.Close()
	last := map[int64]int64{}
	for rows.Next() {
		var process, number int64
		if err := rows.Scan(&process, &number); err != nil {
			return nil, fmt.Errorf("scan process: %w", err)
		}
		last[process] = number
	}
	return last, rows.Err()
}

// openKeys returns the entries that are open, of which an index has few.
func (s ledgerStore) openKeys(ctx context.Context) (map[ledger.Key]struct{}, error) {
	rows, err := s.db.kept(ctx, `SELECT process, number FROM ledger WHERE outcome = 'open' LIMIT ?`, tailOpen)
	if err != nil {
		return nil, fmt.Errorf("select open entries: %w", err)
	}
	defer rows.Close()
	open := map[ledger.Key]struct{}{}
	for rows.Next() {
		var key ledger.Key
		if err := rows.Scan(&key.Process, &key.Number); err != nil {
			return nil, fmt.Errorf("scan open entry: %w", err)
		}
		open[key] = struct{}{}
	}
	return open, rows.Err()
}

// ended returns the entries of the cursor that are not open any more, and forgets them.
func (s ledgerStore) ended(ctx context.Context, c *ledger.Cursor) (ended []ledger.Located, err error) {
	if len(c.Open) == 0 {
		return nil, nil
	}
	open, err := s.openKeys(ctx)
	if err != nil {
		return nil, err
	}
	numbers := map[int64][]any{}
	for key := range c.Open {
		if _, still := open[key]; !still {
			delete(c.Open, key)
			numbers[key.Process] = append(numbers[key.Process], key.Number)
		}
	}
	for process, all := range numbers {
		for len(all) > 0 {
			some := all[:min(len(all), tailChunk)]
			all = all[len(some):]
			size := tailFew // so that there are two statements, which stay prepared
			if len(some) > tailFew {
				size = tailChunk
			}
			args := append([]any{process}, some...)
			for len(args) <= size {
				args = append(args, some[0])
			}
			rows, err := s.located(ctx, s.db.kept, " WHERE process = ? AND number IN (?"+strings.Repeat(", ?", size-1)+")", args...)
			if err != nil {
				return nil, err
			}
			for _, e := range rows {
				if e.Outcome != ledger.Open {
					ended = append(ended, e)
				} else {
					c.Open[ledger.Key{Process: process, Number: e.Number}] = struct{}{}
				}
			}
		}
	}
	return ended, nil
}
