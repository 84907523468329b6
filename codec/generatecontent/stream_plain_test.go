package generatecontent

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
)

// A frame that is read in the memory of the one before is what the library reads.
func FuzzFrameRoom(f *testing.F) { codectest.FuzzRoom[response](f, newFrameRoom()) }
