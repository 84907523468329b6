package generatecontent

import (
	"bytes"
	"cmp"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// watched is what is read of an answer or a frame that passes by unchanged.
type watched struct {
	Candidates     []watchedCandidate `json:"candidates"`
	PromptFeedback *struct {
		BlockReason jsontext.Value `json:"blockReason"`
	} `json:"promptFeedback"`
	UsageMetadata *usage         `json:"usageMetadata"`
	ModelVersion  string         `json:"modelVersion"`
	CreateTime    string         `json:"createTime"`
	ResponseID    string         `json:"responseId"`
	Error         jsontext.Value `json:"error"`
}

// watchedCandidate is a candidate as far as its end. A finishReason of any type but null
// ends it.
type watchedCandidate struct {
	Index        integer        `json:"index"`
	FinishReason jsontext.Value `json:"finishReason"`
}

// Watch implements codec.StreamWatcher.
func (d *streamDecoder) Watch(f codec.Frame) (events []*event, content bool, err error) {
	data := bytes.TrimSpace(f.Data)
	if len(data) == 0 {
		return nil, false, nil
	}
	d.over = false
	var w watched
	member.Fit(data, &w)
	if present(w.Error) {
		d.over = true
		return nil, false, Codec{}.DecodeError(0, data)
	}
	if b := w.PromptFeedback; b != nil && present(b.BlockReason) {
		d.feedback = &genwayv1.PromptFeedback{BlockReason: cmp.Or(member.Raw(b.BlockReason).String(), string(b.BlockReason))}
	}
	if u := w.UsageMetadata; u != nil {
		if d.usage == nil {
			d.usage = &usage{}
		}
		d.usage.add(u)
	}
	if !d.started {
		d.started = true
		s := &genwayv1.TextStarted{Id: w.ResponseID, Model: w.ModelVersion}
		s.CreateTime, _ = decodeTime(w.CreateTime)
		events = append(events, codec.Event(s))
	}
	for i := range w.Candidates {
		c := &w.Candidates[i]
		if present(c.FinishReason) && string(c.FinishReason) != `""` {
			d.candidate(int32(c.Index)).reason = cmp.Or(member.Raw(c.FinishReason).String(), string(c.FinishReason))
		} else {
			d.candidate(int32(c.Index))
		}
	}
	return events, len(w.Candidates) > 0, nil
}

// WatchResponse implements codec.ResponseWatcher.
func (Codec) WatchResponse(body []byte) (*genwayv1.GenerateTextResponse, bool) {
	var w watched
	member.Fit(body, &w)
	if present(w.Error) {
		return nil, false
	}
	resp := &genwayv1.GenerateTextResponse{Id: w.ResponseID, Model: w.ModelVersion}
	resp.CreateTime, _ = decodeTime(w.CreateTime)
	if w.UsageMetadata != nil {
		resp.ServiceTier = w.UsageMetadata.ServiceTier
		resp.Usage = w.UsageMetadata.canonical()
	}
	return resp, true
}
