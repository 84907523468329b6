package images

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
)

// wires are the types that bodies and their parts are decoded into.
var wires = []codectest.Wire{
	codectest.WireOf[wireRequest](),
	codectest.WireOf[wireEdit](),
	codectest.WireOf[wireResponse](),
	codectest.WireOf[wireImage](),
	codectest.WireOf[wireUsage](),
}

// What is read without the library is what that reads.
func TestReads(t *testing.T) { codectest.Reads(t, wires...) }

func FuzzReads(f *testing.F) { codectest.FuzzReads(f, wires...) }
