package protocol

import (
	"regexp"
	"strings"

	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/generatecontent"
	"github.com/genway/genway/codec/listing"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// generateContent is POST /v1beta/models/{model}:generateContent, with the verbs
// streamGenerateContent and countTokens. The authority is google.golang.org/genai
// (models.go, api_client.go).
var generateContent = Protocol{
	ID:       genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT,
	Name:     "generate_content",
	Kind:     "generatecontent",
	KeyGroup: "generatecontent",
	// No other protocol has models below this version, or verbs behind a model.
	Bindings: bound(func(b Binding) bool {
		return strings.HasPrefix(b.Prefix, "/v1beta/models") || b.Model != "" && b.Suffix != ""
	}),
	Key:         Key{Headers: []string{"x-goog-api-key", "x-vendorc-api-key"}, Query: "key"},
	Stream:      Framing{Query: Param{"alt", "sse"}, Array: "json", Heartbeat: "\n"},
	FirstSteps:  []string{"upload"},
	PagedModels: true,
	Example:     `{"contents":[{"parts":[{"text":"Say hello."}]}]}`,
	Telemetry:   Telemetry{Provider: "gcp.gen_ai", Operation: OperationGenerateContent},
	Upstream: Upstream{
		Fit: fit.Rules{
			Names: fit.NameRule{Longest: 64, More: ".:", Lettered: true, Unique: true}, MaxStops: 5, JoinsTurns: true, NeedsTurn: true, // FunctionDeclaration.Name; stopSequences: "up to 5"
			// ai.google.dev/gemini-api/docs/thought-signatures; Envoy AI Gateway, LiteLLM and @ai-sdk/google send the same value
			// (26 November 2026).
			Signatures: fit.SignatureRule{
				Of: genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, Absent: "skip_thought_signature_validator",
				Models: regexp.MustCompile(`(?i)gemini-(?:[3-9]|[1-9][0-9]|[a-z-]+-latest)`),
			},
		},
		VersionBehindPath: true,
		Listing:           listing.Gemini,
		// Not documented; Vertex AI and the Gemini API refuse each other's ("Thought signature is not valid").
		BindsSeals: true,
		Turns:      Turns{Member: "contents", Role: "model", Signed: []string{`"thoughtSignature"`, `"thought_signature"`}},
	},
	Models: &Models{
		Named: `
			model
			generationConfig.routingConfig.manualMode.modelName
			tools[].retrieval.vertexRagStore.ragRetrievalConfig.ranking.llmRanker.modelName
			tools[].retrieval.vertexRagStore.ragRetrievalConfig.ranking.rankService.modelName`,
		Chosen: `
			modelSelectionConfig generationConfig.modelSelectionConfig generationConfig.modelConfig
			generationConfig.routingConfig.autoMode.modelRoutingPreference`,
		Bodies: `generateContentRequest`, // of countTokens
		Schemas: `
			generationConfig.responseSchema generationConfig.responseJsonSchema generationConfig._responseJsonSchema
			generationConfig.responseFormat.text.schema generationConfig.responseFormat[].text.schema
			tools[].functionDeclarations[].parameters tools[].functionDeclarations[].parametersJsonSchema
			tools[].functionDeclarations[].response tools[].functionDeclarations[].responseJsonSchema`,
		Own: `
			labels modelArmorConfig tools[].mcpServers[].streamableHttpTransport.headers
			contents[].parts[].functionCall.args contents[].parts[].functionResponse.response
			contents[].parts[].toolCall.args contents[].parts[].toolResponse.response contents[].parts[].partMetadata
			systemInstruction.parts[].functionCall.args systemInstruction.parts[].functionResponse.response
			systemInstruction.parts[].toolCall.args systemInstruction.parts[].toolResponse.response systemInstruction.parts[].partMetadata`,
	},
	Codec: generatecontent.Codec{},
	Conversation: Conversation{
		System:  "systemInstruction",
		Objects: []string{"contents[].parts[]", "contents[].parts[].functionResponse.parts[]", "systemInstruction.parts[]", "tools[].functionDeclarations[]", "tools[].*"},
	},
}
