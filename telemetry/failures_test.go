package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A collector that refuses each delivery has one line of each signal in half a minute, which says how
// often it did and does not grow with its answer.
func TestFailuresAreLoggedSometimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		f := newFailures(slog.New(slog.NewTextHandler(&log, nil)))
		body := strings.Repeat("x", 1<<20)
		for i := range 100 {
			f.Handle(fmt.Errorf("traces export: %d %s", i, body))
			f.Handle(errors.New("failed to upload metrics: no"))
		}
		if lines := strings.Count(log.String(), "\n"); lines != 2 || log.Len() > 2000 {
			t.Errorf("%d lines, %d bytes", lines, log.Len())
		}
		time.Sleep(repeatAfter) //nolint:forbidigo // of the bubble's clock
		log.Reset()
		f.Handle(errors.New("traces export: again"))
		if got := log.String(); !strings.Contains(got, "error=\"traces export: again\" times=100\n") {
			t.Errorf("after a while: %q", got)
		}
		for i := range 10_000 {
			f.Handle(fmt.Errorf("%d: an SDK with new texts", i))
		}
		if len(f.known) > maxSignals {
			t.Errorf("%d failures are remembered", len(f.known))
		}
	})
}
