package chat

import (
	"fmt"
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/openai"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// modelList is OpenAI's list of models; model is Model of the SDK.
//
//wire:write
type modelList struct {
	Object string  `json:"object" wire:"always"`
	Data   []model `json:"data" wire:"always"`
}

type model struct {
	ID      string `json:"id" wire:"always"`
	Object  string `json:"object" wire:"always"`
	Created int64  `json:"created" wire:"always"`
	OwnedBy string `json:"owned_by" wire:"always"`

	// The vendor's object ends here. The members below have OpenRouter's names, which most clients read that
	// show more than a model's name; LiteLLM states none in this list. What is not known is absent.

	ContextLength *int64        `json:"context_length"`
	Architecture  *architecture `json:"architecture"`
	TopProvider   *topProvider  `json:"top_provider"`
	Pricing       *pricing      `json:"pricing"`
}

type architecture struct {
	InputModalities  []string `json:"input_modalities"`
	OutputModalities []string `json:"output_modalities"`
}

type topProvider struct {
	MaxCompletionTokens *int64 `json:"max_completion_tokens"`
}

// pricing is in dollars a token, as decimal numbers.
type pricing struct {
	Prompt          string `json:"prompt"`
	Completion      string `json:"completion"`
	InputCacheRead  string `json:"input_cache_read"`
	InputCacheWrite string `json:"input_cache_write"`
}

func newModel(m *genwayv1.Model) model {
	out := model{
		ID: m.GetName(), Object: "model", Created: m.GetCreateTime().GetSeconds(), OwnedBy: m.GetOwnedBy(),
		ContextLength: m.ContextTokenLimit,
	}
	if out.ContextLength == nil {
		out.ContextLength = m.InputTokenLimit
	}
	if len(m.GetInputs())+len(m.GetOutputs()) > 0 {
		out.Architecture = &architecture{InputModalities: modalities(m.GetInputs()), OutputModalities: modalities(m.GetOutputs())}
	}
	if m.OutputTokenLimit != nil {
		out.TopProvider = &topProvider{MaxCompletionTokens: m.OutputTokenLimit}
	}
	if p := m.GetPrice(); p != nil {
		out.Pricing = &pricing{
			Prompt: perToken(p.GetInputNanoDollars()), Completion: perToken(p.GetOutputNanoDollars()),
			InputCacheRead: perToken(p.GetCacheReadNanoDollars()), InputCacheWrite: perToken(p.GetCacheWriteNanoDollars()),
		}
	}
	return out
}

// modalityWords are OpenRouter's.
var modalityWords = map[genwayv1.Modality]string{
	genwayv1.Modality_MODALITY_TEXT: "text", genwayv1.Modality_MODALITY_IMAGE: "image", genwayv1.Modality_MODALITY_AUDIO: "audio",
	genwayv1.Modality_MODALITY_VIDEO: "video", genwayv1.Modality_MODALITY_DOCUMENT: "file",
}

func modalities(list []genwayv1.Modality) []string {
	var words []string
	for _, m := range list {
		if word := modalityWords[m]; word != "" {
			words = append(words, word)
		}
	}
	return words
}

// perToken writes nano-dollars for a million tokens as dollars for a token, exactly: 0.000003.
func perToken(nanos int64) string {
	const places = 15 // nano and a million
	whole := fmt.Sprintf("%0*d", places+1, max(nanos, 0))
	text := whole[:len(whole)-places] + "." + whole[len(whole)-places:]
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// EncodeModels implements codec.ModelLister. The vendor's list has no pages.
func (Codec) EncodeModels(list *genwayv1.ListModelsResponse) ([]byte, error) {
	out := modelList{Object: "list", Data: make([]model, len(list.GetModels()))}
	for i, m := range list.GetModels() {
		out.Data[i] = newModel(m)
	}
	return spelled(&out), nil
}

// EncodeModel implements codec.ModelLister.
func (Codec) EncodeModel(m *genwayv1.Model) ([]byte, error) {
	one := newModel(m)
	return spelled(&one), nil
}

// EncodeError implements codec.Codec.
func (Codec) EncodeError(err *fault.Error) (int, []byte) {
	return err.HTTPStatus(), encodeError(err)
}

func encodeError(err *fault.Error) []byte {
	if err.Wire.GetProtocol() == protocol && len(err.Wire.GetJson()) > 0 {
		return err.Wire.Json
	}
	return openai.Encode(err)
}

// DecodeError implements codec.Codec. What is not JSON keeps only its status.
func (Codec) DecodeError(status int, body []byte) *fault.Error { return decodeError(status, body) }

// decodeError reads an error; a status of 0 means one within an answer or a
// stream.
func decodeError(status int, body []byte) *fault.Error {
	return openai.Decode(status, body, protocol)
}

// Repeats implements codec.Repeater: an answer calls a tool in the way it was offered.
func (Codec) Repeats(body []byte) bool { return member.Mentions(body, functionsName) }
