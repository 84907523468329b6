package coreproc

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core/store"
)

// SayWaits says on standard error that a command waits for another process that migrates the store.
func SayWaits(w store.Wait) {
	so := ""
	if w.Waited >= time.Second {
		so = fmt.Sprintf(" (%s so far)", w.Waited.Round(time.Second))
	}
	fmt.Fprintf(os.Stderr, "%s: store %s: waiting for the lock of migrations, which %s holds%s\n", cli.ProgramName(), w.Store, w.Holder, so)
}

// logWaits logs that a server waits for another process that migrates the store.
func logWaits(log *slog.Logger) func(store.Wait) {
	return func(w store.Wait) {
		log.Info("waiting for the lock of migrations, which another process holds", "store", w.Store, "holder", w.Holder, "waited_seconds", w.Waited.Round(time.Second).Seconds())
	}
}
