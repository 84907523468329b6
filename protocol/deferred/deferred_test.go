package deferred_test

import (
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/protobuf/proto"
)

// A body whose statistics an edge has not sent has the same statistics here; a body that no codec
// knows may hold anything.
func TestStatistics(t *testing.T) {
	for id, bodies := range map[genwayv1.Protocol][2]string{ // nothing of others, and something
		genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS: {
			`{"model":"m","messages":[{"role":"user","content":"what is \"genway.\"?"}]}`,
			`{"model":"m","messages":[{"role":"assistant","reasoning_details":[{"signature":"genway.messages.eA"}]}]}`,
		},
		genwayv1.Protocol_PROTOCOL_MESSAGES: {
			`{"model":"m","max_tokens":9,"thinking":{"type":"enabled"},"messages":[{"role":"user","content":"thinking?"}]}`,
			`{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"x"}]}]}`,
		},
		genwayv1.Protocol_PROTOCOL_RESPONSES: {
			`{"model":"m","input":[{"type":"message","id":"msg_1","role":"user","content":"_gw"}]}`,
			`{"model":"m","input":[{"type":"message","id":"msg_gw0123456789abcdef","role":"user","content":"x"}]}`,
		},
		genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT: {
			`{"contents":[{"parts":[{"text":"x","thoughtSignature":"eA=="}]}]}`,
			`{"contents":[{"parts":[{"text":"x","thoughtSignature":"Z2Vud2F5LmNoYXQuZUE="}]}]}`,
		},
	} {
		heads, ok := protocol.Of(id).Codec.(codec.HeadDecoder)
		if !ok {
			t.Fatalf("%v has no heads", id)
		}
		for i, body := range bodies {
			head, ok := heads.DecodeRequestHead([]byte(body))
			if !ok || head.Statistics.GetForeign() != (i == 1) || head.Statistics.GetTextBytes() == 0 {
				t.Errorf("%s: %v, %v", body, ok, head)
				continue
			}
			wire := &genwayv1.WireMessage{Protocol: id, Json: []byte(body)}
			if got := deferred.New(&genwayv1.GenerateTextRequest{Wire: wire}).Statistics(); !proto.Equal(got, head.Statistics) {
				t.Errorf("%s: %v, want %v", body, got, head.Statistics)
			}
			wire.Extension = &edgev1.RequestExtension{Deferred: true, Statistics: &edgev1.BodyStatistics{TextBytes: 7}}
			if got := deferred.New(&genwayv1.GenerateTextRequest{Wire: wire}).Statistics(); got.GetTextBytes() != 7 {
				t.Errorf("%s: is scanned again: %v", body, got)
			}
		}
	}
	if got := deferred.New(&genwayv1.GenerateTextRequest{Wire: &genwayv1.WireMessage{Json: []byte(`{}`)}}).Statistics(); !got.GetForeign() {
		t.Errorf("%v", got)
	}
}

const chat = `{"model":"m","temperature":1,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"clock"}}]}`

// request is the deferred request of a body, as an edge sends it.
func request(body string) *genwayv1.GenerateTextRequest {
	return &genwayv1.GenerateTextRequest{
		Model: "m", Sampling: &genwayv1.Sampling{Temperature: proto.Float64(1)},
		Wire: &genwayv1.WireMessage{
			Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: []byte(body),
			Extension: &edgev1.RequestExtension{Deferred: true, AcceptsBatches: true, Statistics: &edgev1.BodyStatistics{}},
		},
	}
}

// What a component changes in the head of a request is kept when the body is decoded, and the body
// is decoded once for all heads.
func TestWhole(t *testing.T) {
	first := deferred.New(request(chat))
	head := proto.CloneOf(first.Head())
	head.Model, head.Sampling.Temperature = "other", new(0.25)
	changed := first.With(head)
	a, errA := first.Whole()
	b, errB := changed.Whole()
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if b.GetModel() != "other" || b.GetSampling().GetTemperature() != 0.25 || len(b.GetMessages()) != 1 || len(b.GetTools()) != 1 {
		t.Errorf("%v", b)
	}
	if a.GetModel() != "m" || a.GetSampling().GetTemperature() != 1 || a.GetMessages()[0] != b.GetMessages()[0] {
		t.Errorf("%v: the body is decoded again, or the first head is changed", a)
	}
	if again := deferred.New(b); again.Deferred() || !again.Head().GetWire().GetExtension().GetAcceptsBatches() {
		t.Errorf("%v is deferred again", again.Head())
	}
	if first.Head().GetMessages() != nil || !first.Head().GetWire().GetExtension().GetDeferred() {
		t.Errorf("the head is changed: %v", first.Head())
	}
}

// A message is deferred if it says so. One of an edge before the extension says nothing.
func TestIs(t *testing.T) {
	whole := request(chat)
	whole.Wire.Extension = &edgev1.RequestExtension{}
	earlier := request(chat)
	earlier.Wire.Extension = nil
	for _, c := range []struct {
		name    string
		message *genwayv1.GenerateTextRequest
		want    bool
	}{
		{"deferred", request(chat), true},
		{"whole, with an empty conversation", whole, false},
		{"of an earlier edge", earlier, true},
		{"without a raw body", &genwayv1.GenerateTextRequest{Model: "m"}, false},
	} {
		if got := deferred.Is(c.message); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// A body that its codec refuses fails with the codec's error, each time.
func TestWholeFails(t *testing.T) {
	r := deferred.New(request(`{"model":"m","messages":[{"role":"user","content":7}]}`))
	for range 2 {
		if _, err := r.Whole(); err == nil || fault.From(err).Kind != fault.InvalidRequest || fault.From(err).Param == "" {
			t.Errorf("%v", err)
		}
	}
	r = deferred.New(&genwayv1.GenerateTextRequest{Wire: &genwayv1.WireMessage{Json: []byte(`{}`)}})
	if _, err := r.Whole(); err == nil || fault.From(err).Kind != fault.Internal {
		t.Errorf("%v", err)
	}
}
