package protocol

import (
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/listing"
	"github.com/genway/genway/codec/responses"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
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
	ListQuery:     "client_version", // Codex's
	FirstSteps:    []string{"responses"},
	ResumeQuery:   "starting_after",
	Example:       `{"model":"{{Model}}","input":"Say hello."}`,
	IDs:           IDs{"resp_", "call_"},
	Telemetry:     Telemetry{Provider: "openai", Operation: OperationChat},
	Upstream: Upstream{
		// The vendor applies the names of its other protocol.
		Fit: fit.Rules{Names: fit.NameRule{Longest: 64}, SealsReasoning: true, Schemas: fit.StrictSchema, CallIDs: 64, NeedsJSON: true, Instructs: true,
			Bounds: fit.Bounds{MinOutput: 16, Key: 64, Pairs: 16, Name: 64, Value: 512}},
		// It looks up items by their identifiers, and has never seen one of ours.
		Foreign:     responses.IsSyntheticPart,
		StoresItems: true,
		// To an organisation (Response.InputTransformation; invalid_encrypted_content).
		BindsSeals:    true,
		NamesAccounts: true,
		Listing:       listing.OpenAI,
	},
	Models: &Models{
		Named: `
			moderation.model models
			tools[].model tools[].svg.model tools[].parameters.model
			tools[].tools[].model tools[].tools[].svg.model
			input[].tools[].model input[].tools[].svg.model
			input[].tools[].tools[].model input[].tools[].tools[].svg.model`,
		Chosen: `preset`, // OpenRouter's, as models
		Schemas: `
			text.format.schema input[].text.format.schema
			tools[].parameters tools[].output_schema
			tools[].tools[].parameters tools[].tools[].output_schema
			input[].tools[].parameters input[].tools[].output_schema input[].tools[].input_schema
			input[].tools[].tools[].parameters input[].tools[].tools[].output_schema`,
		Own: `
			metadata prompt.variables
			tools[].headers tools[].tools[].headers input[].tools[].headers
			input[].arguments input[].action.env input[].error.content input[].results[].attributes input[].tools[].annotations
			input[].svg_usage`,
	},
	Codec: responses.Codec{},
	Conversation: Conversation{
		System:  "instructions",
		Objects: []string{"input[]", "input[].content[]", "input[].output[]", "input[].tools[]", "input[].tools[].tools[]", "tools[]", "tools[].tools[]"},
	},
}
