package main

import (
	"reflect"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicshared "github.com/anthropics/anthropic-sdk-go/shared"
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/generatecontent"
	"github.com/genway/genway/codec/interactions"
	"github.com/genway/genway/codec/messages"
	"github.com/genway/genway/codec/responses"
	"github.com/openai/openai-go/v3"
	openairesponses "github.com/openai/openai-go/v3/responses"
	openaishared "github.com/openai/openai-go/v3/shared"
	"google.golang.org/genai"
	sdkinteractions "google.golang.org/genai/interactions/models/interactions"
)

// protocol is a codec with the types of its vendor's SDK.
type protocol struct {
	codec                         codec.Codec
	request, answer, event, error reflect.Type
}

// names are the protocols in the order of the report.
var names = []string{"chat", "responses", "messages", "generatecontent", relayed}

// relayed is the protocol of which nothing was recorded. What the others are translated into it goes on to all, as from a caller
// and an upstream of it.
const relayed = "interactions"

var protocols = map[string]protocol{
	"chat": {
		chat.Codec{},
		reflect.TypeFor[withStream[openai.ChatCompletionNewParams]](),
		reflect.TypeFor[openai.ChatCompletion](),
		reflect.TypeFor[openai.ChatCompletionChunk](),
		reflect.TypeFor[openAIError](),
	},
	"responses": {
		responses.Codec{},
		reflect.TypeFor[withStream[openairesponses.ResponseNewParams]](),
		reflect.TypeFor[openairesponses.Response](),
		reflect.TypeFor[openairesponses.ResponseStreamEventUnion](),
		reflect.TypeFor[openAIError](),
	},
	"messages": {
		messages.Codec{},
		reflect.TypeFor[withStream[anthropic.MessageNewParams]](),
		reflect.TypeFor[anthropic.Message](),
		reflect.TypeFor[anthropic.MessageStreamEventUnion](),
		reflect.TypeFor[anthropicshared.ErrorResponse](),
	},
	"generatecontent": {
		generatecontent.Codec{},
		reflect.TypeFor[generateContentParams](),
		reflect.TypeFor[genai.GenerateContentResponse](),
		reflect.TypeFor[genai.GenerateContentResponse](),
		reflect.TypeFor[genaiError](),
	},
	relayed: {
		interactions.Codec{},
		reflect.TypeFor[withStream[sdkinteractions.CreateModelInteraction]](),
		reflect.TypeFor[sdkinteractions.Interaction](),
		reflect.TypeFor[sdkinteractions.InteractionSSEEvent](),
		reflect.TypeFor[interactionsError](),
	},
}

// withStream is a request with the member that the SDKs add themselves.
type withStream[T any] struct {
	Body   T    `json:",inline"`
	Stream bool `json:"stream"`
}

// generateContentParams is the body the SDK makes of its arguments
// (generateContentParametersToMldev): the SDK has no type for it.
type generateContentParams struct {
	Contents          []*genai.Content        `json:"contents"          api:"required"`
	SystemInstruction *genai.Content          `json:"systemInstruction"`
	Tools             []*genai.Tool           `json:"tools"`
	ToolConfig        *genai.ToolConfig       `json:"toolConfig"`
	SafetySettings    []*genai.SafetySetting  `json:"safetySettings"`
	CachedContent     string                  `json:"cachedContent"`
	GenerationConfig  *genai.GenerationConfig `json:"generationConfig"`
	ServiceTier       string                  `json:"serviceTier"`
	Labels            map[string]string       `json:"labels"`
}

type openAIError struct {
	Error openaishared.ErrorObject `json:"error" api:"required"`
}

type interactionsError struct {
	Error sdkinteractions.Error `json:"error" api:"required"`
}

type genaiError struct {
	Error struct {
		Code    int              `json:"code"    api:"required"`
		Message string           `json:"message" api:"required"`
		Status  string           `json:"status"  api:"required"`
		Details []map[string]any `json:"details"`
	} `json:"error" api:"required"`
}
