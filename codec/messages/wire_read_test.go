package messages

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
)

// wires are the types that bodies and their parts are decoded into.
var wires = []codectest.Wire{
	codectest.WireOf[wireRequest](),
	codectest.WireOf[wireMessage](),
	codectest.WireOf[wireResponse](),
	codectest.WireOf[wireUsage](),
	codectest.WireOf[streamEvent](),
	codectest.WireOf[textBlock](),
	codectest.WireOf[mediaBlock](),
	codectest.WireOf[mediaSource](),
	codectest.WireOf[thinkingBlock](),
	codectest.WireOf[redactedBlock](),
	codectest.WireOf[toolUseBlock](),
	codectest.WireOf[toolResultBlock](),
	codectest.WireOf[citation](),
	codectest.WireOf[wireTool](),
	codectest.WireOf[toolChoice](),
	codectest.WireOf[outputFormat](),
	codectest.WireOf[wireError](),
	codectest.WireOf[wireCount](),
	codectest.WireOf[cacheControl](),
}

// What is read without the library is what that reads.
func TestReads(t *testing.T) { codectest.Reads(t, wires...) }

func FuzzReads(f *testing.F) { codectest.FuzzReads(f, wires...) }

func TestOwned(t *testing.T) { codectest.Owned(t, Codec{}) }
