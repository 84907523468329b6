package chat

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
)

// wires are the types that bodies and their parts are decoded into.
var wires = []codectest.Wire{
	codectest.WireOf[request](),
	codectest.WireOf[answer](),
	codectest.WireOf[message](),
	codectest.WireOf[part](),
	codectest.WireOf[toolCall](),
	codectest.WireOf[detail](),
	codectest.WireOf[annotation](),
	codectest.WireOf[tool](),
	codectest.WireOf[function](),
	codectest.WireOf[responseFormat](),
	codectest.WireOf[usage](),
	codectest.WireOf[choice](),
	codectest.WireOf[logprobs](),
	codectest.WireOf[toolChoice](),
	codectest.WireOf[named](),
	codectest.WireOf[link](),
	codectest.WireOf[audio](),
}

// What is read without the library is what that reads.
func TestReads(t *testing.T) { codectest.Reads(t, wires...) }

func FuzzReads(f *testing.F) { codectest.FuzzReads(f, wires...) }

func TestOwned(t *testing.T) { codectest.Owned(t, Codec{}) }
