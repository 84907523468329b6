package chat

import (
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
