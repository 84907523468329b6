package chat

import (
	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// extraContent is the member in which Google's OpenAI-compatible endpoint keeps
// thought signatures: of a tool call in the call, of a text in the message (R1).
//
//wire:read,write
type extraContent struct {
	Google *googleContent `json:"google"`
	Extra  jsontext.Value `json:",embed"`
}

type googleContent struct {
	ThoughtSignature string         `json:"thought_signature"`
	Extra            jsontext.Value `json:",embed"`
}

// decodeExtraContent takes the signature out of an extra_content member. What
// else is in it stays, as a native field of that name.
func decodeExtraContent(raw jsontext.Value) (*genwayv1.Seal, []*genwayv1.NativeField) {
	if !given(raw) {
		return nil, nil
	}
	var c extraContent
	if err := json.Unmarshal(raw, &c); err != nil || c.Google == nil || c.Google.ThoughtSignature == "" {
		return nil, []*genwayv1.NativeField{native("extra_content", raw)}
	}
	seal := codec.ParseSeal(c.Google.ThoughtSignature, protocol)
	c.Google.ThoughtSignature = ""
	if len(c.Google.Extra) == 0 {
		c.Google = nil
		if len(c.Extra) == 0 {
			return seal, nil
		}
	}
	rest := spelled(&c)
	if rest == nil {
		return seal, nil
	}
	return seal, []*genwayv1.NativeField{native("extra_content", rest)}
}

// encodeExtraContent is the inverse.
func encodeExtraContent(signature string, fields []*genwayv1.NativeField) jsontext.Value {
	var rest jsontext.Value
	for _, f := range fields {
		if f.Protocol == protocol && f.Name == "extra_content" {
			rest = f.Json
		}
	}
	if signature == "" {
		return rest
	}
	var c extraContent
	if len(rest) > 0 {
		if err := json.Unmarshal(rest, &c); err != nil {
			return rest
		}
	}
	if c.Google == nil {
		c.Google = &googleContent{}
	}
	c.Google.ThoughtSignature = signature
	if value := spelled(&c); value != nil {
		return value
	}
	return rest
}
