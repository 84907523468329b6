package remote_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/codec/dialect"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream/provider"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// picture is a PNG of that size, as base64.
func picture(t testing.TB, width, height int) string {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// drawer serves one protocol that draws in answers of text.
type drawer struct {
	protocol genwayv1.Protocol
	// whole is an answer with an image, without an answer without one.
	whole, without func(image string) string
	// frames wraps the answer as a stream.
	frames func(whole string) string
}

var drawers = map[string]drawer{
	"responses": {
		protocol: genwayv1.Protocol_PROTOCOL_RESPONSES,
		whole: func(image string) string {
			return `{"id":"resp_1","object":"response","created_at":7,"model":"gpt-x","status":"completed","error":null,"output":[{"type":"image_generation_call","id":"ig_1","status":"completed","quality":"low","background":"opaque","output_format":"png","size":"9x9","revised_prompt":"a red fox","result":"` + image + `"}],"tools":[{"type":"image_generation","model":"gpt-image-2"}],"usage":{"input_tokens":10,"output_tokens":4,"total_tokens":14},"tool_usage":{"image_gen":{"input_tokens":5,"output_tokens":20,"total_tokens":25,"output_tokens_details":{"image_tokens":20}}}}`
		},
		without: func(string) string {
			return `{"id":"resp_1","object":"response","created_at":7,"model":"gpt-x","status":"completed","error":null,"output":[{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"refusal","refusal":"I will not"}]}],"usage":{"input_tokens":10,"output_tokens":4,"total_tokens":14}}`
		},
		frames: func(whole string) string {
			return "event: response.image_generation_call.partial_image\ndata: {\"type\":\"response.image_generation_call.partial_image\",\"item_id\":\"ig_1\",\"output_index\":0,\"sequence_number\":1,\"partial_image_index\":0,\"partial_image_b64\":\"AQ==\",\"quality\":\"low\"}\n\n" +
				"event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":2,\"response\":" + whole + "}\n\n"
		},
	},
	"generatecontent": {
		protocol: genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT,
		whole: func(image string) string {
			return `{"candidates":[{"content":{"role":"model","parts":[{"thought":true,"inlineData":{"mimeType":"image/png","data":"AQ=="}},{"inlineData":{"mimeType":"image/png","data":"` + image + `"}}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":24,"totalTokenCount":34,"candidatesTokensDetails":[{"modality":"IMAGE","tokenCount":20},{"modality":"TEXT","tokenCount":4}]},"modelVersion":"gemini-x","responseId":"r"}`
		},
		without: func(string) string {
			return `{"candidates":[{"content":{"role":"model","parts":[{"text":"no"}]},"finishReason":"IMAGE_SAFETY","index":0}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":4,"totalTokenCount":14}}`
		},
		frames: func(whole string) string { return "data: " + whole + "\n\n" },
	},
}

// serveDrawer returns the adapter of an upstream that answers by handler.
func serveDrawer(t *testing.T, d drawer, handler http.HandlerFunc) *remote.Upstream {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	transport := remote.NewTransport(remote.Way{})
	t.Cleanup(transport.CloseIdleConnections)
	u, err := remote.New(remote.Config{Protocol: d.protocol, BaseURL: server.URL, HTTP: transport})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func drawingBy(d drawer, bodies chan<- string, whole string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
		answer := whole
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(string(body), `"stream":true`) || strings.Contains(r.URL.Path, "stream") {
			w.Header().Set("Content-Type", "text/event-stream")
			answer = d.frames(whole)
		}
		_, _ = io.WriteString(w, answer)
	}
}

// Case C21: upstreams that draw in answers of text are asked as they take it, each image by a call of its own, and the size is
// that of the file. What they cannot carry is named.
func TestDrawing(t *testing.T) {
	req := &genwayv1.GenerateImageRequest{
		Model: "m", Prompt: "a fox", Size: "1536x1024", Count: new(int32(3)), Quality: "low", OutputFormat: "png", Background: "opaque", Moderation: "auto", ResponseFormat: "b64_json",
		PartialImages: new(int32(1)),
	}
	for name, want := range map[string]struct{ unary, streamed, losses string }{
		"responses": {
			unary:    `{"model":"m","input":"a fox","tools":[{"type":"image_generation","size":"1536x1024","quality":"low","background":"opaque"}],"tool_choice":{"type":"image_generation"}}`,
			streamed: `{"model":"m","input":"a fox","tools":[{"type":"image_generation","size":"1536x1024","quality":"low","background":"opaque","partial_images":1}],"tool_choice":{"type":"image_generation"},"stream":true}`,
			losses:   "",
		},
		"generatecontent": {
			unary:    `{"contents":[{"role":"user","parts":[{"text":"a fox"}]}],"generationConfig":{"responseModalities":["IMAGE"],"imageConfig":{"aspectRatio":"3:2"}}}`,
			streamed: `{"contents":[{"role":"user","parts":[{"text":"a fox"}]}],"generationConfig":{"responseModalities":["IMAGE"],"imageConfig":{"aspectRatio":"3:2"}}}`,
			losses:   "quality ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, bodies := drawers[name], make(chan string, 6)
			u := serveDrawer(t, d, drawingBy(d, bodies, d.whole(picture(t, 6, 4))))
			record := &call.Record{}
			resp, err := u.GenerateImage(call.With(t.Context(), record), req)
			if err != nil {
				t.Fatal(err)
			}
			if len(resp.GetImages()) != 3 || resp.GetSize() != "6x4" || resp.GetOutputFormat() != "png" || resp.GetImages()[2].GetSize() != "6x4" || record.Calls != 3 || record.Drawn != 3 {
				t.Errorf("%.300v, %d calls", resp, record.Calls)
			}
			if u := resp.GetUsage(); u.GetInputTokens() != 30 {
				t.Errorf("the usage is %v", u)
			}
			if got := lostIn(resp.GetLosses()); got != "partial_images "+want.losses {
				t.Errorf("lost %q", got)
			}
			for range 3 {
				if asked := <-bodies; asked != want.unary {
					t.Errorf("asked %s\nwant  %s", asked, want.unary)
				}
			}
			var got drawn
			seen := map[int32]bool{}
			err = u.StreamGenerateImage(t.Context(), req, func(ev *genwayv1.StreamGenerateImageResponse) error {
				switch p := ev.GetPayload().(type) {
				case *genwayv1.StreamGenerateImageResponse_Started:
					got.started = p.Started
				case *genwayv1.StreamGenerateImageResponse_PartialImage:
					got.previews++
				case *genwayv1.StreamGenerateImageResponse_Image:
					got.images++
					seen[p.Image.GetImageIndex()] = p.Image.GetUsage().GetInputTokens() == 10
				case *genwayv1.StreamGenerateImageResponse_Completed:
					got.completed = p.Completed
				}
				return nil
			})
			if err != nil || got.started == nil || got.images != 3 || !seen[0] || !seen[1] || !seen[2] || got.completed.GetCount() != 3 || got.completed.GetSize() != "6x4" || got.completed.GetUsage().GetInputTokens() != 30 {
				t.Errorf("%+v, %v, %v", got, seen, err)
			}
			if previews := map[string]int{"responses": 3}[name]; got.previews != previews {
				t.Errorf("%d previews", got.previews)
			}
			for range 3 {
				if asked := <-bodies; asked != want.streamed {
					t.Errorf("asked %s\nwant  %s", asked, want.streamed)
				}
			}
		})
	}
}

func lostIn(losses []*genwayv1.Loss) string {
	var names strings.Builder
	for _, l := range losses {
		names.WriteString(l.GetMember() + " ")
	}
	return names.String()
}

// An answer without an image is a failure with its usage, however many images the others have.
func TestDrawingWithoutAnImage(t *testing.T) {
	for name, d := range drawers {
		for _, streamed := range []bool{false, true} {
			var calls atomic.Int64
			u := serveDrawer(t, d, func(w http.ResponseWriter, r *http.Request) {
				answer := d.whole(picture(t, 6, 4))
				if calls.Add(1) == 2 {
					answer = d.without("")
				}
				drawingBy(d, make(chan string, 1), answer)(w, r)
			})
			record := &call.Record{}
			ctx := call.With(t.Context(), record)
			req := &genwayv1.GenerateImageRequest{Model: "m", Prompt: "p", Count: new(int32(2))}
			var err error
			if streamed {
				completed := false
				err = u.StreamGenerateImage(ctx, req, func(ev *genwayv1.StreamGenerateImageResponse) error {
					completed = completed || ev.GetCompleted() != nil
					return nil
				})
				if completed {
					t.Errorf("%s: a false success", name)
				}
			} else {
				_, err = u.GenerateImage(ctx, req)
			}
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Kind != fault.InvalidRequest || f.Reason != fault.ReasonImageBlocked || f.Usage.GetInputTokens() < 10 || f.Usage.GetInputTokens() > 20 {
				t.Errorf("%s, streamed %t: %v", name, streamed, err)
			}
		}
	}
}

// Bytes that are no image of the type that they are said to be are the upstream's failure, and never an image.
func TestDrawingOfOtherBytes(t *testing.T) {
	for name, d := range drawers {
		for _, streamed := range []bool{false, true} {
			u := serveDrawer(t, d, drawingBy(d, make(chan string, 2), d.whole("aGVsbG8=")))
			req := &genwayv1.GenerateImageRequest{Model: "m", Prompt: "p"}
			_, err := u.GenerateImage(t.Context(), req)
			if streamed {
				err = u.StreamGenerateImage(t.Context(), req, func(*genwayv1.StreamGenerateImageResponse) error { return nil })
			}
			if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.BadUpstream || f.Reason != fault.ReasonMalformedAnswer {
				t.Errorf("%s, streamed %t: %v", name, streamed, err)
			}
		}
	}
}

// The first failure cancels the other calls, and the caller's leaving cancels all.
func TestDrawingIsCancelled(t *testing.T) {
	for name, d := range drawers {
		for _, leaves := range []bool{false, true} {
			cancelled, begun := make(chan struct{}, 8), make(chan struct{}, 8)
			var calls atomic.Int64
			u := serveDrawer(t, d, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				n := calls.Add(1)
				begun <- struct{}{}
				if n == 4 && !leaves {
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				<-r.Context().Done()
				cancelled <- struct{}{}
			})
			ctx, leave := context.WithCancel(t.Context())
			if leaves {
				go func() {
					for range 4 {
						<-begun
					}
					leave()
				}()
			}
			_, err := u.GenerateImage(ctx, &genwayv1.GenerateImageRequest{Model: "m", Prompt: "p", Count: new(int32(9))})
			leave()
			want := fault.RateLimited
			if leaves {
				want = fault.Cancelled
			}
			if fault.From(err).Kind != want || calls.Load() != 4 {
				t.Errorf("%s, %t: %v after %d calls", name, leaves, err, calls.Load())
			}
			for range map[bool]int{false: 3, true: 4}[leaves] {
				select {
				case <-cancelled:
				case <-time.After(10 * time.Second):
					t.Fatal("a call goes on")
				}
			}
		}
	}
}

// What cannot be asked costs nothing.
func TestDrawingRefuses(t *testing.T) {
	for name, d := range drawers {
		u := serveDrawer(t, d, func(http.ResponseWriter, *http.Request) { t.Errorf("%s is called", name) })
		for param, change := range map[string]func(*genwayv1.GenerateImageRequest){
			"response_format": func(r *genwayv1.GenerateImageRequest) { r.ResponseFormat = "url" },
			"count":           func(r *genwayv1.GenerateImageRequest) { r.Count = new(int32(1<<31 - 1)) },
			"svg": func(r *genwayv1.GenerateImageRequest) {
				r.NativeFields = []*genwayv1.NativeField{{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, Name: "svg", Json: []byte(`{"model":"x"}`), Binding: true}}
			},
		} {
			req := &genwayv1.GenerateImageRequest{Model: "m", Prompt: "p"}
			change(req)
			for _, streamed := range []bool{false, true} {
				var err error
				if streamed {
					err = u.StreamGenerateImage(t.Context(), req, func(*genwayv1.StreamGenerateImageResponse) error { return nil })
				} else {
					_, err = u.GenerateImage(t.Context(), req)
				}
				if f := fault.From(err); f == nil || f.Kind != fault.InvalidRequest || f.Param != param {
					t.Errorf("%s, %s: %v", name, param, err)
				}
			}
		}
		if _, err := u.GenerateImage(call.With(t.Context(), &call.Record{Strict: true}), &genwayv1.GenerateImageRequest{Model: "m", Prompt: "p", Style: "vivid"}); fault.From(err) == nil || fault.From(err).Param != "style" {
			t.Errorf("%s, strict: %v", name, err)
		}
	}
	d := drawers["generatecontent"]
	u := serveDrawer(t, d, func(http.ResponseWriter, *http.Request) { t.Error("called") })
	for _, size := range []string{"0x0", "-1x5", "9223372036854775808x1", "x", "1024", "NaNxNaN", "1x1x1"} {
		if _, err := u.GenerateImage(t.Context(), &genwayv1.GenerateImageRequest{Model: "m", Prompt: "p", Size: size}); fault.From(err) == nil || fault.From(err).Param != "size" {
			t.Errorf("%s: %v", size, err)
		}
	}
}

// A stream that is cut anywhere has no end.
func TestCutDrawing(t *testing.T) {
	for name, d := range drawers {
		whole := d.frames(d.whole(picture(t, 2, 2)))
		for cut := 0; cut < len(whole)-2; cut += 7 {
			u := serveDrawer(t, d, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				w.Header().Set("Content-Length", strconv.Itoa(len(whole)))
				_, _ = io.WriteString(w, whole[:cut])
			})
			completed := false
			err := u.StreamGenerateImage(t.Context(), &genwayv1.GenerateImageRequest{Model: "m", Prompt: "p"}, func(ev *genwayv1.StreamGenerateImageResponse) error {
				completed = completed || ev.GetCompleted() != nil
				return nil
			})
			if err == nil || completed {
				t.Errorf("%s, cut at %d of %d: %v, completed %t", name, cut, len(whole), err, completed)
			}
		}
	}
}

// Of chat completions those upstreams draw that are known to take modalities and to return images.
func TestDraws(t *testing.T) {
	const chat = genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS
	of := func(name string) *dialect.Chat {
		e, _ := provider.Find(name).Endpoint("chat", "")
		return e.Chat
	}
	for _, c := range []struct {
		protocol genwayv1.Protocol
		of       *dialect.Chat
		draws    bool
	}{
		{chat, nil, true},
		{chat, dialect.Least, false},
		{chat, of("openrouter"), true},
		{chat, of("openai"), false},
		{chat, of("vllm"), false},
		{genwayv1.Protocol_PROTOCOL_IMAGES, nil, true},
		{genwayv1.Protocol_PROTOCOL_RESPONSES, nil, true},
		{genwayv1.Protocol_PROTOCOL_MESSAGES, nil, false},
	} {
		u, err := remote.New(remote.Config{Protocol: c.protocol, BaseURL: "http://127.0.0.1:1", Dialect: c.of})
		if err != nil {
			t.Fatal(err)
		}
		if u.Draws() != c.draws {
			t.Errorf("%v with %v draws: %t", c.protocol, c.of, !c.draws)
		}
	}
}
