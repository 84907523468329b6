// Package deferred has text requests whose bodies are decoded only where that is needed. An
// edge that sends a request to a core which has announced the deferral extension
// (proto/genway/edge/v1) checks the body to be JSON and decodes the settings at its top.
// The conversation and the tools stay in the body: an upstream of the caller's protocol
// receives the body, and any other reader decodes it with Whole.
//
// It is below edge and core, and must not import them.
package deferred

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// Request is a text request of which the conversation and the tools may not be decoded yet. It
// is safe for concurrent use; the messages it returns are shared and must not be changed.
type Request struct {
	head    *genwayv1.GenerateTextRequest
	content *content // nil for a request that is whole
}

// content is what the head of a request leaves out. Requests made by With share it, so that a
// body is decoded at most once.
type content struct {
	raw *genwayv1.WireMessage // the body as it was sent

	decoding sync.Once
	decoded  atomic.Bool // it has begun
	messages []*genwayv1.Message
	tools    []*genwayv1.Tool
	err      error

	counting   sync.Once
	statistics *edgev1.BodyStatistics
}

// New returns the request that a message is. The message comes from a trusted edge, or has no raw
// body.
func New(message *genwayv1.GenerateTextRequest) *Request {
	if !Is(message) {
		return &Request{head: message}
	}
	return &Request{head: message, content: &content{raw: message.GetWire()}}
}

// Is reports whether the conversation of a message is only in its raw body. Edges of versions
// before the extension do not mark that: they send a raw body, no extension and no messages.
func Is(message *genwayv1.GenerateTextRequest) bool {
	wire := message.GetWire()
	if extension := wire.GetExtension(); extension != nil {
		return extension.GetDeferred()
	}
	return len(message.GetMessages()) == 0 && len(wire.GetJson()) > 0
}

// Deferred reports whether the head leaves out the conversation and the tools.
func (r *Request) Deferred() bool { return r.content != nil }

// Head returns the message with all fields but, if the request is deferred, messages and tools.
func (r *Request) Head() *genwayv1.GenerateTextRequest { return r.head }

// With returns the request with another head, which a component has changed. Changes of settings
// are kept by Whole.
func (r *Request) With(head *genwayv1.GenerateTextRequest) *Request {
	return &Request{head: head, content: r.content}
}

// Whole returns the message with its conversation and tools, and decodes the body the first time.
// The error is a *fault.Error that names the member at fault in the caller's protocol.
func (r *Request) Whole() (*genwayv1.GenerateTextRequest, error) {
	if r.content == nil {
		return r.head, nil
	}
	r.content.decoding.Do(r.content.decode)
	if r.content.err != nil {
		return nil, r.content.err
	}
	whole, wire := codec.Shared(r.head), codec.Shared(r.head.GetWire())
	wire.Extension = &edgev1.RequestExtension{AcceptsBatches: wire.GetExtension().GetAcceptsBatches()}
	whole.Messages, whole.Tools, whole.Wire = r.content.messages, r.content.tools, wire
	return whole, nil
}

// Decoded reports whether the conversation and the tools are decoded. What they hold may be parts of the
// body, so that its memory is theirs from then on.
func (r *Request) Decoded() bool { return r.content == nil || r.content.decoded.Load() }

func (c *content) decode() {
	c.decoded.Store(true)
	decoder := protocol.Of(c.raw.GetProtocol()).Codec
	if decoder == nil {
		c.err = fault.Wrap(fmt.Errorf("deferred: no codec for %v", c.raw.GetProtocol()), fault.Internal, "DECODE", "%s", fault.InternalMessage)
		return
	}
	whole, err := decoder.DecodeRequest(c.raw.GetJson())
	if err == nil {
		err = protocol.Of(c.raw.GetProtocol()).CheckVersion(whole.GenerateTextRequest, c.raw.GetHeaders())
	}
	if err != nil {
		c.err = err
		return
	}
	c.messages, c.tools = whole.GetMessages(), whole.GetTools()
}

// Statistics describes the body of a deferred request, as the edge has sent it or as it is
// found here; nil for a request that is whole.
func (r *Request) Statistics() *edgev1.BodyStatistics {
	c := r.content
	if c == nil {
		return nil
	}
	c.counting.Do(func() {
		if c.statistics = c.raw.GetExtension().GetStatistics(); c.statistics != nil {
			return
		}
		c.statistics = &edgev1.BodyStatistics{TextBytes: int64(len(c.raw.GetJson())), Foreign: true}
		if heads, ok := protocol.Of(c.raw.GetProtocol()).Codec.(codec.HeadDecoder); ok {
			c.statistics = heads.BodyStatistics(c.raw.GetJson())
		}
	})
	return c.statistics
}
