package responses

import (
	"bytes"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// watchedResponse is what is read of a response that passes by unchanged.
type watchedResponse struct {
	ID          string         `json:"id"`
	CreatedAt   float64        `json:"created_at"`
	Model       string         `json:"model"`
	Status      string         `json:"status"`
	Error       jsontext.Value `json:"error"`
	Usage       *wireUsage     `json:"usage"`
	ServiceTier string         `json:"service_tier"`
}

// wire is the response as the decoder has it, without its output.
func (w *watchedResponse) wire() *wireResponse {
	return &wireResponse{ID: w.ID, CreatedAt: w.CreatedAt, Model: w.Model, Status: w.Status, Error: w.Error, Usage: w.Usage, ServiceTier: w.ServiceTier}
}

// watchedEvent is what is read of such an event.
type watchedEvent struct {
	Type     string          `json:"type"`
	Response watchedResponse `json:"response"`
	Error    jsontext.Value  `json:"error"`
}

// Watch implements codec.StreamWatcher.
func (d *streamDecoder) Watch(f codec.Frame) (events []*genwayv1.StreamGenerateTextResponse, content bool, err error) {
	data := bytes.TrimSpace(f.Data)
	if d.completed || len(data) == 0 || string(data) == "[DONE]" {
		return nil, false, nil
	}
	d.events, d.done = nil, false
	var ev watchedEvent
	member.Fit(data, &ev)
	if ev.Type == "" {
		ev.Type = f.Event
	}
	w := ev.Response.wire()
	switch ev.Type {
	case eventCreated, eventQueued, eventInProgress:
		d.start(w)
		return d.events, false, nil
	case eventCompleted, eventIncomplete:
		if w.failed() {
			d.done = true
			return nil, false, failure(w.Error, data)
		}
		d.start(w)
		d.end(w, ev.Type, member.Value(data, "response"))
		return d.events, true, nil
	case eventFailed, eventError:
		d.done = true
		switch {
		case ev.Type == eventFailed:
			return nil, false, failure(w.Error, data)
		case ev.Error.Kind() == '{':
			return nil, false, failure(ev.Error, data)
		}
		return nil, false, failure(data, data)
	}
	return nil, strings.HasPrefix(ev.Type, "response."), nil
}

// WatchResponse implements codec.ResponseWatcher. A response that says of itself that it failed
// is an answer, which the protocol's clients read.
func (Codec) WatchResponse(body []byte) (*genwayv1.GenerateTextResponse, bool) {
	var w watchedResponse
	member.Fit(body, &w)
	if w.wire().refused() {
		return nil, false
	}
	return w.wire().head(body), true
}
