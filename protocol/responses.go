package protocol

import (
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/listing"
	"github.com/genway/genway/codec/responses"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/spell"
)

// responsesProtocol is POST /v1/responses, with compaction and token counts below it. The
// authority is openai-go/v3 (responses/response.go).
var responsesProtocol = Protocol{
	ID:            genwayv1.Protocol_PROTOCOL_RESPONSES,
	Name:          "responses",
	Kind:          "responses",
	KeyGroup:      "chat",
	Bindings:      bound(below("/v1/responses")),
	Key:           Key{Bearer: true},
	Stream:        events,
	Rates:         &openaiRates,
	PassedHeaders: []string{"openai-beta"},
	AnswerHeaders: openaiAnswers,
	WebSocket:     true, // Codex does
	FirstSteps:    []string{"responses"},
	Example:       `{"model":"{{Model}}","input":"Say hello."}`,
	IDs:           IDs{"resp_", "call_"},
	Telemetry:     Telemetry{Provider: "openai", Operation: OperationChat},
	Upstream: Upstream{
		// The vendor applies the names of its other protocol.
		Fit: fit.Rules{Names: fit.NameRule{Longest: 64}, SealsReasoning: true},
		// It looks up items by their identifiers, and has never seen one of ours.
		Foreign:     func(part *genwayv1.Part) bool { return responses.IsSyntheticID(part.GetId()) },
		StoresItems: true,
		Listing:     listing.OpenAI,
	},
	Codec:   responses.Codec{},
	Members: &spell.Responses,
}
