package responses

import (
	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json/jsontext"
)

// wireResponse is the body of an answer (SDK: Response).
//
//wire:read,head
type wireResponse struct {
	ID                string           `json:"id"`
	CreatedAt         float64          `json:"created_at"`
	Model             string           `json:"model"`
	Status            string           `json:"status"`
	Error             jsontext.Value   `json:"error"`
	IncompleteDetails *wireIncomplete  `json:"incomplete_details"`
	Output            []jsontext.Value `json:"output" wire:"main"`
	Usage             *wireUsage       `json:"usage"`
	ServiceTier       string           `json:"service_tier"`
	// The rest repeats the request, or follows from the members above.
	Object               ignored        `json:"object"`
	AccessPrograms       ignored        `json:"access_programs"`
	Instructions         ignored        `json:"instructions" wire:"heavy"`
	Metadata             ignored        `json:"metadata"`
	ParallelToolCalls    ignored        `json:"parallel_tool_calls"`
	Temperature          ignored        `json:"temperature"`
	ToolChoice           ignored        `json:"tool_choice"`
	Tools                ignored        `json:"tools" wire:"heavy"`
	TopP                 ignored        `json:"top_p"`
	Background           ignored        `json:"background"`
	CompletedAt          ignored        `json:"completed_at"`
	Conversation         ignored        `json:"conversation"`
	MaxOutputTokens      ignored        `json:"max_output_tokens"`
	MaxToolCalls         ignored        `json:"max_tool_calls"`
	PreviousResponseID   ignored        `json:"previous_response_id"`
	Prompt               ignored        `json:"prompt"`
	PromptCacheKey       ignored        `json:"prompt_cache_key"`
	PromptCacheOptions   ignored        `json:"prompt_cache_options"`
	PromptCacheRetention ignored        `json:"prompt_cache_retention"`
	Reasoning            ignored        `json:"reasoning"`
	SafetyIDentifier     ignored        `json:"safety_identifier"`
	Text                 ignored        `json:"text"`
	TopLogprobs          ignored        `json:"top_logprobs"`
	Truncation           ignored        `json:"truncation"`
	User                 ignored        `json:"user"`
	Store                ignored        `json:"store"`
	FrequencyPenalty     ignored        `json:"frequency_penalty"`
	PresencePenalty      ignored        `json:"presence_penalty"`
	OutputText           ignored        `json:"output_text"`
	Extra                jsontext.Value `json:",embed"`
}

// ignored is a member that says nothing, whatever its value is.
type ignored struct{}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (*ignored) UnmarshalJSONFrom(d *jsontext.Decoder) error { return d.SkipValue() }

// ReadJSON implements member.ValueReader.
func (*ignored) ReadJSON(r *member.Reader) bool {
	_, ok := r.Value()
	return ok
}

type wireIncomplete struct {
	Reason string `json:"reason"`
}
