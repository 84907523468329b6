package generatecontent

import "github.com/go-json-experiment/json/jsontext"

// response is the body of an answer, and the data of each frame of a stream.
type response struct {
	Candidates     []candidate     `json:"candidates,omitempty"`
	PromptFeedback *promptFeedback `json:"promptFeedback,omitzero"`
	UsageMetadata  *usage          `json:"usageMetadata,omitzero"`
	ModelVersion   string          `json:"modelVersion,omitzero"`
	CreateTime     string          `json:"createTime,omitzero"`
	ResponseID     string          `json:"responseId,omitzero"`
	// Error takes the place of all else in the last frame of a failed stream.
	Error jsontext.Value `json:"error,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

type candidate struct {
	Content        *content       `json:"content,omitzero"`
	FinishReason   string         `json:"finishReason,omitzero"`
	FinishMessage  string         `json:"finishMessage,omitzero"`
	Index          integer        `json:"index"`
	LogprobsResult jsontext.Value `json:"logprobsResult,omitzero"`
	Extra          jsontext.Value `json:",embed"`
}

type promptFeedback struct {
	BlockReason        string         `json:"blockReason,omitzero"`
	BlockReasonMessage string         `json:"blockReasonMessage,omitzero"`
	Extra              jsontext.Value `json:",embed"`
}

// usage counts tokens: candidatesTokenCount without thoughts (case U11),
// promptTokenCount with cached ones and without those of tool results.
type usage struct {
	PromptTokenCount        integer        `json:"promptTokenCount"`
	CandidatesTokenCount    integer        `json:"candidatesTokenCount"`
	TotalTokenCount         integer        `json:"totalTokenCount"`
	CachedContentTokenCount *integer       `json:"cachedContentTokenCount,omitzero"`
	ThoughtsTokenCount      *integer       `json:"thoughtsTokenCount,omitzero"`
	ToolUsePromptTokenCount *integer       `json:"toolUsePromptTokenCount,omitzero"`
	PromptTokensDetails     jsontext.Value `json:"promptTokensDetails,omitzero"`
	CandidatesTokensDetails jsontext.Value `json:"candidatesTokensDetails,omitzero"`
	ServiceTier             string         `json:"serviceTier,omitzero"`
	Extra                   jsontext.Value `json:",embed"`
}

// modalityTokens is the share of one kind of content in a count.
type modalityTokens struct {
	Modality   string         `json:"modality"`
	TokenCount integer        `json:"tokenCount"`
	Extra      jsontext.Value `json:",embed"`
}
