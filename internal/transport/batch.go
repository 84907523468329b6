package transport

import (
	"errors"

	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	// maxBatchBytes bounds the events of a batch, in bytes. It is what one read of an upstream's
	// stream returns at most, so that what waits for a slow caller does not grow with batches.
	maxBatchBytes = 8 << 10
	// maxBatchedBytes bounds an event in a batch. A larger one goes by itself: to copy it once more
	// costs more than a message.
	maxBatchedBytes = 1 << 10
	// MaxBatch bounds the number of events of a batch.
	MaxBatch = 64
)

// Batch returns the message that sends the first of several events of a stream, and how many events
// that are: a batch (genway.edge.v1.FrameBatch.translated), or the first event itself where it is
// large or no other follows that fits in a batch with it. There must be an event. Only a receiver that has announced that
// it takes such batches may receive the message.
func Batch(events []*genwayv1.StreamGenerateTextResponse) (*genwayv1.StreamGenerateTextResponse, int, error) {
	if len(events) == 1 { // as most are where events come slowly
		return events[0], 1, nil
	}
	var sizes [MaxBatch]int
	count, size := 0, 0
	for _, ev := range events[:min(len(events), MaxBatch)] {
		sizes[count] = proto.Size(ev)
		n := protowire.SizeBytes(sizes[count])
		if n > maxBatchedBytes || size+n > maxBatchBytes {
			break
		}
		count, size = count+1, size+n
	}
	if count < 2 {
		return events[0], 1, nil
	}
	data := make([]byte, 0, size)
	for i, ev := range events[:count] {
		var err error
		data = protowire.AppendVarint(data, uint64(sizes[i]))
		if data, err = (proto.MarshalOptions{UseCachedSize: true}).MarshalAppend(data, ev); err != nil {
			return nil, 0, err
		}
	}
	m := &struct { // one piece of memory
		event   genwayv1.StreamGenerateTextResponse
		payload genwayv1.StreamGenerateTextResponse_Wire
		frame   genwayv1.WireFrame
		batch   edgev1.FrameBatch
	}{}
	m.batch.Translated, m.batch.Count = data, int32(count)
	m.frame.Batch = &m.batch
	m.payload.Wire, m.event.Payload = &m.frame, &m.payload
	return &m.event, count, nil
}

// errBatch is a batch that is not what a core sends.
var errBatch = errors.New("transport: a batch of events cannot be read")

// NextEvent decodes the first event of a batch, and returns what follows it.
func NextEvent(batch []byte, event proto.Message) (rest []byte, err error) {
	data, n := protowire.ConsumeBytes(batch)
	if n < 0 {
		return nil, errBatch
	}
	if err := proto.Unmarshal(data, event); err != nil {
		return nil, errors.Join(errBatch, err)
	}
	return batch[n:], nil
}
