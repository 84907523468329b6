package wideline_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/telemetry/wideline"
)

// The fields are the line's, in text and in JSON, whatever their number, and lines that
// are written at once do not mix.
func TestWrite(t *testing.T) {
	for name, c := range map[string]struct {
		handler func(*bytes.Buffer) slog.Handler
		want    string
	}{
		"text": {func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) }, "level=INFO msg=call id=7 empty=\"\" n=1\n"},
		"json": {func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) }, `"level":"INFO","msg":"call","id":"7","empty":"","n":1}` + "\n"},
	} {
		var out bytes.Buffer
		line := wideline.New(c.handler(&out), time.Now(), slog.LevelInfo, "call")
		line.Text("id", "7")
		line.Text("empty", "")
		line.Int("n", 1)
		line.Write(context.Background())
		if !strings.HasSuffix(out.String(), c.want) {
			t.Errorf("%s: %s", name, out.String())
		}
	}
	var out bytes.Buffer
	handler := slog.NewTextHandler(&out, nil)
	var writing sync.WaitGroup
	for n := range 100 {
		writing.Go(func() {
			line := wideline.New(handler, time.Now(), slog.LevelInfo, "call")
			for range n {
				line.Int("n", int64(n))
			}
			line.Write(context.Background())
		})
	}
	writing.Wait()
	seen := map[int]bool{}
	for line := range strings.Lines(out.String()) {
		fields := strings.Fields(line)[3:]
		for _, f := range fields {
			if f != fields[0] {
				t.Errorf("a line has fields of two: %s", line)
			}
		}
		seen[len(fields)] = true
	}
	if len(seen) != 100 {
		t.Errorf("%d lines, want one of each length", len(seen))
	}
}
