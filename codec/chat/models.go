package chat

import (
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// modelList is OpenAI's list of models; model is Model of the SDK.
type modelList struct {
	Object string
	Data   []model
}

type model struct {
	ID      string
	Object  string
	Created int64
	OwnedBy string
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

func (l *modelList) write(w *member.Writer) {
	w.Begin()
	w.Str("object", l.Object)
	writeList(w, "data", l.Data, (*model).write)
	w.End()
}

func (m *model) write(w *member.Writer) {
	w.Begin()
	w.Str("id", m.ID)
	w.Str("object", m.Object)
	w.Int("created", m.Created)
	w.Str("owned_by", m.OwnedBy)
	w.End()
}
