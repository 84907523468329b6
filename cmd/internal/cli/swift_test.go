package cli

import (
	"bytes"
	"io"
	"log/slog"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever is logged, the line is slog's.
func TestLinesAreThoseOfSlog(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z_0-9.]{0,12}`), rapid.StringMatching(`[ -~]{0,12}`))
	value := rapid.OneOf(
		rapid.Map(text, slog.StringValue), rapid.Map(rapid.Int64(), slog.Int64Value), rapid.Map(rapid.Bool(), slog.BoolValue),
		rapid.Map(rapid.Int64(), func(n int64) slog.Value { return slog.DurationValue(time.Duration(n)) }),
		rapid.Map(rapid.Float64(), slog.Float64Value), rapid.Map(rapid.Int64Range(-10, 10_000_000), func(n int64) slog.Value { return slog.Float64Value(float64(n) / 1e6) }), rapid.Map(text, func(s string) slog.Value { return slog.AnyValue([]byte(s)) }),
		rapid.Map(text, func(s string) slog.Value { return slog.GroupValue(slog.String(s, s)) }), rapid.Just(slog.Value{}),
	)
	attr := rapid.Custom(func(t *rapid.T) slog.Attr { return slog.Attr{Key: text.Draw(t, "key"), Value: value.Draw(t, "value")} })
	zones := rapid.SampledFrom([]*time.Location{time.UTC, time.Local, time.FixedZone("x", -5400)}) //nolint:gosmopolitan // the log is in local time
	rapid.Check(t, func(t *rapid.T) {
		var got, want bytes.Buffer
		options, format := &slog.HandlerOptions{Level: slog.LevelDebug}, rapid.SampledFrom([]string{"text", "json"}).Draw(t, "format")
		ours, end := Log{Level: slog.LevelDebug, Format: format}.logger(&got)
		var theirs slog.Handler = slog.NewTextHandler(&want, options)
		if format == "json" {
			theirs = slog.NewJSONHandler(&want, options)
		}
		handler := ours.Handler()
		if extra := rapid.SliceOfN(attr, 0, 1).Draw(t, "with"); len(extra) > 0 {
			handler, theirs = handler.WithAttrs(extra), theirs.WithAttrs(extra)
		}
		if group := rapid.SampledFrom([]string{"", "", "g"}).Draw(t, "group"); group != "" {
			handler, theirs = handler.WithGroup(group), theirs.WithGroup(group)
		}
		for range 2 {
			var at time.Time
			if rapid.IntRange(0, 9).Draw(t, "timed") > 0 {
				at = time.Unix(rapid.Int64Range(0, 3).Draw(t, "second"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanosecond")).In(zones.Draw(t, "zone"))
			}
			r := slog.NewRecord(at, slog.Level(rapid.IntRange(-5, 9).Draw(t, "level")), text.Draw(t, "message"), 0)
			r.AddAttrs(rapid.SliceOfN(attr, 0, 8).Draw(t, "attributes")...)
			if handler.Handle(t.Context(), r) != nil || theirs.Handle(t.Context(), r) != nil {
				t.Fatal("not handled")
			}
		}
		end()
		if got.String() != want.String() {
			t.Errorf("got\n%swant\n%s", got.String(), want.String())
		}
	})
}

func BenchmarkLine(b *testing.B) {
	attrs := []slog.Attr{
		slog.String("request_id", "req_abcdefghijklmnopqrstuvwxyz"), slog.String("method", "GenerateText"), slog.String("protocol", "chat_completions"),
		slog.String("key", "key_abcdef"), slog.String("model", "gpt-5"), slog.String("upstream", "main"), slog.Int64("attempts", 1),
		slog.Float64("duration_seconds", 0.001234), slog.Int64("input_tokens", 19), slog.Int64("output_tokens", 210), slog.Int64("cache_read_tokens", 0), slog.Int64("thinking_tokens", 0),
	}
	for _, format := range []string{"text", "json"} {
		b.Run(format, func(b *testing.B) {
			log, end := Log{Level: slog.LevelInfo, Format: format}.logger(io.Discard)
			handler := log.Handler()
			b.ReportAllocs()
			for b.Loop() {
				r := slog.NewRecord(time.Now(), slog.LevelInfo, "call", 0)
				r.AddAttrs(attrs...)
				_ = handler.Handle(b.Context(), r)
			}
			end()
		})
	}
}
