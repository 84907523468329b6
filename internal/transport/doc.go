// Package transport configures gRPC between edge and core for large bodies: a codec that
// does not copy them, and buffers and windows of their size. The wire format is plain gRPC,
// so either side may be another program.
//
// It must not import edge or core.
package transport
