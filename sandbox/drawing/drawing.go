// Package drawing makes the sandbox's images: a picture of one colour that says which request it
// answers. It shows the beginning of the prompt, the size and quality, the first 8 digits of the
// prompt's SHA-256 and the number of the image.
//
// A picture depends only on its Spec: it is the same on every machine and in every run.
//
// The package makes pixels only: it must not import gen, codec or gateway.
package drawing

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/HugoSmits86/nativewebp"
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

// Mosaic returns an image of the same size in tiles of one colour each, the colour of the tile's
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

// Format is the file format of an image.
type Format string

// The formats there are encoders for, by the names the protocols use.
const (
	PNG  Format = "png"
	JPEG Format = "jpeg"
	WebP Format = "webp"
)

// ParseFormat reads the name of a format: png (also empty), jpeg (also jpg) or webp.
func ParseFormat(name string) (Format, error) {
	switch name {
	case "", "png":
		return PNG, nil
	case "jpeg", "jpg":
		return JPEG, nil
	case "webp":
		return WebP, nil
	}
	return "", fmt.Errorf("output format %.40q is not accepted: use png, jpeg or webp", name)
}

// MediaType is the media type of the format.
func (f Format) MediaType() string { return "image/" + string(f) }

// smallEffort is the compression from which lossless formats look for a smaller file.
const smallEffort = 50

// Encode writes img as f. JPEG takes the compression, 0 to 100, for its quality, and drops the
// alpha. PNG and WebP are lossless and keep every pixel and its alpha; for them, less than 50 asks for
// speed and the rest for a smaller file.
func Encode(w io.Writer, img *image.NRGBA, f Format, compression int) error {
	switch f {
	case PNG:
		e := png.Encoder{CompressionLevel: png.DefaultCompression}
		if compression < smallEffort {
			e.CompressionLevel = png.BestSpeed
		}
		return e.Encode(w, img)
	case JPEG:
		// The bytes of opaque pixels are the same in RGBA, which the encoder reads faster.
		same := &image.RGBA{Pix: img.Pix, Stride: img.Stride, Rect: img.Rect}
		return jpeg.Encode(w, same, &jpeg.Options{Quality: compression})
	case WebP:
		o := &nativewebp.Options{CompressionLevel: nativewebp.DefaultCompression}
		if compression < smallEffort {
			o.CompressionLevel = nativewebp.BestSpeed
		}
		// The encoder ignores errors of the writer: bufio keeps the first one.
		b := bufio.NewWriter(w)
		if err := nativewebp.Encode(b, img, o); err != nil {
			return err
		}
		return b.Flush()
	}
	return fmt.Errorf("no encoder for the format %.40q", string(f))
}

// The bounds of a size. MaxPixels is the number of pixels of 3840x2160.
const (
	MinEdge     = 64
	MaxEdge     = 4096
	MaxPixels   = 3840 * 2160
	edgeStep    = 16
	defaultEdge = 1024
)

var sizeForm = regexp.MustCompile(`^([1-9][0-9]{0,3})x([1-9][0-9]{0,3})$`)

var errSize = errors.New(`use "auto", or "<width>x<height>" in pixels, each from 1 to 4096, such as "1024x1024"`)

// Snap turns a requested size into the one that is drawn and returned:
//
//	requested                        drawn
//	"" or "auto"                     1024x1024
//	<width>x<height>, 1 to 4096      each side rounded to the nearest multiple of 16, a
//	                                 half up, and raised to 64 where it is below
//	of more than 8,294,400 pixels    scaled down in proportion until it has no more,
//	                                 sides rounded down to multiples of 16
//	anything else                    an error that names what is accepted: sides of zero
//	                                 or above 4096, signs, spaces, leading zeros, "X"
//	                                 and digits of other scripts included
//
// A size that is snapped already stays as it is.
func Snap(requested string) (width, height int, err error) {
	if requested == "" || requested == "auto" {
		return defaultEdge, defaultEdge, nil
	}
	match := sizeForm.FindStringSubmatch(requested)
	if match == nil {
		return 0, 0, fmt.Errorf("size %.40q is not accepted: %w", requested, errSize)
	}
	// Four digits cannot overflow.
	width, _ = strconv.Atoi(match[1])
	height, _ = strconv.Atoi(match[2])
	if max(width, height) > MaxEdge {
		return 0, 0, fmt.Errorf("size %.40q is not accepted: %w", requested, errSize)
	}
	width, height = snapEdge(width), snapEdge(height)
	if width*height > MaxPixels {
		scale := math.Sqrt(float64(MaxPixels) / float64(width*height))
		width = int(float64(width)*scale) / edgeStep * edgeStep
		height = int(float64(height)*scale) / edgeStep * edgeStep
	}
	return width, height, nil
}

func snapEdge(edge int) int {
	return max((edge+edgeStep/2)/edgeStep*edgeStep, MinEdge)
}
