package protocol

import (
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/listing"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// chatCompletions is POST /v1/chat/completions. The authority is openai-go/v3 (chatcompletion.go).
var chatCompletions = Protocol{
	ID:            genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS,
	Name:          "chat_completions",
	Kind:          "chat",
	KeyGroup:      "chat",
	Bindings:      bound(below("/v1/chat/")),
	Key:           Key{Bearer: true},
	Stream:        events,
	Rates:         &openaiRates,
	PassedHeaders: []string{"openai-beta"},
	AnswerHeaders: openaiAnswers,
	Example:       `{"model":"{{Model}}","messages":[{"role":"user","content":"Say hello."}]}`,
	IDs:           IDs{"chatcmpl-", "call_"},
	Telemetry:     Telemetry{Provider: "openai", Operation: OperationChat},
	Upstream: Upstream{
		// FunctionDefinition.Name; stop: "up to 4".
		Fit: fit.Rules{Names: fit.NameRule{Longest: 64}, MaxStops: 4, Schemas: fit.StrictSchema, CallIDs: 40, NeedsJSON: true,
			Bounds: fit.Bounds{Key: 64, Pairs: 16, Name: 64, Value: 512}},
		AsksForUsage: true,
		Listing:      listing.OpenAI,
	},
	Models: &Models{
		Named: `
			moderation.model
			models fallbacks[] fallbacks[].model
			tools[].parameters.model`, // the latter are OpenRouter's
		Chosen: `fallbacks preset`,
		Schemas: `
			tools[].function.parameters functions[].parameters
			response_format.json_schema.schema response_format.schema
			structured_outputs.json guided_json`, // vLLM's, and llama.cpp's response_format.schema
		Own: `metadata logit_bias chat_template_kwargs`, // the latter is vLLM's, with names of the template's
	},
	Codec: chat.Codec{},
	Conversation: Conversation{
		System:  "messages",
		Objects: []string{"messages[]", "messages[].content[]", "messages[].images[]", "messages[].tool_calls[]", "tools[]", "functions[]"},
	},
}
