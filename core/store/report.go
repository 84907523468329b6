package store

import (
	"context"
	"fmt"

	"github.com/genway/genway/core/ledger"
)

// dimensions are the expressions of what a report can have a row for each of.
var dimensions = map[ledger.Dimension]string{
	ledger.ByKey:      "key_id",
	ledger.ByModel:    "model",
	ledger.ByDay:      "strftime('%Y-%m-%d', start_time / 1000000, 'unixepoch')",
	ledger.ByProtocol: "protocol",
	ledger.ByUpstream: "upstream",
}

// Report sums the entries up.
func (s sqliteLedger) Report(ctx context.Context, query ledger.Query) ([]ledger.Row, error) {
	by, ok := dimensions[query.By]
	if !ok {
		return nil, fmt.Errorf("report: no dimension %q", query.By)
	}
	//nolint:gosec // by is one of the dimensions written here
	//nolint:gosec // one of the constants above
	rows, err := s.db.QueryContext(ctx, `SELECT `+by+`, count(*),
			sum(outcome = 'ok'), sum(outcome = 'failed'), sum(outcome = 'cancelled'), sum(outcome = 'interrupted'), sum(outcome = 'open'),
			sum(input_tokens), sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(cache_write_1h_tokens),
			sum(input_image_tokens), sum(input_audio_tokens), sum(thinking_tokens), sum(output_image_tokens), sum(output_audio_tokens), sum(images)
		FROM ledger WHERE start_time >= ? GROUP BY 1 ORDER BY 1`, sinceMicros(query.Since))
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	defer rows.Close()
	var report []ledger.Row
	for rows.Next() {
		var r ledger.Row
		if err := rows.Scan(&r.Value, &r.Requests, &r.OK, &r.Failed, &r.Cancelled, &r.Interrupted, &r.Open,
			&r.Input, &r.Output, &r.CacheRead, &r.CacheWrite, &r.CacheWrite1h,
			&r.InputImage, &r.InputAudio, &r.Thinking, &r.OutputImage, &r.OutputAudio, &r.Images); err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		report = append(report, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return report, nil
}
