package images

import (
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
)

// The vendor's events of a stream: ImageGenPartialImageEvent and ImageGenCompletedEvent
// of the SDK, and for edits ImageEditPartialImageEvent and ImageEditCompletedEvent. A completed event is one whole
// image; there is no event for the end of all.
const (
	drawing       = "image_generation"
	editing       = "image_edit"
	partialImage  = ".partial_image"
	imageFinished = ".completed"
)

// doneData ends the stream of some servers of the protocol.
const doneData = "[DONE]"

// wireEvent is an event of either type.
//
//wire:read,write
type wireEvent struct {
	Type              string         `json:"type" wire:"always"`
	B64JSON           wireBytes      `json:"b64_json" wire:"by=writeImage"`
	Background        string         `json:"background" wire:"always"`
	CreatedAt         int64          `json:"created_at" wire:"always"`
	OutputFormat      string         `json:"output_format" wire:"always"`
	PartialImageIndex *int32         `json:"partial_image_index"`
	Quality           string         `json:"quality" wire:"always"`
	Size              string         `json:"size" wire:"always"`
	Usage             *wireUsage     `json:"usage"`
	Extra             jsontext.Value `json:",embed"`
}

func (e *wireEvent) writeImage(w *member.Writer, name string) { w.Base64(name, e.B64JSON) }

// watchedEvent is what matters of an event that the caller reads itself.
type watchedEvent struct {
	Type    string     `json:"type"`
	Quality string     `json:"quality"`
	Size    string     `json:"size"`
	Usage   *wireUsage `json:"usage"`
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
