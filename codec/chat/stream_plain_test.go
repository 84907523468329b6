package chat

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
)

// A chunk that is read in the memory of the one before is what the library reads.
func FuzzChunkRoom(f *testing.F) { codectest.FuzzRoom[answer](f, newChunkRoom()) }
