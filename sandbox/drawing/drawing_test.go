package drawing

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"testing"

	"golang.org/x/image/webp"
)

func draw(t testing.TB, s Spec) *image.NRGBA {
	t.Helper()
	img, err := Draw(s)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestGolden holds the pixels of one drawing of each kind. They change with the
// drawings alone, not with an encoder; after a wanted change, take the values that the test prints.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Prompt: "A red square", Width: 256, Height: 256}, "c76d5ec4abae0548"},
		{Spec{Prompt: "A cute baby sea otter", Width: 256, Height: 192, Quality: "high"}, "4b59b4bc9bd2c086"},
		{Spec{Prompt: "A mountain at sunset", Seed: 7, Width: 192, Height: 256, Quality: "low"}, "9a02982739ef51f2"},
		{Spec{Prompt: "a city at night", Width: 256, Height: 256, Background: "transparent"}, "e1e707d2eb1648ed"},
		{Spec{Prompt: "planet in space", Width: 256, Height: 256}, "abf6c734287961b7"},
		{Spec{Prompt: "一只可爱的红色小猫", Width: 256, Height: 256}, "fcb56360590fc88a"},
		{Spec{Width: 64, Height: 64}, "37441bb8e64c64ad"},
	} {
		img := draw(t, c.spec)
		sum := sha256.Sum256(img.Pix)
		if got := hex.EncodeToString(sum[:8]); got != c.want {
			t.Errorf("%+v: pixels %s, want %s", c.spec, got, c.want)
		}
	}
}

func TestDrawIsDeterministicAndVaries(t *testing.T) {
	spec := Spec{Prompt: "a quiet valley", Width: 160, Height: 128}
	first := draw(t, spec)
	if again := draw(t, spec); !bytes.Equal(first.Pix, again.Pix) {
		t.Error("the same spec gave another drawing")
	}
	for name, other := range map[string]Spec{
		"seed":    {Prompt: spec.Prompt, Seed: 1, Width: 160, Height: 128},
		"prompt":  {Prompt: "a quiet valley!", Width: 160, Height: 128},
		"quality": {Prompt: spec.Prompt, Quality: "high", Width: 160, Height: 128},
	} {
		if img := draw(t, other); bytes.Equal(first.Pix, img.Pix) {
			t.Errorf("another %s gave the same drawing", name)
		}
	}
}

// TestColourWords finds the colour the prompt asks for in the middle of the drawing.
func TestColourWords(t *testing.T) {
	for prompt, want := range map[string]colour{
		"A red square":                      colourWords["red"],
		"a big Blue circle, please":         colourWords["blue"],
		"draw one green hexagon on a table": colourWords["green"],
		"YELLOW diamond":                    colourWords["yellow"],
		"a black triangle":                  colourWords["black"],
		"paint a heart, and make it gold":   colourWords["gold"],
	} {
		for _, background := range []string{"opaque", "transparent"} {
			img := draw(t, Spec{Prompt: prompt, Width: 320, Height: 320, Background: background})
			got := img.NRGBAAt(160, 150)
			if far := distance(got, want); got.A != 255 || far > 60 {
				t.Errorf("%s (%s): middle is %v, want about %v", prompt, background, got, want)
			}
		}
	}
}

func distance(a color.NRGBA, b colour) int {
	d := func(x, y uint8) int { return max(int(x)-int(y), int(y)-int(x)) }
	return max(d(a.R, b.r), d(a.G, b.g), d(a.B, b.b))
}

func TestRead(t *testing.T) {
	got := read("Two blue circles, and 3 yellow stars by the sea at NIGHT; a square")
	if len(got.figures) != 3 {
		t.Fatalf("figures %+v", got.figures)
	}
	for i, want := range []figure{
		{circle, colourWords["blue"], true, 2}, {star, colourWords["yellow"], true, 3}, {square, colour{}, false, 1},
	} {
		if got.figures[i] != want {
			t.Errorf("figure %d is %+v, want %+v", i, got.figures[i], want)
		}
	}
	if got.view != sea || got.when != night || len(got.colours) != 2 {
		t.Errorf("theme %+v", got)
	}
	if many := read(strings.Repeat("ten stars ", 100)); len(many.figures) != 2 || many.figures[1].count != 2 {
		t.Errorf("a thousand stars are %+v", many.figures)
	}
}

func TestTransparency(t *testing.T) {
	for _, prompt := range []string{"a red ring", "a forest", "city", "planet"} {
		img := draw(t, Spec{Prompt: prompt, Width: 200, Height: 160, Background: "transparent"})
		if a := img.NRGBAAt(1, 1).A; a != 0 || img.Opaque() {
			t.Errorf("%s: alpha in the corner is %d", prompt, a)
		}
		if img := draw(t, Spec{Prompt: prompt, Width: 200, Height: 160}); !img.Opaque() {
			t.Errorf("%s: the opaque drawing is not", prompt)
		}
	}
}

func TestDrawAllSizesAndViews(t *testing.T) {
	prompts := []string{"", "hills", "mountains", "sea", "desert", "forest", "city", "space", "\xff\xfe\x00", strings.Repeat("w", 5000), "١٢٣ ٤", "a star"}
	for _, size := range [][2]int{{64, 64}, {16, 16}, {1536, 64}, {64, 1536}, {100, 333}} {
		for _, prompt := range prompts {
			for _, quality := range []string{"low", "high"} {
				img := draw(t, Spec{Prompt: prompt, Seed: ^uint64(0), Width: size[0], Height: size[1], Quality: quality})
				if got := img.Bounds(); got != image.Rect(0, 0, size[0], size[1]) || !img.Opaque() {
					t.Errorf("%q %v: bounds %v", prompt, size, got)
				}
			}
		}
	}
}

func TestDrawRefuses(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Width: 64, Height: 64, Quality: "best"}, `quality "best"`},
		{Spec{Width: 64, Height: 64, Background: "white"}, `background "white"`},
		{Spec{Width: 0, Height: 64}, "size 0x64"},
		{Spec{Width: -64, Height: -64}, "size -64x-64"},
		{Spec{Width: 4112, Height: 64}, "size 4112x64"},
		{Spec{Width: 4096, Height: 4096}, "size 4096x4096"},
		{Spec{Width: 1 << 62, Height: 1 << 62}, "cannot be drawn"},
	} {
		if _, err := Draw(c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one with %q", c.spec, err, c.want)
		}
	}
}

func TestEncode(t *testing.T) {
	opaque := draw(t, Spec{Prompt: "a purple star at the beach", Width: 176, Height: 96})
	glass := draw(t, Spec{Prompt: "a purple star at the beach", Width: 176, Height: 96, Background: "transparent"})
	decoders := map[Format]func(io.Reader) (image.Image, error){PNG: png.Decode, JPEG: jpeg.Decode, WebP: webp.Decode}
	for format, decode := range decoders {
		for _, img := range []*image.NRGBA{opaque, glass} {
			for _, compression := range []int{0, 1, 49, 80, 100} {
				name := fmt.Sprintf("%s, opaque %v, compression %d", format, img.Opaque(), compression)
				var b bytes.Buffer
				err := Encode(&b, img, format, compression)
				if format == JPEG && !img.Opaque() {
					if !errors.Is(err, ErrTransparentJPEG) {
						t.Errorf("%s: error %v", name, err)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				got, err := decode(&b)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if got.Bounds() != img.Bounds() {
					t.Errorf("%s: bounds %v", name, got.Bounds())
				}
				if format != JPEG && !samePixels(got, img) {
					t.Errorf("%s: the pixels changed", name)
				}
			}
		}
	}
	for _, compression := range []int{-1, 101} {
		if err := Encode(io.Discard, opaque, PNG, compression); err == nil {
			t.Errorf("compression %d is accepted", compression)
		}
	}
	if err := Encode(io.Discard, opaque, "gif", 0); err == nil {
		t.Error("gif is accepted")
	}
	for _, format := range []Format{PNG, JPEG, WebP} {
		if err := Encode(failing{}, opaque, format, 0); !errors.Is(err, errFull) {
			t.Errorf("%s: a failing writer gives %v", format, err)
		}
	}
}

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

func samePixels(a image.Image, b *image.NRGBA) bool {
	for y := range b.Rect.Dy() {
		for x := range b.Rect.Dx() {
			p, q := color.NRGBAModel.Convert(a.At(x, y)).(color.NRGBA), b.NRGBAAt(x, y)
			if p.A != q.A || q.A != 0 && p != q {
				return false
			}
		}
	}
	return true
}

func TestParseFormat(t *testing.T) {
	for name, want := range map[string]Format{"": PNG, "png": PNG, "jpeg": JPEG, "jpg": JPEG, "webp": WebP, "gif": "", "PNG": ""} {
		if got, err := ParseFormat(name); got != want || (err == nil) != (want != "") {
			t.Errorf("ParseFormat(%q) = %q, %v", name, got, err)
		}
	}
	if got := WebP.MediaType(); got != "image/webp" {
		t.Error(got)
	}
}

func TestSnap(t *testing.T) {
	for _, c := range []struct {
		requested     string
		width, height int
	}{
		{"", 1024, 1024}, {"auto", 1024, 1024}, {"1024x1024", 1024, 1024}, {"1536x1024", 1536, 1024}, {"1792x1024", 1792, 1024},
		{"1000x1000", 1008, 1008}, {"999x1000", 992, 1008}, {"256x256", 256, 256}, {"1x1", 64, 64}, {"1x4096", 64, 4096},
		{"63x72", 64, 80}, {"3840x2160", 3840, 2160}, {"4096x4096", 2880, 2880}, {"4096x2160", 3952, 2080},
	} {
		w, h, err := Snap(c.requested)
		if err != nil || w != c.width || h != c.height {
			t.Errorf("Snap(%q) = %dx%d, %v, want %dx%d", c.requested, w, h, err, c.width, c.height)
		}
		if again, _, _ := Snap(fmt.Sprintf("%dx%d", w, h)); again != w {
			t.Errorf("Snap(%dx%d) changes it", w, h)
		}
	}
	for _, requested := range []string{
		"0x0", "0x64", "4097x64", "5000x5000", "99999999999999999999x1", "-1x1", "+64x64", "1024X1024", "1024 x 1024", "1024x", "x",
		"1024", "1024x1024x3", "٦٤x٦٤", "６４x６４", "64×64", "064x64", "1e3x64", "64.0x64", "AUTO", "64x64\n", " 64x64", strings.Repeat("9", 1<<16),
	} {
		if w, h, err := Snap(requested); err == nil || !strings.Contains(err.Error(), `"1024x1024"`) || len(err.Error()) > 300 {
			t.Errorf("Snap(%.40q) = %dx%d, %v, want an error that names what is accepted", requested, w, h, err)
		}
	}
}

func FuzzDraw(f *testing.F) {
	f.Add("two red squares in a forest at night", uint64(1), uint16(64), uint16(80), true)
	f.Fuzz(func(t *testing.T, prompt string, seed uint64, w, h uint16, transparent bool) {
		s := Spec{Prompt: prompt, Seed: seed, Width: 16 + int(w%200), Height: 16 + int(h%200), Quality: "high"}
		if transparent {
			s.Background = "transparent"
		}
		if img := draw(t, s); img.Opaque() == transparent {
			t.Fatalf("%+v: opaque is %v", s, img.Opaque())
		}
	})
}

func BenchmarkDraw(b *testing.B) {
	for _, prompt := range []string{"a red square", "sea", "city at night", "forest", "space"} {
		for _, quality := range []string{"low", "high"} {
			b.Run(prompt+"/"+quality, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					draw(b, Spec{Prompt: prompt, Width: 1024, Height: 1024, Quality: quality})
				}
			})
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	img := draw(b, Spec{Prompt: "a city by the sea at sunset", Width: 1024, Height: 1024})
	for _, format := range []Format{PNG, JPEG, WebP} {
		for _, compression := range []int{1, 100} {
			b.Run(fmt.Sprintf("%s/%d", format, compression), func(b *testing.B) {
				var out bytes.Buffer
				for b.Loop() {
					out.Reset()
					if err := Encode(&out, img, format, compression); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(out.Len()), "bytes")
			})
		}
	}
}
