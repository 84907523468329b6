package chat

import (
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// modelList is OpenAI's list of models; model is Model of the SDK.
type modelList struct {
	Object string  `json:"object"`
	Data   []model `json:"data"`
}

type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
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
	return marshal(out)
}

// EncodeModel implements codec.ModelLister.
func (Codec) EncodeModel(m *genwayv1.Model) ([]byte, error) { return marshal(newModel(m)) }
