package chat

import (
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
}

func newModel(m *genwayv1.Model) model {
	return model{ID: m.GetName(), Object: "model", Created: m.GetCreateTime().GetSeconds(), OwnedBy: m.GetOwnedBy()}
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
