package explain

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// wire is a transport that sends nothing: it keeps the body of the last call and answers the call
// itself.
type wire struct {
	spec *protocol.Protocol

	mu     sync.Mutex
	body   []byte
	answer []byte // nil: none
	events bool   // the answer is a stream
}

// expect forgets the body and sets the answer of the next call; nil is a short answer of its own.
func (w *wire) expect(answer []byte) {
	if answer == nil {
		answer = w.plain()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.body, w.answer, w.events = nil, answer, false
}

// expectEvents does so for a streamed call, whose answer is a stream.
func (w *wire) expectEvents(answer []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.body, w.answer, w.events = nil, slices.Concat([]byte{}, answer), true
}

// refuse has the next calls fail once their body is kept.
func (w *wire) refuse() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = nil
}

// kept returns the body of the last call; nil if there was none.
func (w *wire) kept() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.body)
}

// plain is a short answer in the protocol of the upstream.
func (w *wire) plain() []byte {
	var body []byte
	now := timestamppb.Now()
	switch {
	case w.spec.Images:
		body, _ = images.Codec{}.EncodeResponse(&genwayv1.GenerateImageResponse{CreateTime: now}, nil)
	case w.spec.Codec != nil:
		body, _ = w.spec.Codec.EncodeResponse(emptyAnswer(now), codec.Answer{})
	}
	return body
}

func emptyAnswer(now *timestamppb.Timestamp) *genwayv1.GenerateTextResponse {
	return &genwayv1.GenerateTextResponse{Id: "gen_explain", Model: "explain", CreateTime: now, Usage: &genwayv1.Usage{}, Candidates: []*genwayv1.Candidate{{
		Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "."}}}}, StopReason: genwayv1.StopReason_STOP_REASON_END_TURN,
	}}}
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	_ = req.Body.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.body = body
	if w.answer == nil {
		return nil, errKept
	}
	kind := "application/json"
	if w.events {
		kind = "text/event-stream"
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req, ContentLength: int64(len(w.answer)),
		Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(bytes.NewReader(w.answer)),
	}, nil
}

// canonical is an upstream that speaks the contract: it keeps requests as ProtoJSON.
type canonical struct{ wire *wire }

// keep takes a request without its raw body, the field wire.
func (c canonical) keep(req proto.Message) error {
	shown := proto.Clone(req).ProtoReflect()
	shown.Clear(shown.Descriptor().Fields().ByName("wire"))
	body, err := protojson.Marshal(shown.Interface())
	if err != nil {
		return err
	}
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	c.wire.body = body
	return nil
}

func (c canonical) GenerateText(_ context.Context, asked *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	req, err := asked.Whole()
	if err != nil {
		return nil, err
	}
	if err := c.keep(req); err != nil {
		return nil, err
	}
	if c.wire.answer != nil {
		resp := &genwayv1.GenerateTextResponse{}
		return resp, unmarshal(c.wire.answer, resp)
	}
	return emptyAnswer(timestamppb.Now()), nil
}

func (c canonical) StreamGenerateText(_ context.Context, asked *deferred.Request, send upstream.Send) error {
	req, err := asked.Whole()
	if err != nil {
		return err
	}
	if err := c.keep(req); err != nil {
		return err
	}
	if c.wire.answer == nil {
		return errKept
	}
	events, err := eventsOf(c.wire.answer)
	return sendAll(events, err, func(ev *genwayv1.StreamGenerateTextResponse) bool { return ev.GetCompleted() != nil }, send)
}

func (c canonical) GenerateImage(_ context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	if err := c.keep(req); err != nil {
		return nil, err
	}
	resp := &genwayv1.GenerateImageResponse{}
	if c.wire.answer != nil {
		return resp, unmarshal(c.wire.answer, resp)
	}
	return resp, nil
}

func (c canonical) StreamGenerateImage(_ context.Context, req *genwayv1.GenerateImageRequest, send upstream.SendImage) error {
	if err := c.keep(req); err != nil {
		return err
	}
	if c.wire.answer == nil {
		return errKept
	}
	events, err := imageEventsOf(c.wire.answer)
	return sendAll(events, err, func(ev *genwayv1.StreamGenerateImageResponse) bool { return ev.GetCompleted() != nil }, send)
}

func (c canonical) CountTokens(context.Context, *genwayv1.CountTokensRequest) (*genwayv1.CountTokensResponse, error) {
	return nil, errKept
}

func (c canonical) Models() []*genwayv1.Model { return nil }

// unmarshal reads an answer of the contract.
func unmarshal(answer []byte, into proto.Message) error {
	if err := protojson.Unmarshal(answer, into); err != nil {
		return fault.Wrap(err, fault.BadUpstream, fault.ReasonUnsupported, "the answer is no message of the contract")
	}
	return nil
}
