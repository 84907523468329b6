package messages

import (
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// EncodeModels writes a page of models (pagination.Page of ModelInfo).
func (Codec) EncodeModels(list *genwayv1.ListModelsResponse) ([]byte, error) {
	var w writer
	models := list.GetModels()
	w.begin()
	w.list("data")
	for _, m := range models {
		w.model(m)
	}
	w.endList()
	w.bool("has_more", list.GetNextPageToken() != "")
	if len(models) == 0 {
		w.null("first_id")
		w.null("last_id")
	} else {
		w.str("first_id", models[0].GetName())
		w.str("last_id", models[len(models)-1].GetName())
	}
	w.end()
	return w.buf, w.err
}

// EncodeModel writes one ModelInfo.
func (Codec) EncodeModel(model *genwayv1.Model) ([]byte, error) {
	var w writer
	w.model(model)
	return w.buf, w.err
}

// model writes what is known of a model. A model of unknown date is of the epoch,
// as the vendor does it.
func (w *writer) model(m *genwayv1.Model) {
	w.begin()
	w.str("type", "model")
	w.str("id", m.GetName())
	name := m.GetDisplayName()
	if name == "" {
		name = m.GetName()
	}
	w.str("display_name", name)
	w.str("created_at", m.GetCreateTime().AsTime().Format(time.RFC3339))
	w.limit("max_input_tokens", m.InputTokenLimit)
	w.limit("max_tokens", m.OutputTokenLimit)
	w.end()
}

func (w *writer) limit(name string, tokens *int64) {
	if tokens == nil {
		w.null(name)
		return
	}
	w.int(name, *tokens)
}
