package remote_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// native starts an upstream of a protocol whose answers are of a content type, and
// gives an adapter with a request of a caller of the same protocol.
func native(t *testing.T, protocol genwayv1.Protocol, mediaType, answer string) (*remote.Upstream, *genwayv1.GenerateTextRequest) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if mediaType != "" {
			w.Header().Set("Content-Type", mediaType)
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	transport := remote.NewTransport(remote.Way{})
	t.Cleanup(transport.CloseIdleConnections)
	u, err := remote.New(remote.Config{Protocol: protocol, BaseURL: server.URL, HTTP: transport, Grace: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return u, &genwayv1.GenerateTextRequest{
		Model: "m", Messages: []*genwayv1.Message{user("hi")},
		Wire: &genwayv1.WireMessage{Protocol: protocol, Json: []byte(`{"model":"m"}`)},
	}
}

// A caller of the upstream's protocol gets a failure within the stream as the upstream has sent it,
// and the frames after it.
func TestNativeFailures(t *testing.T) {
	const unreadable = `data: {"error":"this protocol's clients cannot read it"}` + "\n\n"
	streams := map[genwayv1.Protocol][]string{
		genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS: {
			`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}` + "\n\n",
			`event: error` + "\n" + `data: {"error":{"message":"native words","status_code":400}}` + "\n\n",
			"data: [DONE]\n\n",
		},
		genwayv1.Protocol_PROTOCOL_RESPONSES: {
			`event: response.created` + "\n" + `data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1,"model":"m","status":"in_progress","output":[]}}` + "\n\n",
			`event: response.output_item.added` + "\n" + `data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","status":"in_progress","content":[]}}` + "\n\n",
			`event: response.content_part.added` + "\n" + `data: {"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}` + "\n\n",
			`event: response.output_text.delta` + "\n" + `data: {"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"x"}` + "\n\n",
			`event: error` + "\n" + `data: {"type":"error","sequence_number":4,"code":"server_error","message":"native words","param":null}` + "\n\n",
		},
		genwayv1.Protocol_PROTOCOL_MESSAGES: {
			`event: message_start` + "\n" + `data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}` + "\n\n",
			`event: content_block_start` + "\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n",
			`event: content_block_delta` + "\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}` + "\n\n",
			`event: error` + "\n" + `data: {"type":"error","error":{"type":"overloaded_error","message":"native words"}}` + "\n\n",
		},
		genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT: {
			`data: {"candidates":[{"content":{"role":"model","parts":[{"text":"x"}]}}]}` + "\n\n",
			`data: {"error":{"code":503,"message":"native words","status":"UNAVAILABLE"}}` + "\n\n",
		},
	}
	for protocol, frames := range streams {
		u, req := native(t, protocol, "text/event-stream", strings.Join(frames, ""))
		got, err := receive(t.Context(), u, req)
		if f := fault.From(err); f == nil || f.Message != "native words" || !strings.Contains(got, string(f.Wire.GetJson())) {
			t.Errorf("%s: %v", protocol, err)
		}
		if got != strings.Join(frames, "") {
			t.Errorf("%s: got\n%s", protocol, got)
		}
		req.Wire = nil
		if got, err = receive(t.Context(), u, req); got != "" || fault.From(err).Wire != nil {
			t.Errorf("%s: a caller of another protocol gets %v\n%s", protocol, err, got)
		}
	}
	chat := streams[genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS]
	u, req := native(t, genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, "text/event-stream", chat[0]+unreadable)
	if got, err := receive(t.Context(), u, req); got != chat[0] || fault.From(err) == nil {
		t.Errorf("%v\n%s", err, got)
	}
}

// receive returns the frames of a streamed call.
func receive(ctx context.Context, u *remote.Upstream, req *genwayv1.GenerateTextRequest) (string, error) {
	var got strings.Builder
	err := u.StreamGenerateText(ctx, deferred.New(req), func(ev *genwayv1.StreamGenerateTextResponse) error {
		if w := ev.GetWire(); w != nil {
			if w.GetEvent() != "" {
				got.WriteString("event: " + w.GetEvent() + "\n")
			}
			got.WriteString("data: " + string(w.GetData()) + "\n\n")
		}
		return nil
	})
	return got.String(), err
}
