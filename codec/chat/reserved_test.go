package chat

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
)

// TestReserved walks the members that the wire struct of a request has fields for.
func TestReserved(t *testing.T) { codectest.Reserved(t, Codec{}, reserved, functionCallName) }
