package generatecontent

import "github.com/go-json-experiment/json/jsontext"

// response is the body of an answer, and the data of each frame of a stream.
//
//wire:read,write,head
type response struct {
	Candidates     []candidate     `json:"candidates" wire:"main"`
	PromptFeedback *promptFeedback `json:"promptFeedback"`
	UsageMetadata  *usage          `json:"usageMetadata"`
	ModelVersion   string          `json:"modelVersion"`
	CreateTime     string          `json:"createTime"`
	ResponseID     string          `json:"responseId"`
	// Error takes the place of all else in the last frame of a failed stream.
	Error jsontext.Value `json:"error" wire:"read"`
	Extra jsontext.Value `json:",embed"`
}

type candidate struct {
	Content        *content       `json:"content"`
	FinishReason   string         `json:"finishReason"`
	FinishMessage  string         `json:"finishMessage"`
	Index          integer        `json:"index" wire:"always"`
	LogprobsResult jsontext.Value `json:"logprobsResult"`
	Extra          jsontext.Value `json:",embed"`
}

type promptFeedback struct {
	BlockReason        string         `json:"blockReason"`
	BlockReasonMessage string         `json:"blockReasonMessage"`
	Extra              jsontext.Value `json:",embed"`
}

// usage counts tokens: candidatesTokenCount without thoughts (case U11),
// promptTokenCount with cached ones and without those of tool results.
type usage struct {
	PromptTokenCount        integer        `json:"promptTokenCount" wire:"always"`
	CandidatesTokenCount    integer        `json:"candidatesTokenCount" wire:"always"`
	TotalTokenCount         integer        `json:"totalTokenCount" wire:"always"`
	CachedContentTokenCount *integer       `json:"cachedContentTokenCount"`
	ThoughtsTokenCount      *integer       `json:"thoughtsTokenCount"`
	ToolUsePromptTokenCount *integer       `json:"toolUsePromptTokenCount"`
	PromptTokensDetails     jsontext.Value `json:"promptTokensDetails"`
	CandidatesTokensDetails jsontext.Value `json:"candidatesTokensDetails"`
	ServiceTier             string         `json:"serviceTier"`
	Extra                   jsontext.Value `json:",embed"`
}

// modalityTokens is the share of one kind of content in a count.
//
//wire:read,write
type modalityTokens struct {
	Modality   string         `json:"modality"`
	TokenCount integer        `json:"tokenCount"`
	Extra      jsontext.Value `json:",embed"`
}
