// Package hop is how gRPC is spoken between edge and core, where both sides are
// Genway's and bodies are large: a codec that does not copy them, buffers and windows
// of their size. What goes over the wire is plain gRPC, and each of the two sides may
// be another program.
//
// It must not import edge or core.
package hop
