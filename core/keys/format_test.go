package keys_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/genway/genway/core/keys"
)

// pattern is what secret scanners are configured to look for.
var pattern = regexp.MustCompile(`^gwk_[0-9A-Za-z]{36}$`)

// generate makes a key from the bytes rapid draws.
func generate(t *rapid.T) string {
	seed := rapid.SliceOfN(rapid.Byte(), 64, 64).Draw(t, "seed")
	raw, err := keys.Generate(io.MultiReader(bytes.NewReader(seed), rand.Reader))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestGenerate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := generate(t)
		if !pattern.MatchString(raw) || len(raw) != keys.Length {
			t.Fatalf("%q does not match %s", raw, pattern)
		}
		if err := keys.Valid(raw); err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
	})
}

// The format is a promise: this key was written down when it was decided. Its
// checksum is computed here once more, by the library and with big numbers.
func TestFormatStays(t *testing.T) {
	raw, err := keys.Generate(bytes.NewReader([]byte(strings.Repeat("\x00\x09\x0a\x23\x24\x3d\x3e\xf7\xf8\xff", 6))))
	if err != nil {
		t.Fatal(err)
	}
	body := "gwk_" + "09AZaz0z09AZaz0z09AZaz0z09AZaz"
	digits := new(big.Int).SetUint64(uint64(crc32.ChecksumIEEE([]byte(body)))).Text(62)
	// math/big's digits are 0-9a-zA-Z: swap the case.
	swapped := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, digits)
	if want := body + fmt.Sprintf("%06s", swapped); raw != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
}

func TestGenerateFails(t *testing.T) {
	if raw, err := keys.Generate(bytes.NewReader(make([]byte, 29))); err == nil {
		t.Errorf("got %q from too little randomness", raw)
	}
}

// Each character of the alphabet is as likely as the others, at each place.
func TestGenerateIsFair(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	counts := map[byte]int{}
	source := bytes.NewReader(bytes.Repeat(every, 30))
	for range 4 * 62 {
		raw, err := keys.Generate(source)
		if err != nil {
			t.Fatal(err)
		}
		for i := len(keys.Prefix); i < len(keys.Prefix)+30; i++ {
			counts[raw[i]]++
		}
	}
	for c, n := range counts {
		if n != 4*30 || len(counts) != 62 {
			t.Errorf("%c came %d times, want %d of %d characters", c, n, 4*30, len(counts))
		}
	}
}

func TestValid(t *testing.T) {
	raw, err := keys.Generate(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		raw  string
		want error
	}{
		"a key":            {raw, nil},
		"empty":            {"", keys.ErrFormat},
		"prefix":           {keys.Prefix, keys.ErrFormat},
		"cut":              {raw[:len(raw)-1], keys.ErrFormat},
		"longer":           {raw + "0", keys.ErrFormat},
		"space before":     {" " + raw, keys.ErrFormat},
		"newline after":    {raw + "\n", keys.ErrFormat},
		"bearer":           {"Bearer " + raw, keys.ErrFormat},
		"another's prefix": {"ghp_" + raw[4:], keys.ErrFormat},
		"upper case":       {"GWK_" + raw[4:], keys.ErrFormat},
		"not base62":       {raw[:20] + "-" + raw[21:], keys.ErrFormat},
		"not ascii":        {raw[:20] + "é" + raw[22:], keys.ErrFormat},
		"nul":              {raw[:39] + "\x00", keys.ErrFormat},
		"checksum":         {raw[:34] + "000000", keys.ErrChecksum},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := keys.Valid(test.raw)
			if !errors.Is(got, test.want) {
				t.Errorf("%q: got %v, want %v", test.raw, got, test.want)
			}
			if got != nil && len(test.raw) > 10 && strings.Contains(got.Error(), test.raw[4:10]) {
				t.Errorf("%q shows the key", got)
			}
		})
	}
}

func TestAnyChangedCharacterIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(generate(t))
		at := rapid.IntRange(0, len(raw)-1).Draw(t, "at")
		old := raw[at]
		raw[at] = rapid.Byte().Filter(func(b byte) bool { return b != old }).Draw(t, "byte")
		if keys.Valid(string(raw)) == nil {
			t.Fatalf("%q passes with %q in the place of %q", raw, raw[at], old)
		}
	})
}

func TestAnySwapOfNeighboursIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(generate(t))
		at := rapid.IntRange(0, len(raw)-2).Draw(t, "at")
		if raw[at] == raw[at+1] {
			return
		}
		raw[at], raw[at+1] = raw[at+1], raw[at]
		if keys.Valid(string(raw)) == nil {
			t.Fatalf("%q passes with a swap at %d", raw, at)
		}
	})
}

func TestHash(t *testing.T) {
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // FIPS 180-2, B.1
	if got := fmt.Sprintf("%x", keys.Hash("abc")); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRedact(t *testing.T) {
	for raw, want := range map[string]string{
		"gwk_0123456789": "gwk_[REDACTED]",
		"gwk_":           "gwk_[REDACTED]",
		"sk-0123456789":  "[REDACTED]",
		"":               "[REDACTED]",
		"gwk":            "[REDACTED]",
	} {
		if got := keys.Redact(raw); got != want {
			t.Errorf("%q: got %q, want %q", raw, got, want)
		}
	}
}

func FuzzValid(f *testing.F) {
	raw, err := keys.Generate(rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add("gwk_")
	f.Fuzz(func(t *testing.T, raw string) {
		if keys.Valid(raw) == nil && !pattern.MatchString(raw) {
			t.Errorf("%q is valid", raw)
		}
	})
}

func BenchmarkValid(b *testing.B) {
	raw, err := keys.Generate(rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if keys.Valid(raw) != nil {
			b.Fatal(raw)
		}
	}
}

// No part of a key stays in a text, wherever and however often it is there.
func TestRedactIn(t *testing.T) {
	const key = "gwk_0123456789abcdefghijABCDEFGHIJ012345"
	for text, want := range map[string]string{
		"": "", "gpt-4o": "gpt-4o", "gwk": "gwk", key: "gwk_[REDACTED]", "a " + key + "\x00b": "a gwk_[REDACTED]\x00b", key + key: "gwk_[REDACTED]",
		key + "/" + key[:9]: "gwk_[REDACTED]/gwk_[REDACTED]", "gwk_": "gwk_[REDACTED]", "xgwk_é": "xgwk_[REDACTED]é",
	} {
		if got := keys.RedactIn(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// What cannot begin another gateway's keys is refused; none of them is good without its prefix.
func TestForeignPrefixes(t *testing.T) {
	for _, prefix := range []string{"", "s", "gw", "gwk_", "gwk_a", "sk -", "ключ", "sk-\n", strings.Repeat("a", 129)} {
		if err := keys.CheckForeign(prefix); err == nil {
			t.Errorf("%q is accepted", prefix)
		}
		if _, err := keys.New(keys.Config{Store: &memory{}, Foreign: []string{prefix}}); err == nil {
			t.Errorf("%q is accepted by a service", prefix)
		}
	}
	for _, prefix := range []string{"sk-", "sk", "vk_live_", "gwz"} {
		if err := keys.CheckForeign(prefix); err != nil {
			t.Error(err)
		}
	}
}
