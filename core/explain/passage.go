package explain

import (
	"context"
	"net/http"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// passage carries bodies of a caller to one target and back, without sending anything.
type passage struct {
	caller *protocol.Protocol
	model  string
	stream bool
	wire   *wire
	// routed applies the overrides of the target, plain does not.
	routed, plain *route.Router
}

// message is a decoded body.
type message struct {
	proto  proto.Message
	text   *codec.Request // nil for images
	image  *images.Request
	model  string
	stream bool
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
		req, err := images.Codec{}.DecodeRequest(body)
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
	if p.model != "" {
		req.Model = p.model
	}
	if req.GetModel() == "" {
		return nil, fault.Missing("model")
	}
	req.Wire = own
	return &message{proto: req.GenerateTextRequest, text: req, model: req.GetModel(), stream: req.Stream || p.stream}, nil
}

// aim makes the routers of a target.
func (p *passage) aim(t route.Target) error {
	p.wire = &wire{spec: protocol.Of(t.Protocol)}
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
		if asked.stream && p.wire.kept() != nil {
			if asked, err = p.decode(body); err != nil {
				return result{err: err}
			}
			p.wire.refuse()
			_ = router.StreamGenerateImage(ctx, asked.image.GenerateImageRequest, func(*genwayv1.StreamGenerateImageResponse) error { return errKept })
		}
	} else {
		resp, err := router.GenerateText(ctx, deferred.New(asked.text.GenerateTextRequest))
		r.err, r.answer, r.losses = err, resp, resp.GetLosses()
		if asked.stream && p.wire.kept() != nil {
			if asked, err = p.decode(body); err != nil {
				return result{err: err}
			}
			p.wire.refuse()
			_ = router.StreamGenerateText(ctx, deferred.New(asked.text.GenerateTextRequest), func(*genwayv1.StreamGenerateTextResponse) error { return errKept })
		}
	}
	r.body = p.wire.kept()
	return r
}

// spelled returns losses by the caller's names.
func spelled(s *protocol.Names, losses []*genwayv1.Loss) []*genwayv1.Loss {
	var list []*genwayv1.Loss
	for _, l := range losses {
		list = append(list, &genwayv1.Loss{Member: s.Member(l.GetMember()), Reason: l.GetReason()})
	}
	return list
}
