package remote

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/images"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// leastFlow and envelope are what an event that was not decoded counts as text: a
	// token, in bytes, and what exceeds the names around it.
	leastFlow, envelope = 3, 256
)

// read gives the events of one frame, and whether it may add to the answer. A frame of a
// stream that passes through is the caller's to understand: one that is JSON and that the
// decoder cannot read fails nothing, and is watched from there on for the end, the usage
// and failures alone (case X2).
func (s *relay) read(f codec.Frame) (events []*genwayv1.StreamGenerateTextResponse, content bool, err error) {
	if s.watcher == nil {
		events, err = s.decoder.Decode(f)
		watcher, ok := s.decoder.(codec.StreamWatcher)
		if !ok || !s.wired || !unreadable(err) || !isJSON(f.Data) {
			return events, contentful(events), err
		}
		s.watcher = watcher
	}
	events, content, err = s.watcher.Watch(f)
	if content {
		s.flow.Add(int64(leastFlow + max(len(f.Data)-envelope, 0)))
	}
	return events, content || contentful(events), err
}

// isJSON reports whether a body or a frame is JSON for the most lenient client.
func isJSON(data []byte) bool {
	return jsontext.Value(data).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// isObject reports whether a body is a JSON object for the most lenient client.
func isObject(raw []byte) bool { return jsontext.Value(raw).Kind() == '{' && isJSON(raw) }

// watched gives what can be read of an answer that the codec cannot read whole; nil for a
// failure. It is for callers of the upstream's protocol, who get the body as it is.
func (u *Upstream) watched(raw []byte) *genwayv1.GenerateTextResponse {
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

// drawn reads an answer with images for a caller of the upstream's protocol, who gets the
// images in its body: what fits of one that cannot be read whole.
func drawn(raw []byte) (*genwayv1.GenerateImageResponse, error) {
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
