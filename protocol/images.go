package protocol

import (
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/codec/listing"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// imagesProtocol is POST /v1/images/generations and /v1/images/edits. The authority is openai-go/v3 (image.go).
var imagesProtocol = Protocol{
	ID:            genwayv1.Protocol_PROTOCOL_IMAGES,
	Name:          "images",
	Kind:          "images",
	KeyGroup:      "chat",
	Bindings:      bound(below("/v1/images/")),
	Key:           Key{Bearer: true},
	Stream:        events,
	Rates:         &openaiRates,
	PassedHeaders: []string{"openai-beta"},
	AnswerHeaders: openaiAnswers,
	FirstSteps:    []string{"images"},
	Example:       `{"model":"{{Model}}","prompt":"A red square","size":"{{Size}}"}`,
	Telemetry:     Telemetry{Provider: "openai", Operation: OperationGenerateContent},
	Upstream: Upstream{
		Listing: listing.Images,
		// A little less than a gRPC message takes.
		MaxAnswerBytes: 120 << 20,
	},
	Models: &Models{Named: `svg.model models`},
	Images: true,
	Errors: images.Codec{},
}
