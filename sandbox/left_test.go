package sandbox

import (
	"context"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/sandbox/drawing"
)

// TestEncodingEndsWithItsCaller has a caller leave while a drawing is made into a file.
func TestEncodingEndsWithItsCaller(t *testing.T) {
	for _, format := range []drawing.Format{drawing.PNG, drawing.JPEG, drawing.WebP} {
		c := &commission{format: format, compression: 100, spec: drawing.Spec{Prompt: "a", Width: 64, Height: 64, Quality: "low"}}
		img := c.draw(0)
		ctx, leave := context.WithCancel(t.Context())
		if data, err := c.encode(ctx, img); err != nil || len(data) == 0 {
			t.Errorf("%s: %d bytes, %v", format, len(data), err)
		}
		leave()
		if data, err := c.encode(ctx, img); fault.From(err) == nil || fault.From(err).Kind != fault.Cancelled {
			t.Errorf("%s, after the caller left: %d bytes, %v", format, len(data), err)
		}
	}
}
