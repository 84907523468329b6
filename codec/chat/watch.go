package chat

import (
	"bytes"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// watched is what is read of an answer or a chunk that passes by unchanged.
type watched struct {
	ID          string          `json:"id"`
	Model       string          `json:"model"`
	Choices     []watchedChoice `json:"choices"`
	Usage       *usage          `json:"usage"`
	ServiceTier string          `json:"service_tier"`
	Error       jsontext.Value  `json:"error"`
}

// watchedChoice is a choice as far as its end. A finish_reason of any type but null ends it.
type watchedChoice struct {
	Index        *int32         `json:"index"`
	FinishReason jsontext.Value `json:"finish_reason"`
}

// Watch implements codec.StreamWatcher.
func (s *streamDecoder) Watch(f codec.Frame) (events []*genwayv1.StreamGenerateTextResponse, content bool, err error) {
	data := bytes.TrimSpace(f.Data)
	if s.completed || len(data) == 0 {
		return nil, false, nil
	}
	s.events, s.done = nil, false
	if bytes.Equal(data, doneData) {
		s.started = true // [DONE] ends any answer
		events, err = s.end()
		return events, true, err
	}
	var w watched
	member.Fit(data, &w)
	if f.Event == "error" || given(w.Error) {
		return nil, false, s.fail(decodeError(0, data))
	}
	s.start(&answer{ID: w.ID, Model: w.Model, ServiceTier: w.ServiceTier, Choices: make([]choice, len(w.Choices))})
	s.report(w.Usage, w.ServiceTier)
	for i, c := range w.Choices {
		l := s.choice(&choice{Index: c.Index}, int32(i))
		l.began = true // the caller gets the choice as it is
		l.finished = l.finished || given(c.FinishReason) && string(c.FinishReason) != `""`
	}
	return s.events, len(w.Choices) > 0, nil
}

// WatchResponse implements codec.ResponseWatcher.
func (Codec) WatchResponse(body []byte) (*genwayv1.GenerateTextResponse, bool) {
	var w watched
	member.Fit(body, &w)
	if given(w.Error) {
		return nil, false
	}
	return &genwayv1.GenerateTextResponse{Id: w.ID, Model: w.Model, ServiceTier: w.ServiceTier, Usage: w.Usage.whole(w.ServiceTier)}, true
}
