package generatecontent

import (
	"math"
	"strconv"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// AskToDraw implements codec.Drawer. Models that draw answer with an image where nothing else is asked for; its size is a ratio
// and one of three classes (genai: ImageConfig).
func (Codec) AskToDraw(text *genwayv1.GenerateTextRequest, req *genwayv1.GenerateImageRequest, losses *codec.Losses) error {
	w := member.NewWriter(64)
	w.Begin()
	if err := fit.ImageSettings(w, req, protocol, losses); err != nil {
		return err
	}
	if err := encodeSize(w, req.GetSize(), losses); err != nil {
		return err
	}
	w.End()
	config, err := w.Finish()
	if err != nil {
		return err
	}
	text.User = req.GetUser() // which the settings of text name as lost
	text.Modalities = []string{"image"}
	if len(config) == len("{}") {
		return nil
	}
	if member.Native(protocol, text.NativeFields, imageConfig) != nil {
		return fault.Invalid("native_fields", "native_fields: size sets %s already", imageConfig)
	}
	text.NativeFields = append(text.NativeFields, native(imageConfig, config))
	return nil
}

const imageConfig = "generationConfig.imageConfig"

// ratios are the aspect ratios that the vendor draws in (genai: ImageConfig.AspectRatio).
var ratios = [][2]int64{{1, 1}, {2, 3}, {3, 2}, {3, 4}, {4, 3}, {9, 16}, {16, 9}, {21, 9}}

// classes are the sizes that the vendor draws in, by about how many pixels an image has. Models that draw in the first
// alone refuse the member, which is left out for it: it is the vendor's default.
var classes = []struct {
	word   string
	pixels float64
}{{"", 1 << 20}, {"2K", 1 << 22}, {"4K", 1 << 24}}

// maxEnlarged is how many times the pixels of a class an image may have that is asked of it.
const maxEnlarged = 1.9

// encodeSize writes the ratio and the class that are nearest to a size. A ratio that the vendor does not have is
// named as lost: the answer says the actual size.
func encodeSize(w *member.Writer, size string, losses *codec.Losses) error {
	if size == "" || size == "auto" {
		return nil
	}
	width, height, ok := strings.Cut(size, "x")
	x, errX := strconv.ParseInt(width, 10, 32)
	y, errY := strconv.ParseInt(height, 10, 32)
	if !ok || errX != nil || errY != nil || x < 1 || y < 1 {
		return fault.Invalid("size", "size: expected <width>x<height> or auto, got %.40q", size)
	}
	best, off := ratios[0], math.Inf(1)
	for _, r := range ratios {
		if d := math.Abs(math.Log(float64(x*r[1]) / float64(y*r[0]))); d < off {
			best, off = r, d
		}
	}
	ratio := strconv.FormatInt(best[0], 10) + ":" + strconv.FormatInt(best[1], 10)
	if x*best[1] != y*best[0] {
		losses.Add("size", "the model draws in the ratio "+ratio)
	}
	w.Str("aspectRatio", ratio)
	class := classes[len(classes)-1]
	for _, c := range classes {
		if float64(x)*float64(y) <= maxEnlarged*c.pixels {
			class = c
			break
		}
	}
	w.StrOpt("imageSize", class.word)
	return nil
}

// Drawing implements codec.Drawer.
func (Codec) Drawing(fields []*genwayv1.NativeField) codec.Drawing {
	return codec.Drawing{Draft: string(member.Native(protocol, fields, "thought")) == "true"}
}
