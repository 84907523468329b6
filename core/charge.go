package core

import (
	"cmp"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/price"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Pricer finds what a model costs, as *price.Book does: the first of its names that has
// a price at the upstream and the time.
type Pricer interface {
	FindFirst(upstream string, models []string, at time.Time) (price.Price, bool)
}

// charge gives a result what it costs, by the price that was valid when the request came
// in. The model is looked for by the name the upstream answered with, then by the one it
// was asked for, then by the caller's: the first says which of several it was that
// worked.
func (s *Service) charge(a *admission, r *ledger.Result) {
	if p, ok := s.price(a, r.Model); ok {
		r.Cost, r.Price = p.Cost(r.Usage), p.ID
	}
}

// price finds the price of a call that a model has answered.
func (s *Service) price(a *admission, answered string) (price.Price, bool) {
	r := a.record
	if s.config.Prices == nil || r.Upstream == "" {
		return price.Price{}, false
	}
	p, ok := s.config.Prices.FindFirst(r.Upstream, []string{answered, r.TargetModel, r.AskedModel}, r.Start)
	return p.ForImage(a.drawn.size, a.drawn.quality), ok
}

// drawn is what an image request gave, and what its images cost by.
type drawn struct {
	images        int
	size, quality string
}

// drawnBy gives the figures of an answer; what it does not say is as it was asked for.
func drawnBy(req *genwayv1.GenerateImageRequest, resp *genwayv1.GenerateImageResponse) drawn {
	size := resp.GetSize()
	if size == "" && len(resp.GetImages()) > 0 {
		size = resp.GetImages()[0].GetSize()
	}
	return drawnOf(req, len(resp.GetImages()), size, resp.GetQuality())
}

// drawnOf gives the figures of images of that size and quality, which may be empty.
func drawnOf(req *genwayv1.GenerateImageRequest, images int, size, quality string) drawn {
	return drawn{images: images, size: cmp.Or(size, req.GetSize()), quality: cmp.Or(quality, req.GetQuality())}
}
