package responses

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
)

// wires are the types that bodies and their parts are decoded into.
var wires = []codectest.Wire{
	codectest.WireOf[wireRequest](),
	codectest.WireOf[wireResponse](),
	codectest.WireOf[wireEvent](),
	codectest.WireOf[wireMessage](),
	codectest.WireOf[wireReasoningItem](),
	codectest.WireOf[wireLine](),
	codectest.WireOf[wireCall](),
	codectest.WireOf[wireOutput](),
	codectest.WireOf[wireImageCall](),
	codectest.WireOf[wirePart](),
	codectest.WireOf[wireAnnotation](),
	codectest.WireOf[wireLogprob](),
	codectest.WireOf[wireFormat](),
	codectest.WireOf[wireTool](),
	codectest.WireOf[wireNamespace](),
	codectest.WireOf[wireToolChoice](),
	codectest.WireOf[wireAdditionalTools](),
	codectest.WireOf[wireCount](),
	codectest.WireOf[wireUsage](),
}

// What is read without the library is what that reads.
func TestReads(t *testing.T) { codectest.Reads(t, wires...) }

func FuzzReads(f *testing.F) { codectest.FuzzReads(f, wires...) }

func TestOwned(t *testing.T) { codectest.Owned(t, Codec{}) }
