// Package drawing makes the sandbox's images: a picture of one colour that says which request it
// answers. It shows the beginning of the prompt, the size and quality, the first 8 digits of the
// prompt's SHA-256 and the number of the image.
//
// A picture depends only on its Spec: it is the same on every machine and in every run.
//
// The package makes pixels only: it must not import gen, codec or gateway.
package drawing

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"strings"
	"unicode"

	"golang.org/x/image/font"
	"golang.org/x/image/font/inconsolata"
	"golang.org/x/image/math/fixed"
)

// Transparent is the Spec's background of a picture that has only a plate with the text; all
// around it has alpha 0.
const Transparent = "transparent"

// Spec says what to draw.
type Spec struct {
	Prompt string
	// Seed is the number of the image. Images of one prompt differ by it.
	Seed uint64
	// Width and Height are pixels, as Snap returns them.
	Width, Height int
	// Quality is written in the picture and changes nothing else.
	Quality string
	// Background is Transparent; any other value is opaque.
	Background string
}

// face has Latin letters, each of them glyphWidth wide. Others are blank: the digits of the hash tell such prompts apart.
var face = inconsolata.Regular8x16

const (
	glyphWidth, lineHeight = 8, 16
	// maxCaption bounds how many lines the prompt takes, and maxRead how many of its bytes are read for them.
	maxCaption, maxRead = 6, 4096
)

// Draw makes the picture.
func Draw(s Spec) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, s.Width, s.Height))
	digest := sha256.Sum256([]byte(s.Prompt))
	scale := max(min(s.Width, s.Height)/192, 1) // pixels for each of the typeface's
	columns, lines := s.Width/scale/glyphWidth-1, s.Height/scale/lineHeight-1
	text := []string{fmt.Sprintf("%dx%d %s", s.Width, s.Height, s.Quality), fmt.Sprintf("%x #%d", digest[:4], s.Seed)}
	text = append(caption(s.Prompt, columns, min(lines-len(text), maxCaption)), text...)

	plate := img.Rect
	if s.Background == Transparent {
		plate = image.Rect(0, s.Height-len(text)*lineHeight*scale, s.Width, s.Height).Inset(scale)
	}
	fill(img, plate, colourOf(digest, s.Seed))
	for i, line := range text {
		write(img, line, glyphWidth/2*scale, s.Height-lineHeight*scale*(len(text)-i), scale)
	}
	return img
}

// colourOf returns a colour that is dark enough for white text.
func colourOf(digest [sha256.Size]byte, seed uint64) color.NRGBA {
	varied := sha256.Sum256(binary.BigEndian.AppendUint64(digest[:], seed))
	return color.NRGBA{R: 40 + varied[0]%112, G: 40 + varied[1]%112, B: 40 + varied[2]%112, A: 255}
}

// fill paints an area, with a colour that becomes half as bright towards the bottom of the picture.
func fill(img *image.NRGBA, area image.Rectangle, c color.NRGBA) {
	for y := area.Min.Y; y < area.Max.Y; y++ {
		dim := func(v uint8) uint8 { return v - uint8(int(v)*y/(2*img.Rect.Max.Y)) }
		row := img.Pix[img.PixOffset(area.Min.X, y):img.PixOffset(area.Max.X, y)]
		row[0], row[1], row[2], row[3] = dim(c.R), dim(c.G), dim(c.B), 255
		for n := 4; n < len(row); n *= 2 {
			copy(row[n:], row[:n])
		}
	}
}

// caption breaks the beginning of the prompt into lines. It ends in an ellipsis if that is not all of it.
func caption(prompt string, columns, lines int) []string {
	read := prompt[:min(len(prompt), maxRead)]
	words := []rune(strings.Join(strings.FieldsFunc(read, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }), " "))
	var all []string
	for len(words) > 0 && len(all) < lines {
		line := words[:min(columns, len(words))]
		words = words[len(line):]
		if len(all) == lines-1 && (len(words) > 0 || len(read) < len(prompt)) {
			line[len(line)-1] = '…'
		}
		all = append(all, strings.TrimSpace(string(line)))
	}
	return all
}

// write paints a line of text whose top left corner is at x and y, as far as there is room.
func write(img *image.NRGBA, line string, x, y, scale int) {
	mask := image.NewAlpha(image.Rect(0, 0, (img.Rect.Max.X-x)/scale, lineHeight))
	pen := font.Drawer{Dst: mask, Src: image.Opaque, Face: face, Dot: fixed.P(0, face.Ascent)}
	pen.DrawString(line)
	for my := range lineHeight {
		for mx := range mask.Rect.Dx() {
			if alpha := int(mask.AlphaAt(mx, my).A); alpha > 0 {
				lighten(img, image.Rect(0, 0, scale, scale).Add(image.Pt(x+mx*scale, y+my*scale)), alpha)
			}
		}
	}
}

// lighten lays white of that alpha over an area.
func lighten(img *image.NRGBA, area image.Rectangle, alpha int) {
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			p := img.Pix[img.PixOffset(x, y):][:3]
			for i, v := range p {
				p[i] = v + uint8((255-int(v))*alpha/255)
			}
		}
	}
}

// Mosaic returns an image of the same size in tiles of one colour each, that of the tile's
// middle. The longer side has as many tiles as stated, at least 1.
func Mosaic(img *image.NRGBA, tiles int) *image.NRGBA {
	bounds := img.Bounds()
	edge := max((max(bounds.Dx(), bounds.Dy())+tiles-1)/max(tiles, 1), 1)
	out := image.NewNRGBA(bounds)
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			out.SetNRGBA(x, y, img.NRGBAAt(middle(x, bounds.Dx(), edge), middle(y, bounds.Dy(), edge)))
		}
	}
	return out
}

// middle returns the middle of the tile that contains a coordinate.
func middle(at, end, edge int) int { return min(at-at%edge+edge/2, end-1) }
