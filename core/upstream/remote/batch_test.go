package remote

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

func textDelta(text string) []*genwayv1.StreamGenerateTextResponse {
	return []*genwayv1.StreamGenerateTextResponse{codec.Event(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Text{Text: text}})}
}

// An event with another text, number or padding matches; one that differs in anything
// else, or is not there in full, does not.
func TestPattern(t *testing.T) {
	const (
		chat      = "data: {\"id\":\"c\",\"choices\":[{\"delta\":{\"content\":%s},\"finish_reason\":null}],\"obfuscation\":\"xy\"}\n\n"
		responses = "event: response.output_text.delta\ndata: {\"sequence_number\": 7,\"delta\":%s}\n\n"
		messages  = "event: content_block_delta\ndata: {\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\": %s}}\n\n"
	)
	for _, shape := range []string{chat, responses, messages} {
		var p pattern
		raw := fmt.Sprintf(shape, `"one"`)
		p.learn([]byte(raw), "one")
		for _, c := range []struct {
			text    string
			matches bool
		}{
			{fmt.Sprintf(shape, `"two \"\n\u00e9 é"`), true},
			{fmt.Sprintf(shape, `""`), true},
			{strings.ReplaceAll(strings.ReplaceAll(raw, "xy", "abc"), " 7", " 12345"), true},
			{fmt.Sprintf(shape, `null`), false},
			{fmt.Sprintf(shape, `7`), false},
			{fmt.Sprintf(shape, "\"\xff\""), false},
			{fmt.Sprintf(shape, "\"\x01\""), false},
			{fmt.Sprintf(shape, `"x","role":"tool"`), false},
			{strings.Replace(raw, "null", `"stop"`, 1) + "x", shape != chat},
			{strings.Replace(raw, "\n\n", "\nid: 1\n\n", 1), false},
			{strings.Replace(raw, `0`, `1`, 1), !strings.Contains(raw, "0")},
			{"", false},
		} {
			want := 0
			if c.matches {
				want = strings.Index(c.text, "\n\n") + 2
			}
			if got, _ := p.match([]byte(c.text)); got != want {
				t.Errorf("%q: %d, want %d", c.text, got, want)
			}
		}
		for cut := range raw {
			if n, _ := p.match([]byte(raw[:cut])); n != 0 {
				t.Errorf("%q matches", raw[:cut])
			}
		}
		if n, events, text := p.batch([]byte(raw + raw + raw[:20])); n != 2*len(raw) || events != 2 || text != 2*len("one") {
			t.Errorf("a batch of %d events in %d bytes", events, n)
		}
	}
}

// There is no pattern of an event that is more than an addition of text, or is not written plainly.
func TestPatternIsNotLearnt(t *testing.T) {
	const raw = "data: {\"content\":\"one\"}\n\n"
	two := append(textDelta("one"), textDelta("one")...)
	for name, c := range map[string]struct {
		raw    string
		events []*genwayv1.StreamGenerateTextResponse
	}{
		"two events":      {raw, two},
		"none":            {raw, nil},
		"another text":    {raw, textDelta("two")},
		"no text":         {raw, []*genwayv1.StreamGenerateTextResponse{codec.Event(&genwayv1.Ping{})}},
		"twice":           {"data: {\"content\":\"one\",\"text\":\"one\"}\n\n", textDelta("one")},
		"two lines":       {"data: {\"content\":\ndata: \"one\"}\n\n", textDelta("one")},
		"carriage return": {"data: {\"content\":\"one\"}\r\n\r\n", textDelta("one")},
		"no space":        {"data:{\"content\":\"one\"}\n\n", textDelta("one")},
		"with an id":      {"id: 1\n" + raw, textDelta("one")},
		"another member":  {"data: {\"words\":\"one\"}\n\n", textDelta("one")},
	} {
		var p pattern
		p.learn([]byte(raw), "one")
		p.learn([]byte(c.raw), new(textStream).look(c.events).text)
		plain, _ := p.match([]byte(raw))
		if other, _ := p.match([]byte(c.raw)); plain != 0 || other != 0 {
			t.Errorf("%s: there is a pattern", name)
		}
	}
}

// A caller that takes batches gets the same bytes, and the same completed event, as one that takes
// single events, on each protocol.
func TestBatches(t *testing.T) {
	var chat, messages strings.Builder
	chatEvent := func(delta, finish string) {
		fmt.Fprintf(&chat, "data: {\"id\":\"c\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}],\"usage\":null}\n\n", delta, finish)
	}
	chatEvent(`{"role":"assistant","content":""}`, "null")
	messages.WriteString("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n")
	messages.WriteString("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n")
	for i := range 300 {
		chatEvent(fmt.Sprintf(`{"content":"word %d"}`, i), "null")
		fmt.Fprintf(&messages, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"word %d\"}}\n\n", i)
		if i%100 == 50 {
			messages.WriteString("event: ping\ndata: {\"type\":\"ping\"}\n\n")
		}
	}
	chatEvent(`{}`, `"stop"`)
	chat.WriteString("data: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":300,\"total_tokens\":303}}\n\ndata: [DONE]\n\n")
	messages.WriteString("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n")
	messages.WriteString("event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":300}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	for protocol, body := range map[genwayv1.Protocol]string{
		genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS: chat.String(), genwayv1.Protocol_PROTOCOL_MESSAGES: messages.String(),
	} {
		single, _, usage := forwarded(t, protocol, body, false)
		batches, sent, batchUsage := forwarded(t, protocol, body, true)
		if single != body || batches != body {
			t.Errorf("%v: of %d bytes %d came as events, %d as batches", protocol, len(body), len(single), len(batches))
		}
		if sent > 100 {
			t.Errorf("%v: %d messages were sent", protocol, sent)
		}
		if usage.GetOutputTokens() != 300 || batchUsage.GetOutputTokens() != 300 {
			t.Errorf("%v: usage %v and %v", protocol, usage, batchUsage)
		}
	}
}

// A stream that is cut within a batch is an error.
func TestBatchIsCut(t *testing.T) {
	body := "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"
	u, req := passThrough(t, genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, strings.Repeat(body, 50), true)
	if err := u.StreamGenerateText(t.Context(), deferred.New(req), func(*genwayv1.StreamGenerateTextResponse) error { return nil }); err == nil {
		t.Error("it counts as complete")
	}
}

func passThrough(t *testing.T, protocol genwayv1.Protocol, body string, batches bool) (*Upstream, *genwayv1.GenerateTextRequest) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	transport := NewTransport(Way{})
	t.Cleanup(transport.CloseIdleConnections)
	u, err := New(Config{Protocol: protocol, BaseURL: server.URL, HTTP: transport})
	if err != nil {
		t.Fatal(err)
	}
	return u, &genwayv1.GenerateTextRequest{Model: "m", Wire: &genwayv1.WireMessage{
		Protocol: protocol, Json: []byte(`{"model":"m","messages":[{"role":"user","content":"a"}]}`), Extension: &edgev1.RequestExtension{Deferred: true, AcceptsBatches: batches},
	}}
}

// forwarded returns the upstream's events as the edge would write them, the number of messages that
// they came in, and the usage at the end.
func forwarded(t *testing.T, protocol genwayv1.Protocol, body string, batches bool) (written string, sent int, usage *genwayv1.Usage) {
	t.Helper()
	u, req := passThrough(t, protocol, body, batches)
	var out strings.Builder
	err := u.StreamGenerateText(context.WithoutCancel(t.Context()), deferred.New(req), func(ev *genwayv1.StreamGenerateTextResponse) error {
		sent++
		if end := ev.GetCompleted(); end != nil {
			usage = end.GetUsage()
		}
		f := ev.GetWire()
		if events := strings.Count(string(f.GetBatch().GetEvents()), "\n\n"); events != int(f.GetBatch().GetCount()) {
			t.Errorf("a batch of %d events has the count %d", events, f.GetBatch().GetCount())
		}
		out.Write(f.GetBatch().GetEvents())
		if f.GetEvent() != "" {
			out.WriteString("event: " + f.GetEvent() + "\n")
		}
		if len(f.GetData()) > 0 {
			out.WriteString("data: " + string(f.GetData()) + "\n\n")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), sent, usage
}

// unescaped counts the bytes of a text, however the text is escaped.
func TestUnescaped(t *testing.T) {
	for written, want := range map[string]string{
		`plain`: "plain", ``: "", `a\nb\"c\\\\`: "a\nb\"c\\\\", `\u0041\u00e9\u4e2d`: "Aé中", `\ud83d\ude00x`: "😀x", `é中😀`: "é中😀", `\\u0041`: `\u0041`,
	} {
		if got := unescaped([]byte(written)); got != len(want) {
			t.Errorf("%s: %d bytes, want %d", written, got, len(want))
		}
	}
}
