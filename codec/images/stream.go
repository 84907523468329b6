package images

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// completedEvent is the vendor's event of a finished image: ImageGenCompletedEvent
// of the SDK. The partial ones before it are optional, and a caller who asked for
// some may get none.
type completedEvent struct {
	Type         string     `json:"type"`
	B64JSON      wireBytes  `json:"b64_json"`
	Background   string     `json:"background"`
	CreatedAt    int64      `json:"created_at"`
	OutputFormat string     `json:"output_format"`
	Quality      string     `json:"quality"`
	Size         string     `json:"size"`
	Usage        *wireUsage `json:"usage"`
}

const completed = "image_generation.completed"

// EncodeStream gives a whole answer as the events of a stream, one an image. The
// usage is that of the whole answer and stands with the last.
func (Codec) EncodeStream(resp *genwayv1.GenerateImageResponse, losses *codec.Losses) ([]codec.Frame, error) {
	usage, err := encodeUsage(resp.GetUsage(), losses)
	if err != nil {
		return nil, err
	}
	var frames []codec.Frame
	for i, image := range resp.GetImages() {
		event := completedEvent{
			Type: completed, B64JSON: image.GetData(), CreatedAt: resp.GetCreateTime().GetSeconds(), Usage: &wireUsage{InputTokensDetails: details(new(int64), new(int64))},
			Background: resp.GetBackground(), OutputFormat: resp.GetOutputFormat(), Quality: resp.GetQuality(), Size: image.GetSize(),
		}
		if i == len(resp.GetImages())-1 && usage != nil {
			event.Usage = usage
		}
		data, err := json.Marshal(event, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return nil, fault.Wrap(err, fault.Internal, "ENCODE", "%s", fault.InternalMessage)
		}
		frames = append(frames, codec.Frame{Event: completed, Data: data})
	}
	return frames, nil
}
