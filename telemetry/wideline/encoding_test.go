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

// A line that an encoding writes is the line that slog's handler writes, whatever its values
// are. Texts without escapes and numbers are written by the encoding.
func TestEncodingIsSlogs(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[ -~]{0,40}`), rapid.StringMatching(`[a-z0-9_./:-]{0,30}`), rapid.String(), rapid.SampledFrom([]string{"", "=", " ", "\\", "\x7f", "\xff", "é", "\u2028", "<&>", "\x00"}))
	number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 1000), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1e-6, 1e-7, 1e21, 1e20, math.MaxFloat64, math.SmallestNonzeroFloat64, math.NaN(), math.Inf(1)}))
	rapid.Check(t, func(t *rapid.T) {
		var fields []slog.Attr
		for range rapid.IntRange(0, 6).Draw(t, "fields") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				fields = append(fields, slog.Int64("number_of", rapid.Int64().Draw(t, "int")))
			case 1:
				fields = append(fields, slog.Float64("seconds", number.Draw(t, "float")))
			case 2:
				fields = append(fields, slog.Bool("flag", true))
			default:
				fields = append(fields, slog.String("request_id", text.Draw(t, "text")))
			}
		}
		zone := time.FixedZone("", rapid.IntRange(-12, 14).Draw(t, "zone")*3600)
		at := time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "seconds"), rapid.Int64Range(0, 1e9-1).Draw(t, "nanoseconds")).In(zone)
		level := rapid.SampledFrom([]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError, 1}).Draw(t, "level")
		for _, e := range []wideline.Encoding{wideline.Text, wideline.JSON} {
			line := slog.NewRecord(at, level, rapid.OneOf(rapid.Just("call"), text).Draw(t, "message"), 0)
			got, ok := e.Append(nil, line, fields)
			if !ok {
				continue
			}
			var want bytes.Buffer
			var handler slog.Handler = slog.NewTextHandler(&want, &slog.HandlerOptions{Level: slog.LevelDebug})
			if e == wideline.JSON {
				handler = slog.NewJSONHandler(&want, &slog.HandlerOptions{Level: slog.LevelDebug})
			}
			line.AddAttrs(fields...)
			if err := handler.Handle(context.Background(), line); err != nil {
				t.Fatal(err)
			}
			if string(got) != want.String() {
				t.Fatalf("got  %swant %s", got, want.String())
			}
		}
	})
	line := slog.NewRecord(time.Now(), slog.LevelInfo, "call", 0)
	for _, e := range []wideline.Encoding{wideline.Text, wideline.JSON} {
		if _, ok := e.Append(nil, line, []slog.Attr{slog.String("a", "req_1/v1:x"), slog.String("b", ""), slog.Int("c", -1), slog.Float64("d", 0.000123)}); !ok {
			t.Errorf("encoding %d leaves a plain line to the handler", e)
		}
	}
	if _, ok := wideline.None.Append(nil, line, nil); ok {
		t.Error("None writes a line")
	}
}
