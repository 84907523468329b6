package tokens

import (
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/genway/genway/test/cpu"
	"github.com/tiktoken-go/tokenizer/codec"
	"pgregory.net/rapid"
)

func TestCountKnown(t *testing.T) {
	for text, want := range map[string]int{
		"":                   0,
		"hello world":        2,
		"tiktoken is great!": 6,
		"お誕生日おめでとう":          8,
		"2 + 2 = 4":          7,
		"\xff\xfe":           2,
		"a\xffb":             3,
		"a\x7f!":             3,
	} {
		if got := Count(text); got != want {
			t.Errorf("Count(%q) = %d, want %d", text, got, want)
		}
	}
}

// TestWindowsAreExact compares the count in windows with the count of the whole, on
// texts several windows long.
func TestWindowsAreExact(t *testing.T) {
	whole := codec.NewO200kBase()
	for name, unit := range map[string]string{
		"english":  "The quick brown fox isn't jumping over 1234 lazy dogs,\n\tsays   CamelCase.  \n\n",
		"chinese":  "网关把每个请求翻译成另一种协议，流式响应也一样。价格：１２３元！",
		"json":     `{"name":"Zoë","values":[1,2.5,-3e10],"nested":{"ok":true,"x":null}},` + "\n",
		"base64":   "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
		"combined": "e\u0301le\u0300ve 'S 'll I'll x'\u0301 don't👩\u200d🚀 ",
	} {
		text := strings.Repeat(unit, 3*windowBytes/len(unit)+1)
		want, err := whole.Count(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Count(text); got != want {
			t.Errorf("%s: Count = %d, whole text %d", name, got, want)
		}
	}
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.String(),
			rapid.StringMatching(`([a-zA-Z]{1,9}[ ,.'\n0-9]{0,3}){0,40}`),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		).Draw(t, "text")

		split := Split(text)
		if got := strings.Join(split, ""); got != text {
			t.Fatalf("joined split %q, want %q", got, text)
		}
		if got := Count(text); got != len(split) {
			t.Fatalf("count %d, split %d", got, len(split))
		}
		var joined strings.Builder
		sum := 0
		for _, p := range Pieces(text) {
			if utf8.ValidString(text) && !utf8.ValidString(p.Text) || p.Tokens < 1 {
				t.Fatalf("piece %+v", p)
			}
			joined.WriteString(p.Text)
			sum += p.Tokens
		}
		if joined.String() != text || sum != len(split) {
			t.Fatalf("pieces %q of %d tokens, want %q of %d", joined.String(), sum, text, len(split))
		}
		limit := rapid.IntRange(-1, len(split)+2).Draw(t, "limit")
		head, used := Cut(text, limit)
		if !strings.HasPrefix(text, head) || used > max(limit, 0) || limit >= len(split) && head != text {
			t.Fatalf("cut at %d: %q, %d", limit, head, used)
		}
		if utf8.ValidString(text) && !utf8.ValidString(head) {
			t.Fatalf("cut inside a character: %q", head)
		}
	})
}

func TestConcurrentFirstUse(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if n := Count("hello world"); n != 2 {
				t.Errorf("count %d", n)
			}
		})
	}
	wg.Wait()
}

// hostile are megabytes that tokenizers are known to choke on.
func hostile() map[string]string {
	const mb = 1 << 20
	return map[string]string{
		"letter":  strings.Repeat("a", mb),
		"capital": strings.Repeat("A", mb),
		"space":   strings.Repeat(" ", mb),
		"newline": strings.Repeat("\n", mb),
		"digit":   strings.Repeat("0", mb),
		"mark":    strings.Repeat("\u0301", mb/2),
		"punct":   strings.Repeat("!", mb),
		"quote":   strings.Repeat("'", mb),
		"stray":   strings.Repeat("\xff", mb),
		"lead":    strings.Repeat("\xe4", mb),
		"mixed":   strings.Repeat("\xffa", mb/2),
		"han":     strings.Repeat("中", mb/3),
	}
}

// TestHostileIsBounded holds the promise of linear time with a bound that a quadratic
// merge would miss by minutes.
func TestHostileIsBounded(t *testing.T) {
	for name, text := range hostile() {
		var n int
		if took := cpu.Took(func() { n = Count(text) }); took > 20*time.Second {
			t.Errorf("%s: %v", name, took)
		}
		if n == 0 || n > len(text) {
			t.Errorf("%s: %d tokens of %d bytes", name, n, len(text))
		}
	}
}

func TestCutIsLazy(t *testing.T) {
	text := strings.Repeat("word ", 4<<20)
	allocated := testing.AllocsPerRun(1, func() { Cut(text, 3) })
	if limit := float64(2 * windowBytes); allocated > limit {
		t.Errorf("cut three tokens of 20 MB with %v allocations, want at most %v", allocated, limit)
	}
}

func TestImage(t *testing.T) {
	for _, c := range []struct {
		w, h   int
		detail string
		want   int
	}{
		{1024, 1024, "high", 765},
		{2048, 4096, "high", 1105},
		{4096, 8192, "low", 85},
		{1, 1, "", 255},
		{0, 10, "high", 85},
		{1 << 62, 1 << 62, "high", 765},
		{1 << 62, 1, "high", 85 + 170*4},
	} {
		if got := Image(c.w, c.h, c.detail); got != c.want {
			t.Errorf("Image(%d, %d, %q) = %d, want %d", c.w, c.h, c.detail, got, c.want)
		}
	}
}

func TestDrawing(t *testing.T) {
	for _, c := range []struct {
		w, h    int
		quality string
		want    int
	}{
		{1024, 1024, "low", 272}, {1024, 1024, "medium", 1056}, {1024, 1024, "high", 4160},
		{1024, 1536, "low", 408}, {1024, 1536, "auto", 1584}, {1024, 1536, "high", 6240},
		{1536, 1024, "low", 400}, {1536, 1024, "", 1568}, {1536, 1024, "high", 6208},
		{-1, 5, "low", 0},
	} {
		if got := Drawing(c.w, c.h, c.quality); got != c.want {
			t.Errorf("Drawing(%d, %d, %q) = %d, want %d", c.w, c.h, c.quality, got, c.want)
		}
	}
}

func BenchmarkCount(b *testing.B) {
	unit := "The quick brown fox jumps over the lazy dog, isn't it? "
	for name, size := range map[string]int{"1KB": 1 << 10, "200KB": 200 << 10} {
		text := strings.Repeat(unit, size/len(unit)+1)[:size]
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				Count(text)
			}
		})
	}
	for name, text := range hostile() {
		b.Run("hostile/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Count(text)
			}
		})
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("hello world")
	f.Add("\x7f \x7f")
	f.Add("\xe4\xb8a'\u0301S\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Join(Split(text), "") != text {
			t.Fatalf("split of %q loses bytes", text)
		}
	})
}
