package cli

import (
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/genway/genway/internal/overload"
)

// Overload is the flags of the gate that refuses requests while a server is overloaded.
type Overload struct {
	OverloadDelay  time.Duration `env:"GENWAY_OVERLOAD_DELAY" placeholder:"D" help:"How long requests may wait for a processor before the server refuses some. Default: 20ms; a negative value turns this off."`
	OverloadMemory int64         `env:"GENWAY_OVERLOAD_MEMORY" placeholder:"BYTES" help:"Memory limit of the process. Near it, the server refuses requests. Default: GOMEMLIMIT, or nine tenths of the cgroup's limit; a negative value turns this off."`
}

// Gate makes the gate. Without GOMEMLIMIT it has the collector keep the process within
// what its cgroup may use, too.
func (o Overload) Gate(log *slog.Logger, onRefused func(overload.Signal, overload.Priority, int64)) *overload.Gate {
	if limit, fromGroup := overload.MemoryLimit(); fromGroup {
		debug.SetMemoryLimit(limit)
	}
	return overload.New(overload.Config{Delay: o.OverloadDelay, Memory: o.OverloadMemory, Logger: log, OnRefused: onRefused})
}
