package codectest

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec"
)

// BenchHeads measures what an edge and a core do with bodies that pass through; %s of
// request and answer is where their text stands.
func BenchHeads(b *testing.B, c codec.Codec, request, answer string) {
	b.Helper()
	heads, ok := c.(codec.HeadDecoder)
	if !ok {
		b.Fatalf("%T has no heads", c)
	}
	const words = `Explain in two paragraphs how a \"proxy\" pools its connections.\nUse one example. `
	for _, size := range []struct {
		name string
		n    int
	}{{"1KB", 1000}, {"200KB", 200_000}} {
		text := strings.Repeat(words, size.n/len(words))
		for name, body := range map[string][]byte{"request": []byte(strings.Replace(request, "%s", text, 1)), "answer": []byte(strings.Replace(answer, "%s", text, 1))} {
			b.Run(name+"/"+size.name, func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					if name == "request" {
						_, ok = heads.DecodeRequestHead(body)
					} else {
						_, ok = heads.DecodeResponseHead(body)
					}
					if !ok {
						b.Fatalf("%.200s has no head", body)
					}
				}
			})
		}
	}
}
