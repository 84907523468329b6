package images_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"
)

// decode returns all events of a stream's frames, and the error that ended it.
func decode(count int32, watch bool, frames ...codec.Frame) ([]*genwayv1.StreamGenerateImageResponse, error) {
	d := images.Codec{}.NewStreamDecoder(count)
	d.Watch = watch
	var events []*genwayv1.StreamGenerateImageResponse
	for _, f := range frames {
		more, err := d.Decode(f)
		events = append(events, more...)
		if err != nil {
			return events, err
		}
	}
	more, err := d.Close()
	return append(events, more...), err
}

// A stream that is encoded and decoded is the same stream, and folds to the figures of
// its end.
func TestStreamRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		created := &timestamppb.Timestamp{Seconds: rapid.Int64Range(1, 1<<37).Draw(t, "created")}
		count := rapid.Int32Range(1, 4).Draw(t, "n")
		events := []*genwayv1.StreamGenerateImageResponse{images.Event(&genwayv1.ImageStarted{CreateTime: created})}
		end := &genwayv1.ImageCompleted{Count: count, Usage: &genwayv1.Usage{}}
		for i := range count {
			background, format, quality, size := word(t, "background"), word(t, "format"), word(t, "quality"), word(t, "size")
			for p := range rapid.Int32Range(0, 3).Draw(t, "previews") {
				events = append(events, images.Event(&genwayv1.PartialImage{
					ImageIndex: i, PartialIndex: p, Data: rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "preview"), CreateTime: created,
					Background: background, OutputFormat: format, Quality: quality, Size: size, NativeFields: natives(t),
				}))
			}
			in, out := rapid.Int64Range(0, 1000).Draw(t, "in"), rapid.Int64Range(0, 1000).Draw(t, "out")
			events = append(events, images.Event(&genwayv1.FinishedImage{
				ImageIndex: i, CreateTime: created, Background: background, OutputFormat: format, Quality: quality,
				Image: &genwayv1.GeneratedImage{Source: &genwayv1.GeneratedImage_Data{Data: rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "data")}, Size: size, NativeFields: natives(t)},
				Usage: &genwayv1.Usage{InputTokens: in, OutputTokens: out, TotalTokens: in + out},
			}))
			end.Size, end.Quality = size, quality
			end.Usage.InputTokens += in
			end.Usage.OutputTokens += out
			end.Usage.TotalTokens += in + out
		}
		events = append(events, images.Event(end))

		var frames []codec.Frame
		e := images.Codec{}.NewStreamEncoder(nil, nil)
		for _, ev := range events {
			more, err := e.Encode(ev)
			if err != nil {
				t.Fatal(err)
			}
			frames = append(frames, more...)
		}
		got, err := decode(count, false, frames...)
		if err != nil || len(got) != len(events) {
			t.Fatalf("%d events of %d, %v", len(got), len(events), err)
		}
		for i := range events {
			if !proto.Equal(got[i], events[i]) {
				t.Fatalf("event %d\nwant %v\ngot  %v", i, events[i], got[i])
			}
		}
		watched, err := decode(count, true, frames...)
		if err != nil || !proto.Equal(watched[len(watched)-1], images.Event(end)) {
			t.Fatalf("watched %v, %v", watched, err)
		}
	})
}

func finished(usage string) codec.Frame {
	return codec.Frame{Event: "image_generation.completed", Data: []byte(`{"type":"image_generation.completed","b64_json":"AQ==","size":"1x1","usage":` + usage + `}`)}
}

// A stream has ended when all images are there, or the upstream says so after one; else
// it was cut.
func TestStreamEnds(t *testing.T) {
	done := codec.Frame{Data: []byte("[DONE]")}
	partial := codec.Frame{Data: []byte(`{"type":"image_generation.partial_image","b64_json":"AQ==","partial_image_index":0}`)}
	unknown := codec.Frame{Data: []byte(`{"type":"image_generation.in_progress","x":[1]}`)}
	for name, c := range map[string]struct {
		count  int32
		frames []codec.Frame
		whole  bool
	}{
		"one":                      {0, []codec.Frame{finished("null")}, true},
		"one of two":               {2, []codec.Frame{finished("null")}, false},
		"one of two, and said so":  {2, []codec.Frame{finished("null"), done}, true},
		"two of two":               {2, []codec.Frame{finished("null"), finished("null")}, true},
		"none":                     {1, nil, false},
		"none, and said so":        {1, []codec.Frame{done}, false},
		"a preview":                {1, []codec.Frame{partial}, false},
		"a preview, and said so":   {1, []codec.Frame{partial, done}, false},
		"events of another type":   {1, []codec.Frame{unknown, finished("null"), unknown}, true},
		"an event without a type":  {1, []codec.Frame{{Data: []byte(`{"b64_json":"AQ=="}`)}}, false},
		"a negative number of all": {-1, []codec.Frame{finished("null")}, true},
	} {
		for _, watch := range []bool{false, true} {
			events, err := decode(c.count, watch, c.frames...)
			whole := err == nil && len(events) > 0 && events[len(events)-1].GetCompleted() != nil
			if whole != c.whole || !c.whole && fault.From(err).Reason != fault.ReasonStreamCut {
				t.Errorf("%s, watch %v: %v, %v", name, watch, events, err)
			}
		}
	}
}

// What is only watched is never a fault: the caller reads the events itself.
func TestWatchedStream(t *testing.T) {
	for _, data := range []string{
		`{"type":"image_generation.partial_image","b64_json":7,"partial_image_index":"x"}`,
		`{"type":7}`, `[]`, `nonsense`, `{"type":"a","type":"b"}`, `{"created_at":1e400}`, `"text"`, `{"usage":{"input_tokens":"x"}}`, `{`,
	} {
		events, err := decode(1, true, codec.Frame{Data: []byte(data)}, finished(`{"input_tokens":2,"output_tokens":3,"total_tokens":5}`))
		if err != nil || events[len(events)-1].GetCompleted().GetUsage().GetTotalTokens() != 5 {
			t.Errorf("%s: %v, %v", data, events, err)
		}
	}
	events, err := decode(1, true, finished(`{"input_tokens":"x"}`))
	if err != nil || events[len(events)-1].GetCompleted().GetUsage().GetTotalTokens() != 0 {
		t.Errorf("%v, %v", events, err)
	}
	if _, err := decode(1, false, finished(`{"input_tokens":"x"}`)); fault.From(err).Kind != fault.BadUpstream {
		t.Errorf("a translated stream: %v", err)
	}
}

// Sums of absurd figures do not wrap round.
func TestStreamUsageSaturates(t *testing.T) {
	most := fmt.Sprintf(`{"input_tokens":%d,"output_tokens":1,"total_tokens":%d,"output_tokens_details":{"image_tokens":1}}`, int64(math.MaxInt64), int64(math.MaxInt64))
	events, err := decode(2, false, finished(most), finished(most))
	if err != nil {
		t.Fatal(err)
	}
	if u := events[len(events)-1].GetCompleted().GetUsage(); u.GetInputTokens() != math.MaxInt64 || u.GetOutputTokens() != 2 || u.GetOutputImageTokens() != 2 {
		t.Errorf("%v", u)
	}
}

// A failure within a stream is an event of the protocol, and ends the stream.
func TestStreamFails(t *testing.T) {
	for _, f := range []codec.Frame{
		{Event: "error", Data: []byte(`{"type":"error","error":{"type":"image_generation_user_error","code":"moderation_blocked","message":"no","param":null}}`)},
		{Data: []byte(`{"error":{"type":"image_generation_user_error","code":"moderation_blocked","message":"no","param":null}}`)},
	} {
		_, err := decode(2, false, finished(`{"input_tokens":2,"output_tokens":3,"total_tokens":5}`), f)
		var failure *fault.Error
		if !errors.As(err, &failure) || failure.NativeCode != "moderation_blocked" || failure.Usage.GetTotalTokens() != 5 {
			t.Errorf("%s: %+v", f.Data, failure)
			continue
		}
		e := images.Codec{}.NewStreamEncoder(nil, nil)
		frames := e.Fail(failure)
		if len(frames) != 1 || frames[0].Event != "error" || !bytes.Equal(frames[0].Data, f.Data) {
			t.Errorf("%s", frames)
		}
		if again := e.Fail(failure); len(again) != 0 {
			t.Errorf("sent twice: %s", again)
		}
	}
}

// The events of an answer that came at once have every member that the SDK requires.
func TestEventsOfAnAnswer(t *testing.T) {
	resp := &genwayv1.GenerateImageResponse{
		CreateTime: &timestamppb.Timestamp{Seconds: 7}, Background: "opaque", OutputFormat: "png", Quality: "low", Size: "2x2",
		Images: []*genwayv1.GeneratedImage{{Source: &genwayv1.GeneratedImage_Data{Data: []byte{1, 2, 3}}, Size: "1x1"}, {}},
		Usage:  &genwayv1.Usage{InputTokens: 1, OutputTokens: 2, TotalTokens: 3, InputTextTokens: proto.Int64(1)},
	}
	var frames []codec.Frame
	e := images.Codec{}.NewStreamEncoder(nil, nil)
	err := images.SendAll(resp, func(ev *genwayv1.StreamGenerateImageResponse) error {
		more, err := e.Encode(ev)
		frames = append(frames, more...)
		return err
	})
	if err != nil || len(frames) != 2 {
		t.Fatalf("%s, %v", frames, err)
	}
	const first = `{"type":"image_generation.completed","b64_json":"AQID","background":"opaque","created_at":7,"output_format":"png","quality":"low","size":"1x1","usage":{"input_tokens":0,"output_tokens":0,"total_tokens":0,"input_tokens_details":{"image_tokens":0,"text_tokens":0}}}`
	if string(frames[0].Data) != first || frames[0].Event != "image_generation.completed" {
		t.Errorf("%s", frames[0].Data)
	}
	const usage = `"size":"2x2","usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3,"input_tokens_details":{"text_tokens":1}}`
	if !strings.Contains(string(frames[1].Data), usage) {
		t.Errorf("%s", frames[1].Data)
	}
	if _, err := e.Encode(images.Event(&genwayv1.FinishedImage{Image: &genwayv1.GeneratedImage{Source: &genwayv1.GeneratedImage_Url{Url: "https://a"}}})); fault.From(err) == nil {
		t.Error("an event with an address is no event of the protocol")
	}
}

// Previews can be requested only for a stream, at most three of them.
func TestPartialImages(t *testing.T) {
	const body = `{"model":"m","prompt":"a","stream":%v,"partial_images":%s}`
	for _, n := range []string{"-1", "4", "9007199254740993", "9223372036854775807", "1.5", `"2"`, "[]", "true"} {
		for _, streamed := range []bool{false, true} {
			_, err := images.Codec{}.DecodeRequest(fmt.Appendf(nil, body, streamed, n))
			if f := fault.From(err); f == nil || f.Kind != fault.InvalidRequest || f.Param != "partial_images" {
				t.Errorf("%s: %v", n, err)
			}
		}
	}
	for _, n := range []string{"0", "1", "3", "null"} {
		req, err := images.Codec{}.DecodeRequest(fmt.Appendf(nil, body, true, n))
		if err != nil || !req.Stream {
			t.Fatalf("%s: %v, %v", n, req, err)
		}
		encoded, err := images.Codec{}.EncodeStreamRequest(req.GenerateImageRequest, nil)
		again, decodeErr := images.Codec{}.DecodeRequest(encoded)
		if err != nil || decodeErr != nil || !again.Stream || !proto.Equal(again.GenerateImageRequest, req.GenerateImageRequest) {
			t.Errorf("%s: %s, %v, %v", n, encoded, err, decodeErr)
		}
		var losses codec.Losses
		encoded, err = images.Codec{}.EncodeRequest(req.GenerateImageRequest, &losses)
		if err != nil || strings.Contains(string(encoded), "partial_images") != (n == "0") || (len(losses.List()) == 1) != (req.GetPartialImages() > 0) {
			t.Errorf("%s, unary: %s, %v, %v", n, encoded, losses.List(), err)
		}
	}
}

func FuzzStreamDecoder(f *testing.F) {
	f.Add([]byte(`{"type":"image_generation.completed","b64_json":"AQ==","size":"1x1","usage":{"input_tokens":1}}`), false)
	f.Add([]byte(`{"type":"image_generation.partial_image","b64_json":"AQ==","partial_image_index":0}`), true)
	f.Add([]byte(`{"error":{"message":"no"}}`), true)
	f.Fuzz(func(t *testing.T, data []byte, watch bool) {
		events, err := decode(1, watch, codec.Frame{Data: data})
		if err == nil && (len(events) == 0 || events[len(events)-1].GetCompleted() == nil) {
			t.Fatalf("neither an end nor a fault: %s", data)
		}
	})
}

// An event of an image that has none is no image: the stream is malformed, and the usage of what
// was drawn is known.
func TestStreamOfAnImageWithoutContent(t *testing.T) {
	for _, image := range []string{``, `"b64_json":"",`, `"b64_json":null,`} {
		for _, watch := range []bool{false, true} {
			d := images.Codec{}.NewStreamDecoder(1)
			d.Watch = watch
			_, err := d.Decode(codec.Frame{Data: []byte(`{"type":"image_generation.completed",` + image + `"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}`)})
			if watch {
				if err != nil {
					t.Errorf("%q, which the caller reads itself: %v", image, err)
				}
				continue
			}
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Kind != fault.BadUpstream || f.Usage.GetTotalTokens() != 3 {
				t.Errorf("%q: %v", image, err)
			}
		}
	}
}
