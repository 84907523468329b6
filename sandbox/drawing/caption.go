package drawing

import (
	"hash/fnv"
	"image"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// typeface is read once; the Go fonts have Latin, Greek and Cyrillic.
var typeface = sync.OnceValues(func() (*sfnt.Font, error) { return opentype.Parse(gomedium.TTF) })

// caption writes the first words of the prompt at the bottom: as many as fit, on a band
// across the drawing or, on a transparent one, on a plate. A character the typeface
// lacks becomes a tile of a colour of its own, so that prompts of other scripts
// can be distinguished too.
func (p *painter) caption(prompt string, transparent bool) {
	face, err := newFace(max(p.unit/26, 8))
	if err != nil {
		return
	}
	defer face.Close()
	height := face.Metrics().Height.Ceil()
	margin := height * 2 / 3
	line := fit(face, strings.Join(strings.Fields(printable(prompt)), " "), p.w-2*margin)
	if line == "" {
		return
	}
	width := measure(face, line).Ceil()
	band := height * 9 / 5
	y := p.h - (band-height)/2 - face.Metrics().Descent.Ceil()
	x := margin
	if transparent {
		x = (p.w - width) / 2
		plate := roundedBox(float64(x-margin/2), float64(p.h-band), float64(x+width+margin/2), float64(p.h)-1, float64(height)/3)
		p.fill(plate, flat(p.palette.paper, 225))
	} else {
		p.fill(box(0, float64(p.h-band), float64(p.w), float64(p.h)), flat(p.palette.paper, 200))
	}
	p.write(face, line, x, y)
}

func newFace(size float64) (font.Face, error) {
	f, err := typeface()
	if err != nil {
		return nil, err
	}
	return opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingFull})
}

// printable drops what has no width or must not be shown.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r) || unicode.Is(unicode.Mn, r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, s)
}

// fit returns the longest head of the line that is no wider than the given pixels, cut
// between words if it has several and ended by an ellipsis if it is cut.
func fit(face font.Face, line string, width int) string {
	if measure(face, line).Ceil() <= width {
		return line
	}
	end, advance := 0, measure(face, "…")
	for i, r := range line {
		advance += advanceOf(face, r)
		if advance.Ceil() > width {
			break
		}
		end = i
	}
	head := line[:end]
	if i := strings.LastIndexByte(head, ' '); i > len(head)/2 {
		head = head[:i]
	}
	if head == "" {
		return ""
	}
	return strings.TrimRight(head, " ,.;:") + "…"
}

func measure(face font.Face, line string) fixed.Int26_6 {
	var sum fixed.Int26_6
	for _, r := range line {
		sum += advanceOf(face, r)
	}
	return sum
}

// advanceOf is the width of a character: that of its glyph, or of its tile.
func advanceOf(face font.Face, r rune) fixed.Int26_6 {
	if drawn(r) {
		if a, ok := face.GlyphAdvance(r); ok {
			return a
		}
	}
	return face.Metrics().Height * 3 / 4
}

// drawn reports whether the typeface has a glyph for r.
func drawn(r rune) bool {
	f, err := typeface()
	if err != nil {
		return false
	}
	var b sfnt.Buffer
	i, err := f.GlyphIndex(&b, r)
	return err == nil && i != 0
}

func (p *painter) write(face font.Face, line string, x, y int) {
	dot := fixed.P(x, y)
	for _, r := range line {
		advance := advanceOf(face, r)
		if drawn(r) {
			if area, mask, at, _, ok := face.Glyph(dot, r); ok {
				p.glyph(area, mask, at)
			}
		} else {
			p.tile(r, dot, advance)
		}
		dot.X += advance
	}
}

func (p *painter) glyph(area image.Rectangle, mask image.Image, at image.Point) {
	alpha, ok := mask.(*image.Alpha)
	if !ok {
		return
	}
	for y := max(area.Min.Y, 0); y < min(area.Max.Y, p.h); y++ {
		for x := max(area.Min.X, 0); x < min(area.Max.X, p.w); x++ {
			if a := alpha.AlphaAt(x-area.Min.X+at.X, y-area.Min.Y+at.Y).A; a > 0 {
				p.blend(x, y, p.palette.ink, int(a))
			}
		}
	}
}

func (p *painter) tile(r rune, dot fixed.Point26_6, advance fixed.Int26_6) {
	h := fnv.New32a()
	h.Write([]byte(string(r)))
	side := float64(advance) / 64
	x, y := float64(dot.X)/64, float64(dot.Y)/64
	k := lch{0.72, 0.14, float64(h.Sum32() % 360)}.rgb()
	p.fill(roundedBox(x+side*0.08, y-side*0.86, x+side*0.92, y-side*0.02, side*0.2), flat(k, 255))
}
