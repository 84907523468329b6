package generatecontent

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
)

// wires are the types that bodies and their parts are decoded into.
var wires = []codectest.Wire{
	codectest.WireOf[request](),
	codectest.WireOf[response](),
	codectest.WireOf[countResponse](),
	codectest.WireOf[content](),
	codectest.WireOf[part](),
	codectest.WireOf[candidate](),
	codectest.WireOf[usage](),
	codectest.WireOf[tool](),
	codectest.WireOf[functionDeclaration](),
	codectest.WireOf[generationConfig](),
	codectest.WireOf[modalityTokens](),
}

// What is read without the library is what that reads.
func TestReads(t *testing.T) { codectest.Reads(t, wires...) }

func FuzzReads(f *testing.F) { codectest.FuzzReads(f, wires...) }

func TestOwned(t *testing.T) { codectest.Owned(t, Codec{}) }
