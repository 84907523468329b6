package remote

import (
	"context"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// GenerateImage makes one call for all images, or one for each where the upstream draws in answers of text.
func (u *Upstream) GenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	if drawer, ok := u.codec.(codec.Drawer); ok {
		return u.drawImages(ctx, drawer, req)
	}
	body, losses, err := u.imageBody(ctx, req, images.Codec{}.EncodeRequest)
	if err != nil {
		return nil, err
	}
	raw, _, err := u.unary(ctx, imageOperation(req), req.GetModel(), body, req.GetWire())
	if err != nil {
		return nil, err
	}
	if u.speaks(req.GetWire()) {
		// The caller gets the images in the raw body; the canonical message has none.
		resp, ok := images.Codec{}.DecodeResponseHead(raw)
		if !ok {
			if resp, err = readImages(raw); err != nil {
				declined(call.Of(ctx), raw, err)
				return nil, err
			}
		}
		resp.Losses = losses
		resp.Wire = &genwayv1.WireMessage{Protocol: u.config.Protocol, Json: raw}
		return resp, nil
	}
	resp, err := images.Codec{}.DecodeResponse(raw)
	if err != nil {
		declined(call.Of(ctx), raw, err)
		return nil, err
	}
	resp.Losses = losses
	return resp, nil
}

// imageOperation is what an upstream is called for by a request for images.
func imageOperation(req *genwayv1.GenerateImageRequest) protocol.Operation {
	if len(req.GetImages()) > 0 {
		return protocol.Edit
	}
	return protocol.Draw
}

// imageBody returns the body of a call for images: the caller's own, with the model patched,
// or the canonical encoding. A form passes as it is, or is made anew for another model.
func (u *Upstream) imageBody(ctx context.Context, req *genwayv1.GenerateImageRequest, encode func(*genwayv1.GenerateImageRequest, *codec.Losses) ([]byte, error)) ([]byte, []*genwayv1.Loss, error) {
	if !u.protocol.Images {
		return nil, nil, fault.New(fault.InvalidRequest, fault.ReasonUnsupported, "the upstream of this model does not draw images")
	}
	own := req.GetWire().GetJson()
	switch form := images.FormType(own) != ""; {
	case !u.speaks(req.GetWire()), len(own) == 0:
	case !form:
		body, err := u.patchModel(own, req.GetModel())
		return body, nil, err
	case images.FormModel(own) == req.GetModel():
		return own, nil, nil
	}
	var losses codec.Losses
	body, err := encode(req, &losses)
	if err == nil {
		err = upstream.Lossless(ctx, losses.List())
	}
	return body, losses.List(), err
}

// readImages reads an answer with images for a caller of the upstream's protocol, which gets the
// images in the raw body. Of an answer that cannot be read as a whole it reads what it can.
func readImages(raw []byte) (*genwayv1.GenerateImageResponse, error) {
	resp, err := images.Codec{}.DecodeResponse(raw)
	if unreadable(err) && isJSON(raw) {
		if fitting, ok := (images.Codec{}).WatchResponse(raw); ok {
			return fitting, nil
		}
	}
	for _, image := range resp.GetImages() {
		image.Source = nil
	}
	return resp, err
}
