package protocol

import (
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/listing"
	"github.com/genway/genway/codec/messages"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// messagesProtocol is POST /v1/messages, with token counts below it. The authority is
// the npm package @anthropic-ai/sdk (resources/messages, client).
var messagesProtocol = Protocol{
	ID:       genwayv1.Protocol_PROTOCOL_MESSAGES,
	Name:     "messages",
	Kind:     "messages",
	KeyGroup: "messages",
	Bindings: bound(below("/v1/messages")),
	Key:      Key{Headers: []string{"x-api-key"}, Bearer: true},
	Version:  Version{Headers: []string{"anthropic-version", "vendorb-version"}, Oldest: "2023-06-01", Known: []string{"2023-06-01", messages.Version2026}},
	Stream:   events,
	Rates:    &anthropicRates,
	// Open lists, as the vendor asks of gateways (code.claude.com/docs/en/llm-gateway-protocol, "Forward
	// as open lists"; read 2026-11-27), but for whose account it is and where that stands with its limits.
	PassedHeaders: []string{"anthropic-"},
	AnswerHeaders: []string{"Anthropic-", "!Anthropic-Ratelimit-", "!Anthropic-Priority-", "!Anthropic-Fast-", "!Anthropic-Organization-Id", "!Anthropic-Workspace-Id"},
	FirstSteps:    []string{"messages", "complete"},
	PagedModels:   true,
	Example:       `{"model":"{{Model}}","max_tokens":256,"messages":[{"role":"user","content":"Say hello."}]}`,
	IDs:           IDs{"msg_", "toolu_"},
	Telemetry:     Telemetry{Provider: "anthropic", Operation: OperationChat},
	Upstream: Upstream{
		// tools[].name.
		Fit:               fit.Rules{NeedsTurn: true, Names: fit.NameRule{Longest: 128, Unique: true}, NoBlanks: true, Schemas: fit.ClosedSchema, Bounds: fit.Bounds{User: 256}},
		VersionBehindPath: true,
		MaxTokens:         messages.MaxTokens,
		Breakpoints:       messages.Breakpoints,
		Foreign:           unsigned,
		// To an Anthropic organisation, an AWS account or a Google Cloud project (BetaThinkingDroppedInputTransformation).
		BindsSeals: true,
		Turns:      Turns{Member: "messages", Role: "assistant", Signed: []string{`"signature"`, `"redacted_thinking"`}},
		Listing:    listing.Anthropic,
	},
	Models: &Models{
		Named: `
			fallbacks[] fallbacks[].model
			tools[].model
			messages[].content[].tool.definition.model
			messages[].content[].tool_changes[].tool.definition.model`,
		Chosen: `fallbacks`, // "default"
		Schemas: `
			output_config.format.schema output_format.schema fallbacks[].output_config.format.schema
			tools[].input_schema tools[].tools[].input_schema
			messages[].content[].tools[].input_schema
			messages[].content[].tool.definition.input_schema messages[].content[].tool.definition.tools[].input_schema
			messages[].content[].tool_changes[].tool.definition.input_schema
			messages[].content[].tool_changes[].tool.definition.tools[].input_schema`,
		Own: `
			tools[].input_examples tools[].configs
			messages[].content[].input
			messages[].content[].tool.definition.input_examples messages[].content[].tool.definition.configs
			messages[].content[].tool_changes[].tool.definition.input_examples
			messages[].content[].tool_changes[].tool.definition.configs
			messages[].content[].from messages[].content[].to`, // of a fallback that has happened
	},
	Codec: messages.Codec{},
	Conversation: Conversation{
		System:  "system",
		Objects: []string{"system[]", "messages[]", "messages[].content[]", "messages[].content[].content[]", "tools[]"},
	},
}

// unsigned reports whether a part is thinking without a signature: the vendor signs all of
// its own and verifies them.
func unsigned(part *genwayv1.Part) bool {
	t := part.GetThinking()
	return t != nil && t.GetSignature() == nil && t.GetEncryptedContent() == nil
}
