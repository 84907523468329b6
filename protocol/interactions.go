package protocol

import (
	"strings"

	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/interactions"
	"github.com/genway/genway/codec/listing"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// interactionsProtocol is POST /v1beta/interactions, and the same at /v1, which the vendor's SDK calls since 3.0. The
// authority is the npm package @google/genai (interactions).
var interactionsProtocol = Protocol{
	ID:       genwayv1.Protocol_PROTOCOL_INTERACTIONS,
	Name:     "interactions",
	Kind:     "interactions",
	KeyGroup: "generatecontent", // users of the vendor's SDK have one key for both
	Bindings: bound(func(b Binding) bool { return strings.Contains(b.Prefix, "/interactions") }),
	Key:      Key{Headers: []string{"x-goog-api-key", "x-vendorc-api-key"}, Query: "key"},
	Stream:   events,
	// By which the vendor chooses the schema of steps (ai.google.dev/gemini-api/docs/interactions, read 2026-11-28).
	PassedHeaders: []string{"api-revision"},
	FirstSteps:    []string{"interactions"},
	ResumeQuery:   "last_event_id",
	Example:       `{"model":"{{Model}}","input":"Say hello."}`,
	Telemetry:     Telemetry{Provider: "gcp.gen_ai", Operation: OperationGenerateContent},
	Upstream: Upstream{
		// The names are those of generateContent's FunctionDeclaration.
		Fit:               fit.Rules{Names: fit.NameRule{Longest: 64, More: ".:", Lettered: true, Unique: true}, MaxStops: 5, NeedsTurn: true},
		VersionBehindPath: true,
		Listing:           listing.Gemini,
		BindsSeals:        true, // as those of generateContent
		Turns:             Turns{Member: "input", Signed: []string{`"signature"`}},
	},
	Models: &Models{
		Named:   `tools[].rag_store_config.rag_retrieval_config.ranking.model_name tools[].rag_store_config.rag_retrieval_config.ranking.rank_service.model_name`,
		Chosen:  `agent agent_config`,
		Schemas: `response_format response_format[] response_format.schema response_format[].schema tools[].parameters`,
		Own: `
			labels webhook_config.user_metadata environment.env environment.network.allowlist[].transform tools[].headers
			input[].arguments input[].result input[].error.details input[].content[].result
			input.annotations[].custom_metadata input[].annotations[].custom_metadata
			input[].content[].annotations[].custom_metadata input[].summary[].annotations[].custom_metadata`,
	},
	Codec: interactions.Codec{},
	Conversation: Conversation{
		System:  "system_instruction",
		Objects: []string{"input[]", "input[].content[]", "input[].result[]", "input[].content[].result[]", "tools[]"},
	},
}
