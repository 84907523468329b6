package member

import (
	"bytes"
	"encoding/base64"
	"testing"
)

func FuzzAppendBase64(f *testing.F) {
	for n := range 70 {
		f.Add(bytes.Repeat([]byte{0xfb, 0x0f, 0x00, 0x9a}, n)[:n])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want := base64.StdEncoding.AppendEncode([]byte("x"), data)
		if got := AppendBase64([]byte("x"), data); !bytes.Equal(got, want) {
			t.Fatalf("%x: %s, want %s", data, got, want)
		}
	})
}

func BenchmarkAppendBase64(b *testing.B) {
	data := bytes.Repeat([]byte("\x89pixel\xff"), 100_000)
	for name, run := range map[string]func(dst, src []byte) []byte{"ours": AppendBase64, "library": base64.StdEncoding.AppendEncode} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			var buf []byte
			for b.Loop() {
				buf = run(buf[:0], data)
			}
		})
	}
}
