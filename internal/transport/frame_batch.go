package transport

import (
	"bytes"

	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of the fields that an event with a batch of frames has.
const (
	eventWire     protowire.Number = 15 // StreamGenerateTextResponse.wire
	frameProtocol protowire.Number = 1  // WireFrame.protocol
	frameBatch    protowire.Number = 7  // WireFrame.batch
	batchEvents   protowire.Number = 1  // FrameBatch.events
	batchCount    protowire.Number = 2  // FrameBatch.count
)

// unmarshalBatch decodes an event that is a batch of the upstream's own frames and nothing else. Most events
// of a stream that passes through are, and the protobuf module takes twice as long for one
// (BenchmarkFrameBatch). It reports false, and leaves the event alone, for any other message, one that is
// not valid included: the protobuf module decodes those.
func unmarshalBatch(data mem.BufferSlice, event *genwayv1.StreamGenerateTextResponse) bool {
	if len(data) != 1 {
		return false
	}
	_, frame, ok := pair(data[0].ReadOnlyData(), 0, eventWire)
	if !ok {
		return false
	}
	protocol, batch, ok := pair(frame, frameProtocol, frameBatch)
	if !ok {
		return false
	}
	count, events, ok := pair(batch, batchCount, batchEvents)
	if !ok {
		return false
	}
	m := &struct { // one piece of memory
		payload genwayv1.StreamGenerateTextResponse_Wire
		frame   genwayv1.WireFrame
		batch   edgev1.FrameBatch
	}{}
	// gRPC uses the memory of the message again. Numbers are cut to 32 bits, as protobuf demands.
	m.batch.Events, m.batch.Count = bytes.Clone(events), int32(count)
	m.frame.Protocol, m.frame.Batch = genwayv1.Protocol(protocol), &m.batch
	m.payload.Wire = &m.frame
	event.Reset()
	event.Payload = &m.payload
	return true
}

// pair reads a message of exactly one field of bytes and at most one number, which has the field number
// of a varint; 0 allows none. It reports false for any other message.
func pair(message []byte, number, content protowire.Number) (n uint64, value []byte, ok bool) {
	var counted, found bool
	for rest := message; len(rest) > 0; {
		field, kind, size := protowire.ConsumeTag(rest)
		if size < 0 {
			return 0, nil, false
		}
		rest = rest[size:]
		switch {
		case field == content && kind == protowire.BytesType && !found:
			found = true
			value, size = protowire.ConsumeBytes(rest)
		case field == number && kind == protowire.VarintType && !counted:
			counted = true
			n, size = protowire.ConsumeVarint(rest)
		default:
			return 0, nil, false
		}
		if size < 0 {
			return 0, nil, false
		}
		rest = rest[size:]
	}
	return n, value, found
}
