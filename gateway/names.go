package gateway

import (
	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/spell"
)

// spells gives the names that the caller's protocol has for members of the contract.
func (x *exchange) spells() *spell.Speller {
	if x.speller == nil {
		x.speller = spell.New(x.endpoint.protocol.Members, x.body, x.conversation())
	}
	return x.speller
}

// conversation is how bodies like the request's are decoded; nil for those without a
// conversation.
func (x *exchange) conversation() func([]byte) (*genwayv1.GenerateTextRequest, error) {
	text := x.endpoint.marshaler.text
	switch x.message.(type) {
	case *genwayv1.GenerateTextRequest:
		return func(body []byte) (*genwayv1.GenerateTextRequest, error) {
			req, err := text.DecodeRequest(body)
			if err != nil {
				return nil, err
			}
			return req.GenerateTextRequest, nil
		}
	case *genwayv1.CountTokensRequest:
		if counter, ok := text.(codec.TokenCounter); ok {
			return func(body []byte) (*genwayv1.GenerateTextRequest, error) {
				req, err := counter.DecodeCountRequest(body)
				return req.GetRequest(), err
			}
		}
	}
	return nil
}
