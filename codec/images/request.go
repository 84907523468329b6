package images

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// wireRequest is the body of a request to draw.
//
//wire:read,write
type wireRequest struct {
	order
	settings
	Extra jsontext.Value `json:",embed"`
}

// order are the members of both operations that are no settings.
//
//wire:part
type order struct {
	Model         string `json:"model" wire:"always"`
	Prompt        string `json:"prompt" wire:"always"`
	Stream        bool   `json:"stream"`
	PartialImages *int32 `json:"partial_images"`
}

// Request is a decoded request: the canonical message, and whether the caller asked
// for events.
type Request struct {
	*genwayv1.GenerateImageRequest
	Stream bool
	// Fields has the fields of a form as the members of a JSON object; nil for a request in JSON.
	Fields []byte
}

// DecodeRequest reads a request body. It does not set Wire. Errors are
// *fault.Error values that name the member.
func (Codec) DecodeRequest(body []byte) (*Request, error) {
	var w wireRequest
	if err := member.Decode(body, &w); err != nil {
		return nil, err
	}
	return requestOf(&w.order, &w.settings, w.Extra)
}

// requestOf returns the request that the members of a body are.
func requestOf(w *order, s *settings, extra jsontext.Value) (*Request, error) {
	if err := member.Misspelt(extra, "model", "n"); err != nil {
		return nil, err
	}
	switch {
	case w.Model == "":
		return nil, fault.Missing("model")
	case w.Prompt == "":
		return nil, fault.Missing("prompt")
	case w.PartialImages != nil && (*w.PartialImages < 0 || *w.PartialImages > MaxPartialImages):
		return nil, fault.Invalid("partial_images", "partial_images: expected 0 to %d, got %d", MaxPartialImages, *w.PartialImages)
	}
	req := &genwayv1.GenerateImageRequest{
		Model:         w.Model,
		Prompt:        w.Prompt,
		PartialImages: w.PartialImages,
		NativeFields:  member.Natives(protocol, extra, func(name string, value []byte) bool { return setting.Binds(protocol, name, value) }),
	}
	if err := s.decode(req, ""); err != nil {
		return nil, err
	}
	return &Request{GenerateImageRequest: req, Stream: w.Stream}, nil
}

// MaxPartialImages is the largest number of previews that the vendor draws of an image
// (ImageGenerateParams.PartialImages of the SDK).
const MaxPartialImages = 3

// EncodeRequest writes the body of a unary request for an upstream: of one with images a form, or JSON where an image is
// an address. Previews are events of a stream, and named as lost.
func (Codec) EncodeRequest(req *genwayv1.GenerateImageRequest, losses *codec.Losses) ([]byte, error) {
	if req.GetPartialImages() > 0 {
		losses.Add("partial_images", "only a stream has previews")
	}
	return encodeRequest(req, false, losses)
}

// EncodeStreamRequest writes the body of a streamed request.
func (Codec) EncodeStreamRequest(req *genwayv1.GenerateImageRequest, losses *codec.Losses) ([]byte, error) {
	return encodeRequest(req, true, losses)
}

func encodeRequest(req *genwayv1.GenerateImageRequest, stream bool, losses *codec.Losses) ([]byte, error) {
	if err := reserved.Fields(protocol, req.GetNativeFields(), ""); err != nil {
		return nil, err
	}
	others, err := extra(req.GetNativeFields(), "", losses)
	if err != nil {
		return nil, err
	}
	r := wireEdit{order: order{Model: req.GetModel(), Prompt: req.GetPrompt(), Stream: stream}, Extra: others}
	r.encode(req, losses)
	if err := omitSettings(req, losses); err != nil {
		return nil, err
	}
	if stream || req.GetPartialImages() == 0 {
		r.PartialImages = req.PartialImages
	}
	files := len(req.GetImages()) > 0 && filesOnly(req)
	if !files {
		if err := r.refer(req); err != nil {
			return nil, err
		}
	}
	w := member.NewWriter(512 + len(r.Prompt)*9/8 + len(others))
	r.write(w)
	body, err := finish(w)
	if err != nil {
		return nil, err
	}
	if body, err = member.Merge(body, req.GetExtraJson(), "extra_json", reserved); err != nil || !files {
		return body, err
	}
	return formOf(body, req)
}

// reserved are the members of a body that fields of the contract are written to.
var reserved = member.ReservedBy[wireEdit]()
