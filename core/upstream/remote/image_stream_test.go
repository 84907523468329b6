package remote_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const (
	preview  = "event: image_generation.partial_image\ndata: {\"type\":\"image_generation.partial_image\",\"b64_json\":\"AQ==\",\"partial_image_index\":0,\"new\":1}\n\n"
	finished = "event: image_generation.completed\ndata: {\"type\":\"image_generation.completed\",\"b64_json\":\"Ag==\",\"size\":\"8x8\",\"quality\":\"low\",\"usage\":{\"input_tokens\":3,\"output_tokens\":4,\"total_tokens\":7}}\n\n"
)

// drawn is what a caller got of a stream of images.
type drawn struct {
	frames    string // as they came, for a caller of the protocol
	started   *genwayv1.ImageStarted
	previews  int
	images    int
	completed *genwayv1.ImageCompleted
}

// draw streams images of an upstream that answers with answer.
func draw(t *testing.T, mediaType, answer string, req *genwayv1.GenerateImageRequest) (drawn, string, error) {
	t.Helper()
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = string(body)
		w.Header().Set("Content-Type", mediaType)
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	transport := remote.NewTransport(remote.Way{})
	defer transport.CloseIdleConnections()
	u, err := remote.New(remote.Config{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, BaseURL: server.URL, HTTP: transport, Grace: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var got drawn
	err = u.StreamGenerateImage(t.Context(), req, func(ev *genwayv1.StreamGenerateImageResponse) error {
		switch p := ev.GetPayload().(type) {
		case *genwayv1.StreamGenerateImageResponse_Started:
			got.started = p.Started
		case *genwayv1.StreamGenerateImageResponse_PartialImage:
			got.previews++
		case *genwayv1.StreamGenerateImageResponse_Image:
			got.images++
		case *genwayv1.StreamGenerateImageResponse_Completed:
			got.completed = p.Completed
		case *genwayv1.StreamGenerateImageResponse_Wire:
			got.frames += "event: " + p.Wire.GetEvent() + "\ndata: " + string(p.Wire.GetData()) + "\n\n"
		}
		return nil
	})
	return got, asked, err
}

func nativeImage() *genwayv1.GenerateImageRequest {
	return &genwayv1.GenerateImageRequest{Model: "m", Prompt: "p", Wire: &genwayv1.WireMessage{
		Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, Json: []byte(`{"model":"other","prompt":"p","stream":true,"partial_images":1,"new":{"a":1}}`)}}
}

// A caller of the protocol gets the upstream's own events, and the upstream the caller's
// own body; the core gets the figures.
func TestImageEventsPass(t *testing.T) {
	got, asked, err := draw(t, "text/event-stream", preview+finished, nativeImage())
	if err != nil || got.frames != preview+finished || got.previews+got.images != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if c := got.completed; c.GetCount() != 1 || c.GetSize() != "8x8" || c.GetQuality() != "low" || c.GetUsage().GetTotalTokens() != 7 {
		t.Errorf("%v", c)
	}
	if asked != `{"model":"m","prompt":"p","stream":true,"partial_images":1,"new":{"a":1}}` {
		t.Errorf("asked %s", asked)
	}
}

// A direct caller gets canonical events of the same.
func TestImageEventsAreTranslated(t *testing.T) {
	req := &genwayv1.GenerateImageRequest{Model: "m", Prompt: "p", PartialImages: new(int32(1))}
	got, asked, err := draw(t, "text/event-stream; charset=utf-8", preview+finished, req)
	if err != nil || got.started == nil || got.previews != 1 || got.images != 1 || got.completed.GetUsage().GetTotalTokens() != 7 || got.frames != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if asked != `{"model":"m","prompt":"p","stream":true,"partial_images":1}` {
		t.Errorf("asked %s", asked)
	}
}

// An upstream that has no streams answers with all images at once: they are events too.
func TestImagesAtOnceAreEvents(t *testing.T) {
	const answer = `{"created":7,"data":[{"b64_json":"AQ=="},{"b64_json":"Ag=="}],"size":"8x8","usage":{"input_tokens":3,"output_tokens":4,"total_tokens":7}}`
	for _, req := range []*genwayv1.GenerateImageRequest{nativeImage(), {Model: "m", Prompt: "p", Count: new(int32(2))}} {
		got, _, err := draw(t, "application/json; charset=utf-8", answer, req)
		if err != nil || got.images != 2 || got.completed.GetCount() != 2 || got.completed.GetUsage().GetTotalTokens() != 7 {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// A stream that is cut at any byte before its last event is an error, for all callers,
// and never an end.
func TestCutImageStreams(t *testing.T) {
	all := preview + finished
	for at := range len(all) {
		for _, req := range []*genwayv1.GenerateImageRequest{nativeImage(), {Model: "m", Prompt: "p"}} {
			got, _, err := draw(t, "text/event-stream", all[:at], req)
			// Without the blank line behind it the last event is whole all the same.
			if whole := at >= len(all)-1; whole != (err == nil) || whole != (got.completed != nil) {
				t.Errorf("cut at %d of %d: %+v, %v", at, len(all), got, err)
			}
		}
	}
}

// A failure within the stream reaches callers of the protocol in its own words, once, and
// others without them; what was drawn until then is counted.
func TestImageStreamFails(t *testing.T) {
	const failure = "event: error\ndata: {\"error\":{\"message\":\"native words\",\"type\":\"x\",\"code\":\"moderation_blocked\"}}\n\n"
	got, _, err := draw(t, "text/event-stream", finished+failure, &genwayv1.GenerateImageRequest{Model: "m", Prompt: "p", Count: new(int32(2))})
	if f := fault.From(err); f == nil || f.Message != "native words" || f.Wire != nil || f.Usage.GetTotalTokens() != 7 || got.images != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	got, _, err = draw(t, "text/event-stream", preview+failure, nativeImage())
	if f := fault.From(err); f == nil || f.Wire == nil || got.frames != preview {
		t.Errorf("%+v, %v", got, err)
	}
}
