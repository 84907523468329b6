package remote

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/images"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// An event that was not decoded counts as text of leastFlow bytes, about a token, and of its
	// length beyond envelope, about the length of the members around a text.
	leastFlow, envelope = 3, 256
)

// read gives the events of one frame, and whether it may have content of the answer. A frame of
// a stream that passes through may be JSON that the decoder cannot read and the caller can: the
// stream goes on, and from there on only its end, its usage and its failures are read (case X2).
func (s *forwarder) read(f codec.Frame) (events []*genwayv1.StreamGenerateTextResponse, content bool, err error) {
	if s.watcher == nil {
		events, err = s.decoder.Decode(f)
		watcher, ok := s.decoder.(codec.StreamWatcher)
		if !ok || !s.passThrough || !unreadable(err) || !isJSON(f.Data) {
			return events, hasContent(events), err
		}
		s.watcher = watcher
	}
	events, content, err = s.watcher.Watch(f)
	if content {
		s.flow.Add(int64(leastFlow + max(len(f.Data)-envelope, 0)))
	}
	return events, content || hasContent(events), err
}

// isJSON reports whether a body or a frame is JSON as the most lenient client reads it.
func isJSON(data []byte) bool {
	return jsontext.Value(data).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// isObject reports whether a body is a JSON object as the most lenient client reads it.
func isObject(raw []byte) bool { return jsontext.Value(raw).Kind() == '{' && isJSON(raw) }

// partialAnswer gives the parts that can be read of an answer which the codec cannot read as a whole;
// nil for a failure. It is for callers of the upstream's protocol, which get the raw body.
func (u *Upstream) partialAnswer(raw []byte) *genwayv1.GenerateTextResponse {
	watcher, ok := u.codec.(codec.ResponseWatcher)
	if !ok || !isObject(raw) {
		return nil
	}
	resp, ok := watcher.WatchResponse(raw)
	if !ok {
		return nil
	}
	return resp
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
