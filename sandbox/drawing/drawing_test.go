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

// TestGolden holds the pixels of some pictures. They change with Draw alone, not with an encoder;
// after a wanted change, take the values that the test prints.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Prompt: "A red square", Width: 256, Height: 256, Quality: "medium"}, "4e540d18e0c33fb7"},
		{Spec{Prompt: "A mountain at sunset", Seed: 7, Width: 192, Height: 256, Quality: "low"}, "cb1aa155719ce390"},
		{Spec{Prompt: "a city at night", Width: 1024, Height: 256, Background: Transparent}, "c5fa2e56e230d9a1"},
		{Spec{Prompt: "一只可爱的红色小猫, süß", Width: 256, Height: 256}, "bdc0292604b24091"},
		{Spec{Width: 64, Height: 64}, "ff224ef2cba0cf2f"},
	} {
		sum := sha256.Sum256(Draw(c.spec).Pix)
		if got := hex.EncodeToString(sum[:8]); got != c.want {
			t.Errorf("%+v: pixels %s, want %s", c.spec, got, c.want)
		}
	}
}

// TestDrawVaries changes one thing at a time, in pictures of the smallest size, too.
func TestDrawVaries(t *testing.T) {
	for _, edge := range []int{MinEdge, 256} {
		spec := Spec{Prompt: strings.Repeat("a quiet valley ", 1000), Width: edge, Height: edge}
		first := Draw(spec)
		if again := Draw(spec); !bytes.Equal(first.Pix, again.Pix) {
			t.Error("the same spec gave another picture")
		}
		for name, change := range map[string]func(*Spec){
			"seed":       func(s *Spec) { s.Seed++ },
			"prompt":     func(s *Spec) { s.Prompt += "!" },
			"background": func(s *Spec) { s.Background = Transparent },
		} {
			other := spec
			change(&other)
			if img := Draw(other); bytes.Equal(first.Pix, img.Pix) {
				t.Errorf("%d pixels: another %s gave the same picture", edge, name)
			}
		}
	}
}

// The caption has the words of the prompt, in as many lines as there are, and says where it is cut.
func TestCaption(t *testing.T) {
	for _, c := range []struct {
		prompt  string
		columns int
		lines   int
		want    string
	}{
		{"", 9, 3, ""}, {" \x00\n ", 9, 3, ""}, {"A red square", 20, 3, "A red square"}, {"a\tb\x00\xffc", 9, 3, "a b \ufffdc"},
		{"A red square", 6, 2, "A red|square"}, {"A red squares", 6, 2, "A red|squar…"}, {"A red square", 6, 1, "A red…"}, {"A", 6, 0, ""}, {"A", 6, -1, ""},
		{strings.Repeat("w", maxRead+1), maxRead, 2, strings.Repeat("w", maxRead)},
	} {
		if got := strings.Join(caption(c.prompt, c.columns, c.lines), "|"); got != c.want {
			t.Errorf("%.20q in %d lines of %d: %.20q, want %.20q", c.prompt, c.lines, c.columns, got, c.want)
		}
	}
}

func TestDrawAllSizes(t *testing.T) {
	for _, size := range [][2]int{{64, 64}, {64, 4096}, {4096, 64}, {3840, 2160}, {1536, 64}, {112, 336}} {
		for _, prompt := range []string{"", "\xff\xfe\x00", strings.Repeat("w", 5000), "١٢٣ ٤", "a star"} {
			for _, background := range []string{"opaque", Transparent} {
				img := Draw(Spec{Prompt: prompt, Seed: ^uint64(0), Width: size[0], Height: size[1], Quality: "high", Background: background})
				if got := img.Bounds(); got != image.Rect(0, 0, size[0], size[1]) || img.Opaque() == (background == Transparent) || img.NRGBAAt(0, 0).A == 0 != (background == Transparent) {
					t.Errorf("%.20q %v, %s: bounds %v, opaque %v", prompt, size, background, got, img.Opaque())
				}
			}
		}
	}
}

func TestEncode(t *testing.T) {
	opaque := Draw(Spec{Prompt: "a purple star at the beach", Width: 176, Height: 96})
	glass := Draw(Spec{Prompt: "a purple star at the beach", Width: 176, Height: 96, Background: Transparent})
	decoders := map[Format]func(io.Reader) (image.Image, error){PNG: png.Decode, JPEG: jpeg.Decode, WebP: webp.Decode}
	for format, decode := range decoders {
		for _, img := range []*image.NRGBA{opaque, glass} {
			for _, compression := range []int{0, 1, 49, 80, 100} {
				name := fmt.Sprintf("%s, opaque %v, compression %d", format, img.Opaque(), compression)
				var b bytes.Buffer
				err := Encode(&b, img, format, compression)
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
		s := Spec{Prompt: prompt, Seed: seed, Width: MinEdge + int(w%200), Height: MinEdge + int(h%200), Quality: "high"}
		if transparent {
			s.Background = Transparent
		}
		if img := Draw(s); img.Opaque() == transparent {
			t.Fatalf("%+v: opaque is %v", s, img.Opaque())
		}
	})
}
