package gateway_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/gateway"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

const streamedImage = `{"model":"m","prompt":"a","stream":true,"partial_images":1}`

// drawing sends a preview, an image and the end, and calls between before the image.
func drawing(between func(context.Context) error) func(context.Context, func(*genwayv1.StreamGenerateImageResponse) error) error {
	return func(ctx context.Context, send func(*genwayv1.StreamGenerateImageResponse) error) error {
		if err := send(images.Event(&genwayv1.ImageStarted{Losses: []*genwayv1.Loss{{Member: "style", Reason: "x"}}})); err != nil {
			return err
		}
		if err := send(images.Event(&genwayv1.PartialImage{Data: []byte{1}})); err != nil {
			return err
		}
		if err := between(ctx); err != nil {
			return err
		}
		image := &genwayv1.GeneratedImage{Source: &genwayv1.GeneratedImage_Data{Data: []byte{2}}}
		if err := send(images.Event(&genwayv1.FinishedImage{Image: image})); err != nil {
			return err
		}
		return send(images.Event(&genwayv1.ImageCompleted{Count: 1}))
	}
}

// Images that are asked for as events come as the vendor's events, previews first, and
// the losses that are known at the start are in the header.
func TestStreamedImages(t *testing.T) {
	e := serve(t, nil)
	e.core.draw = drawing(func(context.Context) error { return nil })
	r := e.do(t, http.MethodPost, "/v1/images/generations", right("images"), streamedImage)
	events := strings.Split(strings.TrimSpace(r.body), "\n\n")
	if r.status != http.StatusOK || !strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream") || len(events) != 2 ||
		!strings.HasPrefix(events[0], "event: image_generation.partial_image\ndata: {") || !strings.Contains(events[0], `"b64_json":"AQ=="`) ||
		!strings.HasPrefix(events[1], "event: image_generation.completed\ndata: {") || !strings.Contains(events[1], `"b64_json":"Ag=="`) ||
		r.header.Get("X-Genway-Lost") != "style" {
		t.Errorf("%d %v\n%s", r.status, r.header, r.body)
	}
}

// Between previews the caller gets heartbeats.
func TestImageHeartbeats(t *testing.T) {
	e := serve(t, func(c *gateway.Config) { c.Heartbeat = 5 * time.Millisecond })
	alive := make(chan struct{})
	e.core.draw = drawing(func(ctx context.Context) error {
		select { // silent until the caller has seen a heartbeat
		case <-alive:
		case <-ctx.Done():
		}
		return ctx.Err()
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.URL+"/v1/images/generations", strings.NewReader(streamedImage))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = right("images")
	resp, err := e.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	beat, whole := false, false
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if lines.Text() == ": ping" && !beat {
			beat = true
			close(alive)
		}
		whole = whole || lines.Text() == "event: image_generation.completed"
	}
	if !beat || !whole {
		t.Errorf("heartbeat %v, image %v", beat, whole)
	}
}

// A failure before the first event is a plain error; one behind it is an event of the
// protocol, and so is an end without the completed event.
func TestImageStreamFailures(t *testing.T) {
	e := serve(t, nil)
	limited := detailed(fault.New(fault.RateLimited, "X", "slow down"))
	e.core.draw = func(context.Context, func(*genwayv1.StreamGenerateImageResponse) error) error { return limited }
	native(t, "images", e.do(t, http.MethodPost, "/v1/images/generations", right("images"), streamedImage), http.StatusTooManyRequests)
	e.core.draw = func(context.Context, func(*genwayv1.StreamGenerateImageResponse) error) error { return nil }
	native(t, "images", e.do(t, http.MethodPost, "/v1/images/generations", right("images"), streamedImage), http.StatusBadGateway)
	e.core.draw = drawing(func(context.Context) error { return limited })
	r := e.do(t, http.MethodPost, "/v1/images/generations", right("images"), streamedImage)
	if r.status != http.StatusOK || strings.Contains(r.body, "image_generation.completed") || !strings.Contains(r.body, "\n\nevent: error\ndata: {\"error\":{\"message\":\"slow down\"") {
		t.Errorf("%d\n%s", r.status, r.body)
	}
	e.core.draw = func(_ context.Context, send func(*genwayv1.StreamGenerateImageResponse) error) error {
		if err := send(images.Event(&genwayv1.ImageStarted{})); err != nil {
			return err
		}
		return send(images.Event(&genwayv1.PartialImage{Data: []byte{1}}))
	}
	if r := e.do(t, http.MethodPost, "/v1/images/generations", right("images"), streamedImage); !strings.Contains(r.body, "event: error\n") {
		t.Errorf("a cut stream: %s", r.body)
	}
}

// Streams of images that break the contract's order (genway/v1/image_stream.proto) end in an error.
func TestImageStreamsThatBreakTheContract(t *testing.T) {
	e := serve(t, nil)
	image := &genwayv1.FinishedImage{Image: &genwayv1.GeneratedImage{Source: &genwayv1.GeneratedImage_Data{Data: []byte{1}}}}
	for name, events := range map[string][]proto.Message{
		"the end alone":          {&genwayv1.ImageCompleted{Count: 1}},
		"an image ahead of all":  {image, &genwayv1.ImageCompleted{}},
		"two starts":             {&genwayv1.ImageStarted{}, &genwayv1.ImageStarted{}, image, &genwayv1.ImageCompleted{}},
		"no image":               {&genwayv1.ImageStarted{}, &genwayv1.PartialImage{Data: []byte{1}}, &genwayv1.ImageCompleted{}},
		"an image without bytes": {&genwayv1.ImageStarted{}, &genwayv1.FinishedImage{}, &genwayv1.ImageCompleted{}},
		"events of another":      {&genwayv1.WireFrame{Data: []byte("garbage")}, &genwayv1.ImageCompleted{}},
		"an image among passing": {&genwayv1.WireFrame{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, Data: []byte("{}")}, image},
	} {
		t.Run(name, func(t *testing.T) {
			e.core.draw = func(_ context.Context, send func(*genwayv1.StreamGenerateImageResponse) error) error {
				for _, ev := range events {
					if err := send(images.Event(ev)); err != nil {
						return err
					}
				}
				return nil
			}
			if r := e.do(t, http.MethodPost, "/v1/images/generations", right("images"), streamedImage); !strings.Contains(r.body, `"error":{`) || strings.Contains(r.body, "garbage") {
				t.Errorf("%d %s", r.status, r.body)
			}
		})
	}
}
