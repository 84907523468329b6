package messages

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/member"
)

// What is read without reflection is what the decoder reads, and the same event again.
func FuzzPlainEvent(f *testing.F) {
	codectest.SeedFrames(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var last streamEvent
		for range 2 {
			var got, want streamEvent
			if !got.plain(data, &last) {
				return
			}
			if err := member.Decode(data, &want); err != nil {
				t.Fatalf("%q is taken: %v", data, err)
			}
			codectest.SameWire(t, data, got, want)
			last = got
		}
	})
}
