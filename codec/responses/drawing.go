package responses

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// AskToDraw implements codec.Drawer: the model must call the vendor's tool (SDK: ToolImageGeneration), whose settings are the
// image's. The tool's model is the vendor's default, unless the caller names one by a native field.
func (Codec) AskToDraw(text *genwayv1.GenerateTextRequest, req *genwayv1.GenerateImageRequest, losses *codec.Losses) error {
	w := member.NewWriter(256)
	w.Begin()
	w.Str("type", fit.ImageTool)
	if err := fit.ImageSettings(w, req, protocol, losses); err != nil {
		return err
	}
	if mask := req.GetMask(); mask != nil {
		w.Object("input_image_mask")
		if id := mask.GetFileId(); id != "" {
			w.Str("file_id", id)
		} else {
			w.DataURL("image_url", mask)
		}
		w.End()
	}
	if n := req.GetPartialImages(); n > 0 {
		w.Int("partial_images", int64(n))
	}
	w.End()
	tool, err := w.Finish()
	if err != nil {
		return err
	}
	text.User = req.GetUser()
	text.Tools = []*genwayv1.Tool{hosted(tool, fit.ImageTool)}
	text.ToolChoice = &genwayv1.ToolChoice{Native: native("tool_choice", []byte(`{"type":"`+fit.ImageTool+`"}`))}
	return nil
}

// Drawing implements codec.Drawer.
func (Codec) Drawing(fields []*genwayv1.NativeField) codec.Drawing {
	of := func(name string) string { return member.Raw(member.Native(protocol, fields, name)).String() }
	return codec.Drawing{Background: of("background"), Quality: of("quality"), RevisedPrompt: of("revised_prompt")}
}

// wirePreview is ResponseImageGenCallPartialImageEvent.
type wirePreview struct {
	Type              string         `json:"type"`
	ItemID            string         `json:"item_id"`
	OutputIndex       int64          `json:"output_index"`
	SequenceNumber    int64          `json:"sequence_number"`
	PartialImageB64   []byte         `json:"partial_image_b64"`
	PartialImageIndex int32          `json:"partial_image_index"`
	Extra             jsontext.Value `json:",embed"`
}

// preview handles a preview of an image, which is sent on at once, whatever item is open.
func (d *streamDecoder) preview(data []byte) error {
	var w wirePreview
	if err := member.DecodeAnswer(data, &w); err != nil {
		return err
	}
	if len(w.PartialImageB64) == 0 {
		return nil
	}
	d.start(&wireResponse{})
	d.emit(&genwayv1.ImagePreview{PartId: w.ItemID, PartialIndex: w.PartialImageIndex, Data: w.PartialImageB64, NativeFields: member.Natives(protocol, w.Extra, nil)})
	return nil
}
