package messages

import (
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// EncodeModels writes a page of models (pagination.Page of ModelInfo).
func (Codec) EncodeModels(list *genwayv1.ListModelsResponse) ([]byte, error) {
	models := list.GetModels()
	w := answerWriter(256 * (len(models) + 1))
	w.Begin()
	w.List("data")
	for _, m := range models {
		w.model(m)
	}
	w.EndList()
	w.Bool("has_more", list.GetNextPageToken() != "")
	if len(models) == 0 {
		w.Null("first_id")
		w.Null("last_id")
	} else {
		w.Str("first_id", models[0].GetName())
		w.Str("last_id", models[len(models)-1].GetName())
	}
	w.End()
	return w.Finish()
}

// EncodeModel writes one ModelInfo.
func (Codec) EncodeModel(model *genwayv1.Model) ([]byte, error) {
	w := answerWriter(256)
	w.model(model)
	return w.Finish()
}

// model writes what is known of a model. A model of unknown date is of the epoch,
// as the vendor does it.
func (w *writer) model(m *genwayv1.Model) {
	w.Begin()
	w.Str("type", "model")
	w.Str("id", m.GetName())
	name := m.GetDisplayName()
	if name == "" {
		name = m.GetName()
	}
	w.Str("display_name", name)
	w.Str("created_at", m.GetCreateTime().AsTime().Format(time.RFC3339))
	input := m.InputTokenLimit
	if input == nil {
		input = m.ContextTokenLimit // which is what the vendor states
	}
	w.limit("max_input_tokens", input)
	w.limit("max_tokens", m.OutputTokenLimit)
	w.End()
}

func (w *writer) limit(name string, tokens *int64) {
	if tokens == nil {
		w.Null(name)
		return
	}
	w.Int(name, *tokens)
}
