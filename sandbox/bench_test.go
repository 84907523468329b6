package sandbox

import (
	"strings"
	"testing"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

func BenchmarkGenerateText(b *testing.B) {
	s := New(Config{})
	for name, prompt := range map[string]string{"hello": "Say hello.", "100KB": strings.Repeat("The quick brown fox. ", 5000)} {
		req := ask(prompt)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.GenerateText(b.Context(), deferred.New(req)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/stream", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := s.StreamGenerateText(b.Context(), deferred.New(req), func(*genwayv1.StreamGenerateTextResponse) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
