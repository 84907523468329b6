package gateway_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	table "github.com/genway/genway/protocol"
)

// A failure that the upstream has reported in the caller's protocol is not reported again,
// even if the upstream sends more after it.
func TestNativeFailuresAreToldOnce(t *testing.T) {
	e := serve(t, nil)
	for _, after := range []string{"", "[DONE]"} {
		for _, p := range streamed {
			protocol := table.ByKind(p.name).ID
			frames := []string{`{"first":1}`, `{"error":{"message":"native words"}}`}
			want := "data: " + frames[0] + "\n\ndata: " + frames[1] + "\n\n"
			if after != "" {
				frames = append(frames, after)
				want += "data: " + after + "\n\n"
			}
			e.core.stream = func(_ context.Context, send func(*genwayv1.StreamGenerateTextResponse) error) error {
				for _, data := range frames {
					if err := send(codec.Event(&genwayv1.WireFrame{Protocol: protocol, Data: []byte(data)})); err != nil {
						return err
					}
				}
				f := fault.New(fault.BadUpstream, "X", "native words")
				f.Wire = &genwayv1.WireMessage{Protocol: protocol, Json: []byte(frames[1])}
				return detailed(f)
			}
			if r := e.do(t, http.MethodPost, p.path, right(p.name), p.body); r.body != want {
				t.Errorf("%s: %s", p.name, r.body)
			}
		}
	}
}

// An upstream's answer that is text comes as text.
func TestNativeTextAnswers(t *testing.T) {
	e := serve(t, nil)
	e.core.answer = &genwayv1.GenerateTextResponse{Wire: &genwayv1.WireMessage{
		Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: []byte("no chat here"), Headers: map[string]string{"content-type": "text/plain"},
	}}
	r := e.do(t, http.MethodPost, protocols[0].path, right("chat"), protocols[0].body)
	if r.status != http.StatusOK || r.header.Get("Content-Type") != "text/plain" || r.body != "no chat here" {
		t.Errorf("%d %v %s", r.status, r.header, r.body)
	}
}
