package explain

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// passage carries bodies of a caller to one target and back, without sending anything.
type passage struct {
	caller *protocol.Protocol
	model  string
	stream bool
	wire   *wire
	// routed applies the overrides of the target, plain does not.
	routed, plain *route.Router
	// lost is what the answer that is explained has lost besides what its request has.
	lost []*genwayv1.Loss
}

// message is a decoded body.
type message struct {
	proto  proto.Message
	text   *codec.Request // nil for images
	image  *images.Request
	model  string
	stream bool
	// background reports that the response is made in the background.
	background bool
}

// json is the message as ProtoJSON, without the caller's own body.
func (m *message) json() string {
	shown := proto.Clone(m.proto)
	switch s := shown.(type) {
	case *genwayv1.GenerateTextRequest:
		s.Wire = nil
	case *genwayv1.GenerateImageRequest:
		s.Wire = nil
	}
	text, _ := protojson.Marshal(shown) // it was decoded from valid texts
	return string(text)
}

// foreign reports whether a body had to be translated although the upstream speaks its protocol.
func (m *message) foreign(r result) bool { return r.body == nil }

// decode reads a caller's body as the edge does.
func (p *passage) decode(body []byte) (*message, error) {
	own := &genwayv1.WireMessage{Protocol: p.caller.ID, Json: body}
	if p.caller.Images {
		req, err := images.Codec{}.DecodeBody(body)
		if err != nil {
			return nil, err
		}
		if p.model != "" {
			req.Model = p.model
		}
		req.Wire = own
		return &message{proto: req.GenerateImageRequest, image: req, model: req.GetModel(), stream: req.Stream}, nil
	}
	req, err := p.caller.Codec.DecodeRequest(body)
	if err != nil {
		return nil, err
	}
	background := false
	if c := p.caller.Stores(); c != nil {
		foreground, err := c.Stored().Foreground(body)
		if err != nil {
			return nil, err
		}
		if background = foreground != nil; background { // the core makes the response, and asks upstreams by the contract
			own = nil
			if req, err = p.caller.Codec.DecodeRequest(foreground); err != nil {
				return nil, err
			}
		}
	}
	if p.model != "" {
		req.Model = p.model
	}
	if req.GetModel() == "" {
		return nil, fault.Missing("model")
	}
	req.Wire = own
	return &message{proto: req.GenerateTextRequest, text: req, model: req.GetModel(), stream: req.Stream || p.stream, background: background}, nil
}

// aim makes the routers of a target.
func (p *passage) aim(t route.Target) error {
	p.wire = &wire{spec: protocol.Of(t.Protocol), draws: p.caller.Images}
	t.Guard, t.Models = nil, nil
	if adapter, ok := t.Upstream.(interface {
		Dry(calls http.RoundTripper) (*remote.Upstream, error)
	}); ok {
		dry, err := adapter.Dry(p.wire)
		if err != nil {
			return err
		}
		t.Upstream = dry
	} else {
		t.Upstream = canonical{p.wire}
	}
	p.routed = route.New([]route.Route{{Model: "*", Targets: []route.Target{t}}})
	t.Overrides = nil
	p.plain = route.New([]route.Route{{Model: "*", Targets: []route.Target{t}}})
	return nil
}

// result has the body that was sent to the target, its losses, and the answer.
type result struct {
	body   []byte
	losses []*genwayv1.Loss
	answer proto.Message
	asked  *message
	err    error
}

func (p *passage) run(ctx context.Context, body, answer []byte) result {
	return p.through(ctx, p.routed, body, answer)
}

// plainly is run without the overrides of the target.
func (p *passage) plainly(ctx context.Context, body []byte) result {
	return p.through(ctx, p.plain, body, nil)
}

// through routes a body to the wire, which answers it. The losses are those of a unary call, which
// reports them with its answer; the body of a streamed request is that of a streamed call.
func (p *passage) through(ctx context.Context, router *route.Router, body, answer []byte) (r result) {
	asked, err := p.decode(body)
	if err != nil {
		return result{err: err}
	}
	r.asked = asked
	ctx = call.With(ctx, &call.Record{}) // not the record of the call that asks for the explanation
	p.wire.expect(answer)
	if asked.image != nil {
		resp, err := router.GenerateImage(ctx, asked.image.GenerateImageRequest)
		r.err, r.answer, r.losses = err, resp, resp.GetLosses()
	} else {
		resp, err := router.GenerateText(ctx, deferred.New(asked.text.GenerateTextRequest))
		r.err, r.answer, r.losses = err, resp, resp.GetLosses()
	}
	if asked.stream && p.wire.kept() != nil {
		if asked, err = p.decode(body); err != nil {
			return result{err: err}
		}
		p.wire.refuse()
		if asked.image != nil {
			_ = router.StreamGenerateImage(ctx, asked.image.GenerateImageRequest, func(*genwayv1.StreamGenerateImageResponse) error { return errKept })
		} else {
			_ = router.StreamGenerateText(ctx, deferred.New(asked.text.GenerateTextRequest), func(*genwayv1.StreamGenerateTextResponse) error { return errKept })
		}
	}
	r.body = p.wire.kept()
	return r
}

// wire is a transport that sends nothing: it keeps the body of the last call and answers the call
// itself.
type wire struct {
	spec *protocol.Protocol
	// draws means that an image is asked for.
	draws bool

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
		answer := emptyAnswer(now)
		if w.draws {
			answer.Candidates[0].Parts[0] = &genwayv1.Part{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{MimeType: "image/png", Source: &genwayv1.Media_Data{Data: []byte("\x89PNG\r\n\x1a\n")}}}}
		}
		body, _ = w.spec.Codec.EncodeResponse(answer, codec.Answer{})
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

// answer keeps a request and reads the answer that is expected; without one, resp stays.
func (c canonical) answer(req, resp proto.Message) error {
	if err := c.keep(req); err != nil || c.wire.answer == nil {
		return err
	}
	return unmarshal(c.wire.answer, resp)
}

func (c canonical) GenerateText(_ context.Context, asked *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	req, err := asked.Whole()
	if err != nil {
		return nil, err
	}
	resp := emptyAnswer(timestamppb.Now())
	return resp, c.answer(req, resp)
}

func (c canonical) StreamGenerateText(_ context.Context, asked *deferred.Request, send upstream.Send) error {
	req, err := asked.Whole()
	if err != nil {
		return err
	}
	return streamed(c, req, send)
}

func (c canonical) GenerateImage(_ context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	resp := &genwayv1.GenerateImageResponse{}
	return resp, c.answer(req, resp)
}

func (c canonical) StreamGenerateImage(_ context.Context, req *genwayv1.GenerateImageRequest, send upstream.SendImage) error {
	return streamed(c, req, send)
}

// streamed keeps a request and sends the events of the stream that is expected. One whose last event does not complete it
// was cut.
func streamed[E proto.Message](c canonical, req proto.Message, send func(E) error) error {
	if err := c.keep(req); err != nil || c.wire.answer == nil {
		return cmp.Or(err, errKept)
	}
	events, err := linesOf[E](c.wire.answer)
	for _, ev := range events {
		if err := send(ev); err != nil {
			return err
		}
	}
	if err == nil && (len(events) == 0 || payload(events[len(events)-1]) != "completed") {
		err = fault.StreamCut()
	}
	return err
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
