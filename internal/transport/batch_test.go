package transport_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func delta(text string) *genwayv1.StreamGenerateTextResponse {
	return codec.Event(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Text{Text: text}})
}

// Events that are sent in batches come out as they went in, and in their order. No batch is larger
// than 8 KiB, unless it is a single event.
func TestBatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		event := rapid.Custom(func(t *rapid.T) *genwayv1.StreamGenerateTextResponse {
			if rapid.Bool().Draw(t, "ping") {
				return codec.Event(&genwayv1.Ping{})
			}
			return delta(strings.Repeat("x", rapid.SampledFrom([]int{0, 1, 127, 128, 1000, 1020, 1024, 20_000}).Draw(t, "bytes")))
		})
		sent := rapid.SliceOfN(event, 1, 50).Draw(t, "events")
		var got []*genwayv1.StreamGenerateTextResponse
		for left := sent; len(left) > 0; {
			message, n, err := transport.Batch(left)
			if err != nil || n == 0 {
				t.Fatalf("%d events, %v", n, err)
			}
			left = left[n:]
			batch := message.GetWire().GetBatch()
			if batch == nil {
				if n != 1 {
					t.Fatalf("%d events as one", n)
				}
				got = append(got, message)
				continue
			}
			data := batch.GetTranslated()
			if int(batch.GetCount()) != n || n < 2 || len(data) > 8<<10 {
				t.Fatalf("a batch of %d events in %d bytes says that it has %d", n, len(data), batch.GetCount())
			}
			for len(data) > 0 {
				ev := new(genwayv1.StreamGenerateTextResponse)
				if data, err = transport.NextEvent(data, ev); err != nil {
					t.Fatal(err)
				}
				got = append(got, ev)
			}
		}
		if len(got) != len(sent) {
			t.Fatalf("%d of %d events", len(got), len(sent))
		}
		for i := range sent {
			if !proto.Equal(got[i], sent[i]) {
				t.Fatalf("event %d is %v, was %v", i, got[i], sent[i])
			}
		}
	})
}

// A batch that cannot be read is an error, and never an event.
func TestNextEventOfGarbage(t *testing.T) {
	message, _, err := transport.Batch([]*genwayv1.StreamGenerateTextResponse{delta("one"), delta("two")})
	if err != nil {
		t.Fatal(err)
	}
	whole := message.GetWire().GetBatch().GetTranslated()
	for name, data := range map[string][]byte{
		"cut":               whole[:3],
		"no length":         {},
		"length of nothing": {5},
		"endless length":    {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"2^63 bytes":        {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0},
		"no message":        {2, 0xff, 0xff},
	} {
		if _, err := transport.NextEvent(data, new(genwayv1.StreamGenerateTextResponse)); err == nil {
			t.Errorf("%s: an event", name)
		}
	}
}
