package transport

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Incoming returns the values of the metadata of that name, in lower case, which a call came with; nil for
// none. They must not be changed. A call within the process has its own (package inproc); of
// others grpc copies the values, and compares a name that is not there with all that are.
func Incoming(ctx context.Context, name string) []string {
	if call, ok := grpc.ServerTransportStreamFromContext(ctx).(interface{ Incoming() metadata.MD }); ok {
		return call.Incoming()[name]
	}
	return metadata.ValueFromIncomingContext(ctx, name)
}

// WithOutgoing returns a context whose calls carry metadata, with names in lower case, which must not be changed any more. A
// call within the process takes it as it is; grpc copies what metadata.NewOutgoingContext is given.
func WithOutgoing(ctx context.Context, md metadata.MD) context.Context {
	return outgoing{metadata.NewOutgoingContext(ctx, md), md}
}

type outgoing struct {
	context.Context //nolint:containedctx // it is one

	md metadata.MD
}

// OutgoingOf returns the metadata that calls with the context carry. It must not be changed.
func OutgoingOf(ctx context.Context) metadata.MD {
	if o, ok := ctx.(outgoing); ok {
		return o.md
	}
	md, _ := metadata.FromOutgoingContext(ctx)
	return md
}

// Field is a name, in lower case, and a value of the header of a call's answer.
type Field struct{ Name, Value string }

// Header gathers the fields of a call within the process. It is safe for concurrent use.
type Header struct {
	mu     sync.Mutex
	fields []Field
	first  [10]Field // as many as most answers have
}

func (h *Header) add(fields []Field) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fields == nil {
		h.fields = h.first[:0]
	}
	h.fields = append(h.fields, fields...)
}

// Take returns the fields that were added since it was called last.
func (h *Header) Take() []Field {
	h.mu.Lock()
	defer h.mu.Unlock()
	fields := h.fields
	h.fields = fields[len(fields):]
	return fields
}

// SetHeader adds fields, each of another name, to the header of a call's answer. It does nothing where the header is sent, and outside of a
// server. A call within the process takes the fields as they are; for others they are metadata.
func SetHeader(ctx context.Context, fields ...Field) {
	if len(fields) == 0 {
		return
	}
	switch call := grpc.ServerTransportStreamFromContext(ctx).(type) {
	case nil:
	case interface{ Fields() *Header }:
		call.Fields().add(fields)
	default:
		md, values := make(metadata.MD, len(fields)), make([]string, len(fields))
		for i, f := range fields {
			values[i] = f.Value
			md[f.Name] = values[i : i+1 : i+1]
		}
		_ = call.SetHeader(md)
	}
}

// Fields returns a call option that has a unary call within the process return the header of its answer as fields, in
// place of metadata. Other calls ignore it.
func Fields(fields *[]Field) grpc.CallOption { return FieldsCallOption{Fields: fields} }

// FieldsCallOption is the option that Fields returns.
type FieldsCallOption struct {
	grpc.EmptyCallOption

	Fields *[]Field
}

// FieldsOf returns metadata as fields: of each name the first value.
func FieldsOf(md metadata.MD) []Field {
	fields := make([]Field, 0, len(md))
	for name, values := range md {
		if len(values) > 0 {
			fields = append(fields, Field{name, values[0]})
		}
	}
	return fields
}
