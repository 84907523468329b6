// Package grpc drives the gRPC side of the real programs as grpcurl does: by
// reflection, without generated code.
package grpc
