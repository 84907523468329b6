package route_test

import (
	"context"
	"testing"

	"github.com/genway/genway/core/route"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// editor keeps what it is asked.
type editor struct {
	stub
	asked *genwayv1.GenerateImageRequest
}

func (e *editor) GenerateImage(_ context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	e.asked = req
	return &genwayv1.GenerateImageResponse{}, nil
}

// An upstream that speaks the contract gets the images of an edit once, in the message. One of images gets the body as well,
// and no other does.
func TestImagesOfAnEditAreSentOnce(t *testing.T) {
	for protocol, want := range map[genwayv1.Protocol]string{
		genwayv1.Protocol_PROTOCOL_UNSPECIFIED: "", genwayv1.Protocol_PROTOCOL_IMAGES: "--b\r\n", genwayv1.Protocol_PROTOCOL_RESPONSES: "",
	} {
		e := &editor{}
		to := target(&e.stub, protocol)
		to.Upstream = e
		r := route.New([]route.Route{{Model: "*", Targets: []route.Target{to}}})
		req := &genwayv1.GenerateImageRequest{
			Model: "m", Images: []*genwayv1.Media{{Source: &genwayv1.Media_Data{Data: []byte("image")}}},
			Wire: &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, Json: []byte("--b\r\n")},
		}
		if _, err := r.GenerateImage(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		wire := e.asked.GetWire()
		if string(wire.GetJson()) != want || (wire == nil) != (protocol == genwayv1.Protocol_PROTOCOL_RESPONSES) || string(e.asked.GetImages()[0].GetData()) != "image" || len(req.GetWire().GetJson()) == 0 {
			t.Errorf("%v: asked %v", protocol, e.asked)
		}
	}
}
