package images_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"
)

const protocol = genwayv1.Protocol_PROTOCOL_IMAGES

func TestGolden(t *testing.T) {
	codectest.Golden(t, "testdata/*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		out := map[string]string{}
		c := images.Codec{}
		if body, ok := in["request.json"]; ok {
			req, err := c.DecodeRequest([]byte(body))
			if err != nil {
				out["error"] = err.Error()
				return out
			}
			encoded, err := c.EncodeRequest(req.GenerateImageRequest, nil)
			if err != nil {
				t.Fatal(err)
			}
			out["request.canonical.json"] = canonical(t, req.GenerateImageRequest)
			out["request.out.json"] = codectest.Indent(t, encoded)
		}
		if body, ok := in["response.json"]; ok {
			resp, err := c.DecodeResponse([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			encoded, err := c.EncodeResponse(resp, nil)
			if err != nil {
				t.Fatal(err)
			}
			out["response.canonical.json"] = canonical(t, resp)
			out["response.out.json"] = codectest.Indent(t, encoded)
		}
		return out
	})
}

// canonical returns protojson in one spelling: the library varies its spaces.
func canonical(t *testing.T, m proto.Message) string {
	return codectest.Indent(t, []byte(codectest.ProtoText(t, m)))
}

func word(t *rapid.T, label string) string {
	return rapid.StringMatching(`[a-zé🙂 ]{0,12}`).Draw(t, label)
}

func count(t *rapid.T, label string) *int64 {
	if !rapid.Bool().Draw(t, label) {
		return nil
	}
	return new(rapid.Int64Range(0, 1000).Draw(t, label+" value"))
}

func natives(t *rapid.T) []*genwayv1.NativeField {
	if !rapid.Bool().Draw(t, "native") {
		return nil
	}
	return []*genwayv1.NativeField{{Protocol: protocol, Name: "x_new", Json: []byte(`{"b":1,"a":[2.50]}`)}}
}

// decode∘encode is the identity on requests and answers.
func TestRoundTrips(t *testing.T) {
	c := images.Codec{}
	rapid.Check(t, func(t *rapid.T) {
		req := &genwayv1.GenerateImageRequest{
			Model: "m" + word(t, "model"), Prompt: "p" + word(t, "prompt"), Size: word(t, "size"), Quality: word(t, "quality"),
			OutputFormat: word(t, "format"), Background: word(t, "background"), Moderation: word(t, "moderation"),
			Style: word(t, "style"), User: word(t, "user"), ResponseFormat: word(t, "response format"), NativeFields: natives(t),
		}
		if rapid.Bool().Draw(t, "n") {
			req.Count = new(rapid.Int32Range(1, 10).Draw(t, "count"))
			req.OutputCompression = new(rapid.Int32Range(0, 100).Draw(t, "compression"))
		}
		body, err := c.EncodeRequest(req, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.DecodeRequest(body); err != nil || !proto.Equal(got.GenerateImageRequest, req) {
			t.Fatalf("%v\nwant %v\ngot  %v\n%s", err, req, got, body)
		}

		resp := &genwayv1.GenerateImageResponse{
			CreateTime: &timestamppb.Timestamp{Seconds: rapid.Int64Range(1, 1<<37).Draw(t, "created")},
			Background: word(t, "background"), OutputFormat: word(t, "format"), Quality: word(t, "quality"), Size: word(t, "size"), NativeFields: natives(t),
		}
		if rapid.Bool().Draw(t, "usage") {
			resp.Usage = &genwayv1.Usage{InputTokens: 1, OutputTokens: 2, TotalTokens: 3, InputImageTokens: count(t, "a"), InputTextTokens: count(t, "b"),
				OutputImageTokens: count(t, "c"), OutputTextTokens: count(t, "d"), NativeFields: natives(t)}
		}
		for range rapid.IntRange(0, 3).Draw(t, "images") {
			image := &genwayv1.GeneratedImage{GenerationId: word(t, "id"), Model: word(t, "model"), Size: word(t, "size"), RevisedPrompt: word(t, "revised"), NativeFields: natives(t)}
			if rapid.Bool().Draw(t, "url") {
				image.Source = &genwayv1.GeneratedImage_Url{Url: "https://a.example/" + word(t, "path")}
			} else {
				image.Source = &genwayv1.GeneratedImage_Data{Data: rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "data")}
			}
			resp.Images = append(resp.Images, image)
		}
		if body, err = c.EncodeResponse(resp, nil); err != nil {
			t.Fatal(err)
		}
		if got, err := c.DecodeResponse(body); err != nil || !proto.Equal(got, resp) {
			t.Fatalf("%v\nwant %v\ngot  %v\n%s", err, resp, got, body)
		}
	})
}

func TestRefusals(t *testing.T) {
	for body, param := range map[string]string{
		`{"prompt":"a"}`:                               "model",
		`{"model":"m"}`:                                "prompt",
		`{"model":"m","prompt":null}`:                  "prompt",
		`{"model":"m","prompt":"a","stream":"yes"}`:    "stream",
		`{"model":"m","prompt":"a","n":0}`:             "n",
		`{"model":"m","prompt":"a","n":"2"}`:           "n",
		`{"model":"m","prompt":"a","size":1024}`:       "size",
		`{"model":"m","prompt":"a","n":9999999999999}`: "n",
	} {
		_, err := images.Codec{}.DecodeRequest([]byte(body))
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.InvalidRequest || f.Param != param {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// What another protocol's request says of itself cannot be carried: it is named,
// or refused when it changes the picture.
func TestForeignMembers(t *testing.T) {
	foreign := func(binding bool) *genwayv1.GenerateImageRequest {
		return &genwayv1.GenerateImageRequest{Model: "m", Prompt: "p", NativeFields: []*genwayv1.NativeField{
			{Protocol: genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, Name: "x", Json: []byte("1"), Binding: binding},
		}}
	}
	var losses codec.Losses
	if _, err := (images.Codec{}).EncodeRequest(foreign(false), &losses); err != nil || len(losses.List()) != 1 {
		t.Errorf("%v, %v", losses.List(), err)
	}
	var f *fault.Error
	if _, err := (images.Codec{}).EncodeRequest(foreign(true), nil); !errors.As(err, &f) || f.Param != "x" {
		t.Errorf("%v", err)
	}
	if _, err := (images.Codec{}).EncodeRequest(&genwayv1.GenerateImageRequest{Images: []*genwayv1.Media{{}}}, nil); !errors.As(err, &f) || f.Param != "images[0].source" {
		t.Errorf("%v", err)
	}
}

func TestErrors(t *testing.T) {
	native := []byte(`{"error":{"message":"no","type":"image_generation_user_error","param":null,"code":"moderation_blocked"}}`)
	f := images.Codec{}.DecodeError(400, native)
	if f.Kind != fault.InvalidRequest || f.NativeCode != "moderation_blocked" || f.Message != "no" {
		t.Errorf("%+v", f)
	}
	if status, body := (images.Codec{}).EncodeError(f); status != 400 || !bytes.Equal(body, native) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := (images.Codec{}).EncodeError(fault.Missing("prompt")); status != 400 || !strings.Contains(string(body), `"param":"prompt"`) {
		t.Errorf("%d %s", status, body)
	}
}

// Answers that no image can be read of are the upstream's fault.
func TestMalformedAnswers(t *testing.T) {
	for _, body := range []string{"", "[]", `{"data":[{"b64_json":"%%%"}]}`, `{"data":[{"b64_json":7}]}`, `{"data":{}}`} {
		_, err := images.Codec{}.DecodeResponse([]byte(body))
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.BadUpstream {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// Members that are null are absent: some servers write both sources of an image, one of
// them null. Their counts of another kind are kept, and a time that is none is left out.
func TestOddAnswers(t *testing.T) {
	for body, want := range map[string]string{
		`{"created":1,"data":[{"b64_json":null,"url":"https://a.example/","revised_prompt":null}],"usage":null}`: `{"created":1,"data":[{"url":"https://a.example/"}]}`,
		`{"created":1,"data":[{"b64_json":"QUJD","url":null}]}`:                                                  `{"created":1,"data":[{"b64_json":"QUJD"}]}`,
		`{"created":1700000000000,"data":[{"url":"u"}]}`:                                                         `{"created":0,"data":[{"url":"u"}]}`,
		`{"created":9223372036854775807,"data":[{"url":"u"}]}`:                                                   `{"created":0,"data":[{"url":"u"}]}`,
		`{"created":1,"data":[{"url":"u"}],"usage":{"input_tokens":9007199254740993,"output_tokens":2,"total_tokens":3,"input_tokens_details":{"text_tokens":1,"cached_tokens":9007199254740993},"output_tokens_details":{"reasoning_tokens":2}}}`: `{"created":1,"data":[{"url":"u"}],"usage":{"input_tokens":9007199254740993,"output_tokens":2,"total_tokens":3,"input_tokens_details":{"text_tokens":1,"cached_tokens":9007199254740993},"output_tokens_details":{"reasoning_tokens":2}}}`,
	} {
		resp, err := images.Codec{}.DecodeResponse([]byte(body))
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		var losses codec.Losses
		if got, err := (images.Codec{}).EncodeResponse(resp, &losses); err != nil || string(got) != want || losses.List() != nil {
			t.Errorf("%v, lost %v\n got %s\nwant %s", err, losses.List(), got, want)
		}
		if head, ok := (images.Codec{}).DecodeResponseHead([]byte(body)); !ok || head.CreateTime.GetSeconds() != resp.CreateTime.GetSeconds() {
			t.Errorf("%s has the head %v", body, head)
		}
	}
	_, err := images.Codec{}.DecodeResponse([]byte(`{"data":[{"b64_json":"%%%"}]}`))
	if err == nil || !strings.Contains(err.Error(), "data[0].b64_json: expected base64") {
		t.Errorf("no base64: %v", err)
	}
}

func FuzzDecodeRequest(f *testing.F) {
	f.Add([]byte(`{"model":"m","prompt":"p","n":2,"size":"64x64","stream":false,"x":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := images.Codec{}.DecodeRequest(body)
		if err != nil {
			return
		}
		again, err := images.Codec{}.EncodeRequest(req.GenerateImageRequest, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := images.Codec{}.DecodeRequest(again)
		// Bytes that are no UTF-8 become one replacement character on the way out.
		if err != nil || utf8.Valid(body) && !proto.Equal(got.GenerateImageRequest, req.GenerateImageRequest) {
			t.Fatalf("%v\n%s\n%s", err, body, again)
		}
	})
}

func FuzzDecodeResponse(f *testing.F) {
	f.Add([]byte(`{"created":7,"data":[{"b64_json":"AQI=","size":"1x1"},{"url":"u"}],"usage":{"input_tokens":1,"output_tokens_details":{"image_tokens":2}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		resp, err := images.Codec{}.DecodeResponse(body)
		if err != nil {
			return
		}
		if _, err := (images.Codec{}).EncodeResponse(resp, nil); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzDecodeError(f *testing.F) {
	f.Add(400, []byte(`{"error":{"message":"no"}}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if f := (images.Codec{}).DecodeError(status, body); f == nil || f.Message == "" {
			t.Fatalf("%+v", f)
		}
	})
}

func BenchmarkRequest(b *testing.B) {
	body := []byte(fmt.Sprintf(`{"model":"m","prompt":%q,"size":"1024x1024","n":1}`, strings.Repeat("word ", 400)))
	b.Run("decode/2KB", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := (images.Codec{}).DecodeRequest(body); err != nil {
				b.Fatal(err)
			}
		}
	})
	req, err := images.Codec{}.DecodeRequest(body)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode/2KB", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := (images.Codec{}).EncodeRequest(req.GenerateImageRequest, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkResponse(b *testing.B) {
	for name, size := range map[string]int{"100KB": 100 << 10, "1.5MB": 1500 << 10} {
		resp := &genwayv1.GenerateImageResponse{Images: []*genwayv1.GeneratedImage{{Source: &genwayv1.GeneratedImage_Data{Data: make([]byte, size)}}}}
		body, err := images.Codec{}.EncodeResponse(resp, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("encode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := (images.Codec{}).EncodeResponse(resp, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("decode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := (images.Codec{}).DecodeResponse(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A head says what the whole says but for the images.
func TestHead(t *testing.T) {
	c := images.Codec{}
	const data = `"data":[{"b64_json":"QUJD","revised_prompt":"x"},{"url":"https://a"}]`
	for _, rest := range []string{
		``, `,"created":7,"size":"1x1","quality":"low","background":"opaque","output_format":"png"`, `,"created":null,"size":null`, `,"new":[1,{"a":"b"}]`,
		`,"usage":null`, `,"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3,"input_tokens_details":{"image_tokens":0,"text_tokens":1},"new":1}`,
	} {
		body := []byte(`{` + data + rest + `}`)
		whole, err := c.DecodeResponse(body)
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole.Images {
			whole.Images[i] = &genwayv1.GeneratedImage{}
		}
		if head, ok := c.DecodeResponseHead(body); !ok || !proto.Equal(head, whole) {
			t.Errorf("%s: %v, %v, want %v", body, head, ok, whole)
		}
	}
	for _, body := range []string{`{"data":[]}`, `{}`, `{` + data, `{` + data + `,"created":"x"}`, `{` + data + `,"data":[]}`} {
		if head, ok := c.DecodeResponseHead([]byte(body)); ok {
			t.Errorf("%s has the head %v", body, head)
		}
	}
}

func BenchmarkHead(b *testing.B) {
	body := []byte(`{"created":1700000000,"background":"opaque","data":[{"b64_json":"` + strings.Repeat("iVBORw0KGgoAAAAN", 1_500_000/16) + `"}],"output_format":"png","size":"1024x1024",` +
		`"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3,"input_tokens_details":{"image_tokens":0,"text_tokens":1}}}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := (images.Codec{}).DecodeResponseHead(body); !ok {
			b.Fatal("no head")
		}
	}
}

// Case U18: what the author of an SVG has used is usage of its own, and the size and quality by which images are billed are
// read of answers that pass as well.
func TestUsageOfTheAuthorOfAnSVG(t *testing.T) {
	const members = `"quality":"high","size":"1024x1536","usage":{"input_tokens":4,"output_tokens":5,"total_tokens":9},"svg_usage":{"input_tokens":7,"model":"gpt-svg","output_tokens":9,"reasoning_tokens":4,"total_tokens":16}}`
	body := []byte(`{"created":1,"data":[{"b64_json":"aQ=="}],` + members)
	whole, err := images.Codec{}.DecodeResponse(body)
	if err != nil {
		t.Fatal(err)
	}
	watched, _ := images.Codec{}.WatchResponse(body)
	head, _ := images.Codec{}.DecodeResponseHead(body)
	for way, r := range map[string]*genwayv1.GenerateImageResponse{"whole": whole, "watched": watched, "head": head} {
		u := r.GetUsage()
		if len(u.GetModels()) != 1 || u.GetModels()[0].GetModel() != "gpt-svg" || u.GetModels()[0].GetUsage().GetOutputTokens() != 9 || u.GetTotalTokens() != 9 || r.GetSize() != "1024x1536" || r.GetQuality() != "high" {
			t.Errorf("%s: %v", way, r)
		}
	}
	for _, watch := range []bool{false, true} {
		s := images.Codec{}.NewStreamDecoder(2)
		s.Watch = watch
		for range 2 {
			if _, err := s.Decode(codec.Frame{Data: []byte(`{"type":"image_generation.completed","b64_json":"aQ==",` + members)}); err != nil {
				t.Fatal(err)
			}
		}
		if u := s.Usage(); len(u.GetModels()) != 2 || u.GetTotalTokens() != 18 {
			t.Errorf("watch %t: %v", watch, u)
		}
	}
}
