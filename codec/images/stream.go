package images

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// completedEvent is the vendor's event of a finished image: ImageGenCompletedEvent
// of the SDK. The partial ones before it are optional, and a caller who asked for
// some may get none.
type completedEvent struct {
	Type         string
	B64JSON      wireBytes
	Background   string
	CreatedAt    int64
	OutputFormat string
	Quality      string
	Size         string
	Usage        *wireUsage
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
		w := member.NewWriter(512 + len(image.GetData())/3*4)
		event.write(w)
		data, err := finish(w)
		if err != nil {
			return nil, err
		}
		frames = append(frames, codec.Frame{Event: completed, Data: data})
	}
	return frames, nil
}
