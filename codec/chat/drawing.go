package chat

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// AskToDraw implements codec.Drawer. Models draw where modalities say so, and have no settings of images that all of them take
// (openrouter.ai/docs/guides/overview/multimodal/image-generation, read 2026-11-28).
func (Codec) AskToDraw(text *genwayv1.GenerateTextRequest, req *genwayv1.GenerateImageRequest, losses *codec.Losses) error {
	if err := fit.ImageSettings(member.NewWriter(0), req, protocol, losses); err != nil {
		return err
	}
	text.User = req.GetUser()
	text.Modalities = []string{"image", "text"}
	return nil
}

// Drawing implements codec.Drawer. An image is nothing but its bytes.
func (Codec) Drawing([]*genwayv1.NativeField) codec.Drawing { return codec.Drawing{} }
