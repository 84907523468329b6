package wideline_test

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/genway/genway/telemetry/wideline"
	"pgregory.net/rapid"
)

// encoded is a handler whose lines are written in an encoding.
type encoded struct {
	slog.Handler
	encoding wideline.Encoding
	got      *bytes.Buffer
}

func (e encoded) Encoding() wideline.Encoding         { return e.encoding }
func (e encoded) WriteLine(_ slog.Level, line []byte) { e.got.Write(line) }

// A line that an encoding writes is the line that slog's handler writes, whatever its values
// are.
func TestEncodingIsSlogs(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[ -~]{0,40}`), rapid.StringMatching(`[a-z0-9_./:-]{0,30}`), rapid.String(),
		rapid.SampledFrom([]string{"", "=", " ", "\\", "\x7f", "\xff", "é", "\u2028", "<&>", "\x00", "\ufffd", "\u00a0", "\U000e0001", "🙂"}))
	number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 1000), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1e-6, 1e-7, 1e21, 1e20, math.MaxFloat64, math.SmallestNonzeroFloat64}))
	duration := rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, 2_000_000), rapid.Int64Range(0, 150_000), rapid.Int64Range(-2_000_000, 1e12), rapid.SampledFrom([]int64{0, 999, 1000, 99_999, 100_000, 1e9, 1e15 - 1, 1e15, 100e9, 1_000_100_000}))
	rapid.Check(t, func(t *rapid.T) {
		zone := time.FixedZone("", rapid.IntRange(-12, 14).Draw(t, "zone")*3600)
		at := time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "seconds"), rapid.Int64Range(0, 1e9-1).Draw(t, "nanoseconds")).In(zone)
		level := rapid.SampledFrom([]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError, 1}).Draw(t, "level")
		message := rapid.OneOf(rapid.Just("call"), text).Draw(t, "message")
		for _, e := range []wideline.Encoding{wideline.None, wideline.Text, wideline.JSON} {
			var got, want bytes.Buffer
			slogs := func(out *bytes.Buffer) slog.Handler {
				if e == wideline.JSON {
					return slog.NewJSONHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})
				}
				return slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})
			}
			line, record := wideline.New(encoded{slogs(&got), e, &got}, at, level, message), slog.NewRecord(at, level, message, 0)
			for range rapid.IntRange(0, 6).Draw(t, "fields") {
				switch rapid.IntRange(0, 3).Draw(t, "kind") {
				case 0:
					n := rapid.Int64().Draw(t, "int")
					line.Int("number_of", n)
					record.AddAttrs(slog.Int64("number_of", n))
				case 1:
					v := number.Draw(t, "float")
					line.Float("dollars", v)
					record.AddAttrs(slog.Float64("dollars", v))
				case 2:
					d := time.Duration(duration.Draw(t, "duration"))
					line.Seconds("seconds", d)
					record.AddAttrs(slog.Float64("seconds", float64(d.Microseconds())/1e6))
				default:
					s := text.Draw(t, "text")
					line.Text("request_id", s)
					record.AddAttrs(slog.String("request_id", s))
				}
			}
			line.Write(context.Background())
			if err := slogs(&want).Handle(context.Background(), record); err != nil {
				t.Fatal(err)
			}
			if got.String() != want.String() {
				t.Fatalf("encoding %d:\ngot  %swant %s", e, got.String(), want.String())
			}
		}
	})
}
