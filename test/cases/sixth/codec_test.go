package sixth_test

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
)

// id is the number of the made-up protocol, which the contract does not have.
const id genwayv1.Protocol = 77

// parrot is the codec of the made-up protocol. A request is {"model","say","stream"}, an
// answer {"said","tokens"}, a failure {"wrong"}. A stream has a frame for each piece of
// the text, and {"tokens"} at its end.
type parrot struct{}

type wire struct {
	Model  string `json:"model,omitzero"`
	Say    string `json:"say,omitzero"`
	Stream bool   `json:"stream,omitzero"`
	Said   string `json:"said,omitzero"`
	Tokens *int64 `json:"tokens,omitzero"`
	Wrong  string `json:"wrong,omitzero"`
}

func (parrot) Protocol() genwayv1.Protocol { return id }

func (parrot) DecodeRequest(body []byte) (*codec.Request, error) {
	var w wire
	if err := member.Decode(body, &w); err != nil {
		return nil, err
	}
	if w.Say == "" {
		return nil, fault.Missing("say")
	}
	message := &genwayv1.Message{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{codec.TextPart(w.Say)}}
	return &codec.Request{GenerateTextRequest: &genwayv1.GenerateTextRequest{Model: w.Model, Messages: []*genwayv1.Message{message}}, Stream: w.Stream}, nil
}

func (parrot) EncodeRequest(req *codec.Request, losses *codec.Losses) ([]byte, error) {
	if req.MaxOutputTokens != nil {
		losses.Add("max_output_tokens", "parrots cannot be stopped")
	}
	messages := req.GetMessages()
	return json.Marshal(wire{Model: req.GetModel(), Say: messages[len(messages)-1].GetParts()[0].GetText().GetText(), Stream: req.Stream})
}

func (parrot) DecodeResponse(body []byte) (*genwayv1.GenerateTextResponse, error) {
	var w wire
	if err := member.DecodeAnswer(body, &w); err != nil {
		return nil, err
	}
	end := &genwayv1.Candidate{Parts: []*genwayv1.Part{codec.TextPart(w.Said)}, StopReason: genwayv1.StopReason_STOP_REASON_END_TURN}
	return &genwayv1.GenerateTextResponse{Candidates: []*genwayv1.Candidate{end}, Usage: &genwayv1.Usage{OutputTokens: *w.Tokens}}, nil
}

func (parrot) EncodeResponse(resp *genwayv1.GenerateTextResponse, _ codec.Answer) ([]byte, error) {
	var text strings.Builder
	for _, part := range resp.GetCandidates()[0].GetParts() {
		text.WriteString(part.GetText().GetText())
	}
	return json.Marshal(wire{Said: text.String(), Tokens: new(resp.GetUsage().GetOutputTokens())})
}

func (parrot) DecodeError(status int, body []byte) *fault.Error {
	var w wire
	_ = json.Unmarshal(body, &w)
	f := fault.New(fault.KindOf(status), "PARROT", "%s", w.Wrong)
	f.Status, f.Wire = status, &genwayv1.WireMessage{Protocol: id, Json: body}
	return f
}

func (parrot) EncodeError(f *fault.Error) (int, []byte) {
	if own := f.Wire; own.GetProtocol() == id {
		return f.HTTPStatus(), own.GetJson()
	}
	body, _ := json.Marshal(wire{Wrong: f.Message})
	return f.HTTPStatus(), body
}

func (parrot) NewStreamEncoder(codec.Answer) codec.StreamEncoder { return &frames{} }
func (parrot) NewStreamDecoder() codec.StreamDecoder             { return &pieces{} }

// frames writes a stream. An end that the upstream has written is not written again.
type frames struct {
	parrot

	passed bool
}

func (f *frames) Encode(ev *genwayv1.StreamGenerateTextResponse) ([]codec.Frame, error) {
	var w wire
	switch p := ev.GetPayload().(type) {
	case *genwayv1.StreamGenerateTextResponse_Wire:
		f.passed = true
		return []codec.Frame{{Data: p.Wire.GetData()}}, nil
	case *genwayv1.StreamGenerateTextResponse_PartDelta:
		w.Said = p.PartDelta.GetText()
	case *genwayv1.StreamGenerateTextResponse_Completed:
		w.Tokens = new(p.Completed.GetUsage().GetOutputTokens())
	}
	if w == (wire{}) || f.passed {
		return nil, nil
	}
	data, err := json.Marshal(w)
	return []codec.Frame{{Data: data}}, err
}

func (f *frames) Fail(err *fault.Error) []codec.Frame {
	_, body := f.EncodeError(err)
	return []codec.Frame{{Data: body}}
}

type pieces struct{ begun, ended bool }

func (p *pieces) Decode(f codec.Frame) (events []*genwayv1.StreamGenerateTextResponse, err error) {
	var w wire
	if err := member.DecodeAnswer(f.Data, &w); err != nil {
		return nil, err
	}
	if !p.begun {
		p.begun = true
		events = append(events, codec.Event(&genwayv1.TextStarted{}), codec.Event(&genwayv1.PartStarted{Part: codec.TextPart("")}))
	}
	switch {
	case w.Wrong != "":
		return nil, fault.New(fault.Overloaded, "PARROT", "%s", w.Wrong)
	case w.Tokens == nil:
		return append(events, codec.Event(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Text{Text: w.Said}})), nil
	}
	p.ended = true
	end := &genwayv1.CandidateEnd{StopReason: genwayv1.StopReason_STOP_REASON_END_TURN}
	return append(events, codec.Event(&genwayv1.PartCompleted{}),
		codec.Event(&genwayv1.TextCompleted{Usage: &genwayv1.Usage{OutputTokens: *w.Tokens}, Candidates: []*genwayv1.CandidateEnd{end}})), nil
}

func (p *pieces) Close() ([]*genwayv1.StreamGenerateTextResponse, error) {
	if !p.ended {
		return nil, fault.New(fault.BadUpstream, fault.ReasonStreamCut, "the parrot fell silent")
	}
	return nil, nil
}
