package coreproc

import (
	"context"
	"net"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
)

// CoreFlags are the core's flags.
type CoreFlags struct { //nolint:recvcheck // TakeSettings sets a field, all else takes a copy
	Data
	GRPC       string        `name:"grpc" env:"GENWAY_GRPC" default:"127.0.0.1:9090" placeholder:"ADDR" help:"Address of the gRPC side: HOST:PORT or unix:PATH."`
	Grace      time.Duration `env:"GENWAY_GRACE" default:"20s" least:"0s" help:"How long requests in flight may continue after SIGTERM."`
	MaxAge     time.Duration `name:"max-connection-age" env:"GENWAY_MAX_CONNECTION_AGE" default:"25s" least:"1s" or:"0s" placeholder:"D" help:"Maximum age of a connection to the gRPC side, give or take a tenth. The server then asks the client to reconnect, so that calls reach new cores; calls in flight continue. 0 is no limit. Connections of a unix socket have none."`
	TextModel  string        `env:"GENWAY_SANDBOX_TEXT_MODEL" default:"sandbox-text" placeholder:"NAME" help:"Name of the sandbox's text model."`
	ImageModel string        `env:"GENWAY_SANDBOX_IMAGE_MODEL" default:"sandbox-image" placeholder:"NAME" help:"Name of the sandbox's image model."`
	LedgerSync LedgerSync    `env:"GENWAY_LEDGER_SYNC" enum:"off,batch,each" default:"batch" help:"Durability of the ledger: off (a power failure may lose the last rows), batch (rows are synced to disk in batches, within 20 ms) or each (a row is synced before its request is sent and before its answer ends)."`
	Answers    int64         `name:"answer-memory" env:"GENWAY_ANSWER_MEMORY" least:"268435456" or:"0" placeholder:"BYTES" help:"Memory limit in bytes for the answers of upstreams to all requests together, after decompression; at least 268435456. Default: 1 GiB. One upstream may use half of it."`
	KeepItems  time.Duration `env:"GENWAY_KEEP_ITEMS" default:"24h" least:"0s" most:"87600h" help:"How long output items of the responses protocol are stored, encrypted, so that later requests can refer to them. At most 87600h; 0 stores none."`

	MessageMemory int64         `env:"GENWAY_MESSAGE_MEMORY" least:"33554432" or:"0" placeholder:"BYTES" help:"Memory limit in bytes for the request messages of all direct gRPC callers together; at least 33554432. Default: 512 MiB. One key may use half of it, and so may one address."`
	ShutdownDelay time.Duration `env:"GENWAY_SHUTDOWN_DELAY" least:"0s" placeholder:"D" help:"How long to keep serving after SIGTERM while not ready, so that load balancers notice. Default: 0s."`

	ConsoleWrite bool `name:"console-write" env:"GENWAY_CONSOLE_WRITE" help:"Allow admins to write the configuration file, in the console and through the Admin service. Such an admin can send the keys of upstreams, and what the server reads, to any address. Programs (auth.command) are written on the host only."`

	TrustFlags
	cli.Overload
	cli.Telemetry

	settings []cli.Setting
}

// TakeSettings has the core report the flags of its process.
func (f *CoreFlags) TakeSettings(settings []cli.Setting) { f.settings = settings }

// LedgerSync is how durable the ledger is. Empty is batch.
type LedgerSync string

// The ledger's durabilities; docs/ledger.md says what each costs.
const (
	LedgerOff  LedgerSync = "off"
	LedgerEach LedgerSync = "each"
)

// ListenGRPC opens the core's listener.
func (f CoreFlags) ListenGRPC(ctx context.Context) (net.Listener, error) {
	return cli.Listen(ctx, "--grpc", f.GRPC)
}
