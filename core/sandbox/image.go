package sandbox

import (
	"context"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const sketchQuality = "low"

func sketch(string, uint64) (*genwayv1.Part, error) {
	return nil, fault.Unsupported("modalities", "the sandbox gives no images beside text")
}

// GenerateImage refuses until the drawing package is there.
func (s *Sandbox) GenerateImage(_ context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	if _, err := s.find(req.GetModel(), true); err != nil {
		return nil, err
	}
	return nil, fault.New(fault.Unavailable, reasonDemanded, "the sandbox does not draw yet")
}
