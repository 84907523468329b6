package images

import (
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// heavyResponse is what carries the weight of an answer.
var heavyResponse = []member.StandIn{{Name: "data", Value: "[]"}}

// DecodeResponseHead reads an answer without its images, of which it gives the number.
// All of it is checked to be JSON. False says that it must be decoded whole.
func (c Codec) DecodeResponseHead(body []byte) (*genwayv1.GenerateImageResponse, bool) {
	var o member.Outline
	if !o.Read(body, nil) {
		return nil, false
	}
	head, ok := o.Head(heavyResponse)
	if !ok {
		return nil, false
	}
	resp, err := c.DecodeResponse(head)
	if err != nil {
		return nil, false
	}
	resp.Images = make([]*genwayv1.GeneratedImage, o.Elements("data"))
	for i := range resp.Images {
		resp.Images[i] = &genwayv1.GeneratedImage{}
	}
	return resp, true
}
