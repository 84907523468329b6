// Package passthrough reads the heads of bodies that pass through the gateway unchanged: the
// settings of a request and the usage of an answer, without messages, tools and candidates. All
// protocols read heads in the same steps; what is a protocol's own is a Text.
//
// It must not import net/http, grpc or any package of ours but the contract, package codec and
// codec/member.
package passthrough

import (
	"sync"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Text is what a text protocol knows of its heads. It implements the methods of
// codec.HeadDecoder, which describes their results.
type Text struct {
	// Look finds the strings for which a body must be decoded whole.
	Look member.Look
	// Request decodes the members of a request that are not heavy. False says that the body
	// must be decoded whole: it may be wrong.
	Request func(index *member.TopIndex) (*codec.Request, bool)
	// Response decodes the members of an answer that are not heavy. False is as for
	// Request, and for an answer that reports a failure.
	Response func(index *member.TopIndex) (*genwayv1.GenerateTextResponse, bool)
}

// indexes are kept because they are large, and escape into the functions of a Text.
var indexes = sync.Pool{New: func() any { return new(member.TopIndex) }}

// DecodeRequest implements codec.HeadDecoder. A result of a tool without an identifier is
// refused for every upstream (case T19), by the decoder of whole bodies.
func (t *Text) DecodeRequest(body []byte) (*codec.Request, bool) {
	index := indexes.Get().(*member.TopIndex) //nolint:forcetypeassert // the pool has nothing else
	defer release(index)
	if !index.Read(body, &t.Look) || index.Signs&member.Result != 0 {
		return nil, false
	}
	req, ok := t.Request(index)
	if !ok {
		return nil, false
	}
	req.Statistics = index.Wire()
	return req, true
}

// DecodeResponse implements codec.HeadDecoder.
func (t *Text) DecodeResponse(body []byte) (*genwayv1.GenerateTextResponse, bool) {
	return Response(body, t.Response)
}

// BodyStatistics implements codec.HeadDecoder.
func (t *Text) BodyStatistics(body []byte) *edgev1.BodyStatistics {
	return member.StatisticsOf(body, &t.Look)
}

// Response reads the head of an answer of any kind. False says that the body must be decoded
// whole.
func Response[Answer any](body []byte, read func(index *member.TopIndex) (*Answer, bool)) (*Answer, bool) {
	index := indexes.Get().(*member.TopIndex) //nolint:forcetypeassert // the pool has nothing else
	defer release(index)
	if !index.Read(body, nil) {
		return nil, false
	}
	return read(index)
}

func release(index *member.TopIndex) {
	index.Reset()
	indexes.Put(index)
}
