package interactions

import (
	"bytes"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/passthrough"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

var heads = passthrough.Text{
	Look:     member.Look{Sign: sign, Kind: "type", ID: "call_id"},
	Request:  requestHead,
	Response: responseHead,
}

// sign knows seals, and results, which every upstream refuses without an identifier (case T19).
func sign(value []byte) member.Signs {
	switch {
	case string(value) == functionResult:
		return member.Result
	case codec.MaySeal(value):
		return member.Foreign
	}
	return 0
}

// BodyStatistics implements codec.HeadDecoder.
func (Codec) BodyStatistics(body []byte) *edgev1.BodyStatistics {
	return heads.BodyStatistics(body)
}

// DecodeRequestHead implements codec.HeadDecoder.
func (Codec) DecodeRequestHead(body []byte) (*codec.Request, bool) { return heads.DecodeRequest(body) }

// DecodeResponseHead implements codec.HeadDecoder.
func (Codec) DecodeResponseHead(body []byte) (*genwayv1.GenerateTextResponse, bool) {
	return heads.DecodeResponse(body)
}

// requestHead decodes the light members of a request.
func requestHead(index *member.TopIndex) (*codec.Request, bool) {
	var w request
	if _, ok := w.readHead(index); !ok {
		return nil, false
	}
	req, err := w.open()
	if err != nil {
		return nil, false
	}
	return &codec.Request{GenerateTextRequest: req, Stream: w.Stream}, true
}

// responseHead decodes the light members of an answer.
func responseHead(index *member.TopIndex) (*genwayv1.GenerateTextResponse, bool) {
	var w interaction
	if _, ok := w.readHead(index); !ok || present(w.Error) || w.failure() != nil {
		return nil, false
	}
	return w.canonical(), true
}

// watched is what is read of an answer that passes by unchanged.
type watched struct {
	ID          string         `json:"id"`
	Status      string         `json:"status"`
	Model       string         `json:"model"`
	Created     string         `json:"created"`
	Usage       *usage         `json:"usage"`
	ServiceTier string         `json:"service_tier"`
	Errors      []reported     `json:"errors"`
	Error       jsontext.Value `json:"error"`
}

// interaction returns what was read as an answer.
func (w *watched) interaction() *interaction {
	return &interaction{ID: w.ID, Status: w.Status, Model: w.Model, Created: w.Created, Usage: w.Usage, ServiceTier: w.ServiceTier, Errors: w.Errors}
}

// Watch implements codec.StreamWatcher.
func (d *streamDecoder) Watch(f codec.Frame) (_ events, content bool, err error) {
	data := bytes.TrimSpace(f.Data)
	switch {
	case string(data) == sentinel:
		return d.finish(), false, nil
	case d.completed, len(data) == 0:
		return nil, false, nil
	}
	d.done = false
	var e struct {
		EventType   string         `json:"event_type"`
		Interaction *watched       `json:"interaction"`
		Usage       *usage         `json:"usage"`
		Error       jsontext.Value `json:"error"`
	}
	member.Fit(data, &e)
	if e.EventType == "" {
		e.EventType = f.Event
	}
	if e.Interaction == nil {
		e.Interaction = &watched{}
	}
	d.events = nil
	if isError(e.EventType, e.Error) {
		d.done = true
		return nil, false, Codec{}.DecodeError(0, data)
	}
	switch w := e.Interaction.interaction(); e.EventType {
	case "interaction.created":
		d.watchStart(w)
	case "interaction.status_update":
		d.report(e.Usage)
	case "interaction.completed":
		d.watchStart(w)
		d.report(w.Usage)
		w.Usage = d.usage
		if w.Status == failed || w.Status == cancelled {
			d.done = true
			return nil, false, w.failure()
		}
		d.completed = true
		d.end = &genwayv1.TextCompleted{Candidates: []*genwayv1.CandidateEnd{w.end(nil)}, Usage: d.Reported(), ServiceTier: w.ServiceTier}
		return d.events, true, nil
	}
	return d.events, strings.HasPrefix(e.EventType, "step."), nil
}

func (d *streamDecoder) watchStart(w *interaction) {
	if d.started {
		return
	}
	d.started = true
	d.report(w.Usage)
	resp := w.canonical()
	d.emit(&genwayv1.TextStarted{Id: resp.Id, Model: resp.Model, CreateTime: resp.CreateTime, Usage: resp.Usage, ServiceTier: resp.ServiceTier})
}

// WatchResponse implements codec.ResponseWatcher.
func (Codec) WatchResponse(body []byte) (*genwayv1.GenerateTextResponse, bool) {
	var w watched
	member.Fit(body, &w)
	if present(w.Error) || w.Status == failed {
		return nil, false
	}
	return w.interaction().canonical(), true
}
