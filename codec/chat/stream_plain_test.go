package chat

import (
	"testing"

	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/member"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// What is read without reflection is what the decoder reads, and the same chunk again.
func FuzzPlainChunk(f *testing.F) {
	codectest.SeedFrames(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var p plainChunk
		for range 2 {
			got, ok := p.read(data)
			if !ok {
				return
			}
			var want answer
			if err := member.Decode(data, &want); err != nil {
				t.Fatalf("%q is taken: %v", data, err)
			}
			want.Obfuscation = nil
			codectest.SameWire(t, data, *got, want, cmpopts.IgnoreTypes(verbatim{}))
		}
	})
}
