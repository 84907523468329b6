package messages

import (
	"bytes"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// watchedMessage is what is read of a message that passes by unchanged.
type watchedMessage struct {
	Type  string         `json:"type"`
	ID    string         `json:"id"`
	Model string         `json:"model"`
	Usage *wireUsage     `json:"usage"`
	Error jsontext.Value `json:"error"`
}

// watchedEvent is what is read of such an event.
type watchedEvent struct {
	Type    string          `json:"type"`
	Message *watchedMessage `json:"message"`
	Delta   *struct {
		StopReason jsontext.Value `json:"stop_reason"`
	} `json:"delta"`
	Usage *wireUsage `json:"usage"`
}

// Watch implements codec.StreamWatcher.
func (d *streamDecoder) Watch(f codec.Frame) (_ events, content bool, err error) {
	data := bytes.TrimSpace(f.Data)
	if d.completed || len(data) == 0 || string(data) == "[DONE]" {
		return nil, false, nil
	}
	d.done, d.watching = false, true
	var e watchedEvent
	member.Fit(data, &e)
	if e.Type == "" {
		e.Type = f.Event
	}
	var out events
	switch e.Type {
	case "error":
		d.done = true
		return nil, false, Codec{}.DecodeError(0, data)
	case "message_start":
		if m := e.Message; m != nil {
			d.report(m.Usage)
			out = d.watchStart(m)
		}
	case "message_delta":
		d.report(e.Usage)
		d.stopped = d.stopped || e.Delta != nil && len(e.Delta.StopReason) > 0
	case "message_stop":
		out = d.watchStart(&watchedMessage{})
		return append(out, d.ended()), true, nil
	}
	return out, strings.HasPrefix(e.Type, "content_block"), nil
}

func (d *streamDecoder) watchStart(m *watchedMessage) events {
	if d.started {
		return nil
	}
	d.started, d.model = true, m.Model
	return events{codec.Event(&genwayv1.TextStarted{Id: m.ID, Model: m.Model, Usage: d.Reported(), ServiceTier: d.usage.ServiceTier})}
}

// WatchResponse implements codec.ResponseWatcher.
func (Codec) WatchResponse(body []byte) (*genwayv1.GenerateTextResponse, bool) {
	var w watchedMessage
	member.Fit(body, &w)
	if w.Type == "error" || w.Error.Kind() == '{' || w.Type == "" && len(w.Error) > 0 && w.Error.Kind() != 'n' {
		return nil, false
	}
	resp := &genwayv1.GenerateTextResponse{Id: w.ID, Model: w.Model, Usage: w.Usage.canonical(w.Model)}
	if w.Usage != nil {
		resp.ServiceTier = w.Usage.ServiceTier
	}
	return resp, true
}
