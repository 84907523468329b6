package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/genway/genway/core/ledger"
)

// dimensions are the expressions of what a report can have a row for each of.
var dimensions = map[ledger.Dimension]string{
	ledger.ByKey:      "key_id",
	ledger.ByModel:    "model",
	ledger.ByDay:      "start_time / 86400000000", // days since 1970; see day
	ledger.ByProtocol: "protocol",
	ledger.ByUpstream: "upstream",
}

// Report sums the entries up.
func (s ledgerStore) Report(ctx context.Context, query ledger.Query) ([]ledger.Row, error) {
	by, ok := dimensions[query.By]
	if !ok {
		return nil, fmt.Errorf("report: no dimension %q", query.By)
	}
	rows, err := s.db.query(ctx, `SELECT `+by+`, count(*),
			count(*) FILTER (WHERE outcome = 'ok'), count(*) FILTER (WHERE outcome = 'failed'), count(*) FILTER (WHERE outcome = 'cancelled'), count(*) FILTER (WHERE outcome = 'interrupted'), count(*) FILTER (WHERE outcome = 'open'),
			CAST(sum(input_tokens) AS BIGINT), CAST(sum(output_tokens) AS BIGINT), CAST(sum(cache_read_tokens) AS BIGINT), CAST(sum(cache_write_tokens) AS BIGINT), CAST(sum(cache_write_1h_tokens) AS BIGINT),
			CAST(sum(input_image_tokens) AS BIGINT), CAST(sum(input_audio_tokens) AS BIGINT), CAST(sum(thinking_tokens) AS BIGINT), CAST(sum(output_image_tokens) AS BIGINT), CAST(sum(output_audio_tokens) AS BIGINT), CAST(sum(images) AS BIGINT)
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
		if query.By == ledger.ByDay {
			if r.Value, err = day(r.Value); err != nil {
				return nil, fmt.Errorf("report: %w", err)
			}
		}
		report = append(report, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return report, nil
}

// day writes a number of days since 1970 as a date.
func day(number string) (string, error) {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return "", err
	}
	return time.Unix(n*secondsOfDay, 0).UTC().Format(time.DateOnly), nil
}

const secondsOfDay = 24 * 60 * 60
