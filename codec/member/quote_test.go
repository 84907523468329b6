package member

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzAppendQuote demands what the library writes, wherever in a word a byte stands.
func FuzzAppendQuote(f *testing.F) {
	for c := range 256 {
		f.Add(string([]byte{byte(c)}), uint8(c%40))
	}
	for _, s := range []string{"", "plain", "Grüße\n\"quoted\"\\", "\u2028 <&> \U0001F600", "漢字かな交じり文", "\xff\xfe", "\xe6\xbc", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80"} {
		f.Add(s, uint8(0))
		f.Add(s, uint8(31))
	}
	f.Fuzz(func(t *testing.T, s string, shift uint8) {
		for _, s := range []string{s, strings.Repeat("a", int(shift)) + s, strings.Repeat(s, 3) + strings.Repeat("z", int(shift)) + s} {
			want, _ := jsontext.AppendQuote([]byte("x"), s)
			if got := AppendQuote([]byte("x"), s); !bytes.Equal(got, want) {
				t.Fatalf("%q\n got %q\nwant %q", s, got, want)
			}
		}
	})
}

func BenchmarkAppendQuote(b *testing.B) {
	for name, s := range map[string]string{
		"prose":     strings.Repeat("What is the weather like in the north?\n", 50),
		"arguments": strings.Repeat(`{"city":"Paris","days":3},`, 80),
		"letters":   strings.Repeat("漢字かな交じり文、", 80),
		"umlauts":   strings.Repeat("Die Größe der Straße wächst. ", 70),
		"base64":    strings.Repeat("QUJD", 500),
		"short":     "assistant",
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			var buf []byte
			for b.Loop() {
				buf = AppendQuote(buf[:0], s)
			}
		})
		b.Run(name+"/library", func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			var buf []byte
			for b.Loop() {
				buf, _ = jsontext.AppendQuote(buf[:0], s)
			}
		})
	}
}
