package images

import (
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
)

// The vendor's events of a stream: ImageGenPartialImageEvent and ImageGenCompletedEvent
// of the SDK. A completed event is one whole image; there is no event for the end of all.
const (
	partialImage  = "image_generation.partial_image"
	imageFinished = "image_generation.completed"
)

// doneData ends the stream of some servers of the protocol.
const doneData = "[DONE]"

// wireEvent is an event of either type.
type wireEvent struct {
	Type              string         `json:"type"`
	B64JSON           wireBytes      `json:"b64_json"`
	Background        string         `json:"background"`
	CreatedAt         int64          `json:"created_at"`
	OutputFormat      string         `json:"output_format"`
	PartialImageIndex *int32         `json:"partial_image_index"`
	Quality           string         `json:"quality"`
	Size              string         `json:"size"`
	Usage             *wireUsage     `json:"usage"`
	Extra             jsontext.Value `json:",embed"`
}

// watchedEvent is what matters of an event that the caller reads itself. Each member is
// read on its own, so that one of an unexpected type spoils no other.
type watchedEvent struct {
	Type    jsontext.Value `json:"type"`
	Quality jsontext.Value `json:"quality"`
	Size    jsontext.Value `json:"size"`
	Usage   jsontext.Value `json:"usage"`
}

// event gives the event without its image.
func (w *watchedEvent) event() *wireEvent {
	e := &wireEvent{}
	read(w.Type, &e.Type)
	read(w.Quality, &e.Quality)
	read(w.Size, &e.Size)
	if u := (wireUsage{}); read(w.Usage, &u) {
		e.Usage = &u
	}
	return e
}

// read reads a member of any type, and reports whether it is there and of the type of to.
func read[T any](raw jsontext.Value, to *T) bool {
	var v T
	if len(raw) == 0 || raw.Kind() == 'n' || json.Unmarshal(raw, &v, member.Options()) != nil {
		return false
	}
	*to = v
	return true
}

// Event wraps a payload of a stream of images.
func Event(payload proto.Message) *genwayv1.StreamGenerateImageResponse {
	switch p := payload.(type) {
	case *genwayv1.ImageStarted:
		return &genwayv1.StreamGenerateImageResponse{Payload: &genwayv1.StreamGenerateImageResponse_Started{Started: p}}
	case *genwayv1.PartialImage:
		return &genwayv1.StreamGenerateImageResponse{Payload: &genwayv1.StreamGenerateImageResponse_PartialImage{PartialImage: p}}
	case *genwayv1.FinishedImage:
		return &genwayv1.StreamGenerateImageResponse{Payload: &genwayv1.StreamGenerateImageResponse_Image{Image: p}}
	case *genwayv1.ImageCompleted:
		return &genwayv1.StreamGenerateImageResponse{Payload: &genwayv1.StreamGenerateImageResponse_Completed{Completed: p}}
	case *genwayv1.WireFrame:
		return &genwayv1.StreamGenerateImageResponse{Payload: &genwayv1.StreamGenerateImageResponse_Wire{Wire: p}}
	default:
		return &genwayv1.StreamGenerateImageResponse{Payload: &genwayv1.StreamGenerateImageResponse_Ping{Ping: &genwayv1.Ping{}}}
	}
}
