package main

import (
	"context"
	"io"

	"github.com/genway/genway/cmd/internal/health"
)

type healthCommand struct {
	HTTP     string   `name:"http" env:"GENWAY_HTTP" default:"127.0.0.1:8080" placeholder:"ADDR" help:"Address of the JSON side, as given to serve."`
	HTTPCert []string `name:"http-cert" env:"GENWAY_HTTP_CERT" placeholder:"FILE" help:"Certificate of the JSON side, as given to serve. It turns TLS on; the file is not read."`
	GRPC     string   `name:"grpc" env:"GENWAY_GRPC" default:"127.0.0.1:9090" placeholder:"ADDR" help:"Address of the gRPC side, as given to serve."`
	GRPCCert string   `name:"grpc-cert" env:"GENWAY_GRPC_CERT" placeholder:"FILE" help:"Certificate of the gRPC side, as given to serve. It turns TLS on; the file is not read."`
}

// Run asks both sides of the server.
func (c *healthCommand) Run(ctx context.Context, stdout io.Writer) error {
	return health.Run(ctx, stdout,
		health.Target{Check: health.Edge, Address: c.HTTP, Encrypted: len(c.HTTPCert) > 0},
		health.Target{Check: health.Core, Address: c.GRPC, Encrypted: c.GRPCCert != ""})
}
