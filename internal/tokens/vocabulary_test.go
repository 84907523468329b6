package tokens

import (
	"bytes"
	"encoding/binary"
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
	"github.com/tiktoken-go/tokenizer/codec"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the vocabulary")

// The vocabulary is another implementation's, in its order.
func TestVocabulary(t *testing.T) {
	other := codec.NewO200kBase()
	var want []string
	for id := range uint(200_100) {
		if token, err := other.Decode([]uint{id}); err == nil {
			want = append(want, token)
		}
	}
	if *update {
		var plain bytes.Buffer
		for _, token := range want {
			plain.Write(binary.AppendUvarint(nil, uint64(len(token))))
			plain.WriteString(token)
		}
		pack := exec.CommandContext(t.Context(), "bzip2", "--best", "--stdout")
		pack.Stdin = &plain
		small, err := pack.Output()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("o200k.bz2", small, 0o600); err != nil {
			t.Fatal(err)
		}
		packed = small
	}
	v := unpack(packed)
	got := make([]string, len(v.ends))
	for i := range got {
		rank := uint32(i)
		got[i] = string(v.text(rank))
		if found, ok := v.rank(got[i]); !ok || found != rank {
			t.Errorf("token %d, %q, is %d, %v", rank, got[i], found, ok)
		}
		if _, ok := v.rank(got[i] + "\xff\xff\xff"); ok {
			t.Errorf("%q is a token with more", got[i])
		}
	}
	if !slices.Equal(got, want) || len(got) != tokenCount {
		t.Errorf("%d tokens, want %d", len(got), len(want))
	}
}

// pattern is o200k_base's, as it was published.
var pattern = regexp2.MustCompile(`(?:[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)`, regexp2.None)

// cut checks the words of a text by the pattern.
func cut(t interface{ Fatalf(string, ...any) }, text string) []string {
	var want []string
	m, err := pattern.FindStringMatch(text)
	for m != nil && err == nil {
		want = append(want, m.String())
		m, err = pattern.FindNextMatch(m)
	}
	if got := slices.Collect(words(text)); err != nil || !slices.Equal(got, want) {
		t.Fatalf("%q is cut into %q, want %q, %v", text, got, want, err)
	}
	return want
}

// Every rune is where the pattern has it, beside any other rune.
func TestEveryRune(t *testing.T) {
	for r := range rune(utf8.MaxRune + 1) {
		if !utf8.ValidRune(r) || r > 0x3400 && r < 0xa000 || r > 0xac80 && r < 0xd780 || r > 0x20010 && r < 0xe0000 || r > 0xe0200 {
			continue // one as the other
		}
		c := string(r)
		cut(t, "aB"+c+"Cd "+c+c+" 12"+c+"3\n"+c+"'"+c+"! "+c)
	}
}

// The tokens are the other implementation's, word by word: it cuts "\n \n" where
// the pattern does not, and loses DEL.
func TestAsTheOther(t *testing.T) {
	other := codec.NewO200kBase()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ToValidUTF8(rapid.OneOf(
			rapid.String(),
			rapid.StringOf(rapid.SampledFrom([]rune("aAbBsStTlLdDmMrReEvV'’ſ \t\r\n\u00a0\u3000/.!?0１²ǅʰ中e\u0301\u200d👩"))),
			rapid.StringMatching(`([a-zA-Z]{1,9}('[a-zA-Z]{1,3})?[ ,.'\n0-9]{0,3}){0,40}`),
		).Draw(t, "text"), "")
		for _, word := range cut(t, text) {
			if strings.ContainsAny(word, "\r\n\x7f") {
				continue
			}
			_, want, err := other.Encode(word)
			if got := Split(word); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%q is %q, want %q, %v", word, got, want, err)
			}
		}
	})
}
