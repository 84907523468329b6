package override_test

import (
	"slices"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/generatecontent"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/codec/messages"
	"github.com/genway/genway/codec/responses"
	"github.com/genway/genway/core/override"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

var codecs = map[string]codec.Codec{
	"chat": chat.Codec{}, "responses": responses.Codec{}, "messages": messages.Codec{}, "generatecontent": generatecontent.Codec{},
}

// The caller's body follows the canonical request, member by member, and what the
// caller does not get is reported.
func TestText(t *testing.T) {
	for _, c := range []struct {
		name, protocol string
		rules          override.Rules
		body, want     string
		lost           []string
	}{
		{
			"set over", "chat", override.Rules{Set: map[string]any{"temperature": 0.2}},
			`{"model":"m", "temperature" : 1.0, "messages":[{"role":"user","content":"hi"}],"odd":1.50}`,
			`{"model":"m", "temperature" : 0.2, "messages":[{"role":"user","content":"hi"}],"odd":1.50}`,
			[]string{"sampling.temperature"},
		},
		{
			"set where nothing was asked for", "chat", override.Rules{Set: map[string]any{"temperature": 0.2}},
			`{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
			`{"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":0.2}`, nil,
		},
		{
			"set what was asked for", "chat", override.Rules{Set: map[string]any{"temperature": 1.0}},
			`{"model":"m","temperature":1.00,"messages":[{"role":"user","content":"hi"}]}`,
			`{"model":"m","temperature":1.00,"messages":[{"role":"user","content":"hi"}]}`, nil,
		},
		{
			"default for null", "chat", override.Rules{Default: map[string]any{"temperature": 0.2}},
			`{"model":"m","temperature":null,"messages":[{"role":"user","content":"hi"}]}`,
			`{"model":"m","temperature":0.2,"messages":[{"role":"user","content":"hi"}]}`, nil,
		},
		{
			"default gives way to zero", "chat", override.Rules{Default: map[string]any{"temperature": 0.2}},
			`{"model":"m","temperature":0,"messages":[{"role":"user","content":"hi"}]}`,
			`{"model":"m","temperature":0,"messages":[{"role":"user","content":"hi"}]}`, nil,
		},
		{
			"drop", "chat", override.Rules{Drop: []string{"top_p", "seed", "user"}},
			`{"top_p":0.5,"model":"m","messages":[{"role":"user","content":"hi"}],"user":"u"}`,
			`{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
			[]string{"sampling.top_p", "user"},
		},
		{
			"drop what the contract has no place for in this protocol", "chat", override.Rules{Drop: []string{"top_k"}},
			`{"model":"m","top_k":4,"messages":[{"role":"user","content":"hi"}]}`,
			`{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
			[]string{"top_k"},
		},
		{
			"bound, in the caller's member", "chat", override.Rules{Bound: map[string]override.Range{"max_output_tokens": {Max: new(100.0)}}},
			`{"model":"m","max_completion_tokens":4000,"messages":[{"role":"user","content":"hi"}]}`,
			`{"model":"m","max_completion_tokens":100,"messages":[{"role":"user","content":"hi"}]}`,
			[]string{"max_output_tokens"},
		},
		{
			"bound holds", "chat", override.Rules{Bound: map[string]override.Range{"max_output_tokens": {Max: new(100.0)}}},
			`{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"hi"}]}`,
			`{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"hi"}]}`, nil,
		},
		{
			"bound of nothing", "chat", override.Rules{Bound: map[string]override.Range{"max_output_tokens": {Max: new(100.0)}}},
			`{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
			`{"model":"m","messages":[{"role":"user","content":"hi"}]}`, nil,
		},
		{
			"bound from below, of a default", "chat", override.Rules{
				Default: map[string]any{"temperature": 0.2}, Bound: map[string]override.Range{"temperature": {Min: new(0.5)}},
			},
			`{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
			`{"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":0.5}`,
			[]string{"sampling.temperature"},
		},
		{
			"nested", "responses", override.Rules{Set: map[string]any{"effort": "low"}, Drop: []string{"verbosity"}},
			`{"model":"m","input":"hi","reasoning":{"effort":"high","odd":1},"text":{"verbosity":"low","format":{"type":"text"}}}`,
			`{"model":"m","input":"hi","reasoning":{"effort":"low","odd":1},"text":{"format":{"type":"text"}}}`,
			[]string{"verbosity", "thinking.effort"},
		},
		{
			"budget", "messages", override.Rules{Bound: map[string]override.Range{"budget_tokens": {Max: new(2048.0)}}},
			`{"model":"m","max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":8000},"messages":[{"role":"user","content":"hi"}]}`,
			`{"model":"m","max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":2048},"messages":[{"role":"user","content":"hi"}]}`,
			[]string{"thinking.budget_tokens"},
		},
		{
			"lists and whole groups", "messages", override.Rules{Set: map[string]any{"stop_sequences": []string{"END"}}, Drop: []string{"thinking"}},
			`{"model":"m","max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":8000},"messages":[{"role":"user","content":"hi"}]}`,
			`{"model":"m","max_tokens":9000,"messages":[{"role":"user","content":"hi"}],"stop_sequences":["END"]}`,
			[]string{"thinking"},
		},
		{
			"a whole object", "chat", override.Rules{Drop: []string{"response_format"}},
			`{"model":"m","response_format":{"type":"json_object"},"messages":[{"role":"user","content":"hi"}]}`,
			`{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
			[]string{"response_format"},
		},
		{
			"the other spelling", "generatecontent", override.Rules{Bound: map[string]override.Range{"max_output_tokens": {Max: new(5.0)}}, Default: map[string]any{"top_k": int64(3)}},
			`{"contents":[{"parts":[{"text":"hi"}]}],"generation_config":{"max_output_tokens":7}}`,
			`{"contents":[{"parts":[{"text":"hi"}]}],"generation_config":{"max_output_tokens":5,"topK":3}}`,
			[]string{"max_output_tokens"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := override.New(c.rules)
			if err != nil {
				t.Fatal(err)
			}
			req, err := codecs[c.protocol].DecodeRequest([]byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Wire = &genwayv1.WireMessage{Protocol: codecs[c.protocol].Protocol(), Json: []byte(c.body)}
			kept := proto.CloneOf(req.GenerateTextRequest)
			out, losses, err := o.Text(req.GenerateTextRequest)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(out.GetWire().GetJson()); got != c.want {
				t.Errorf("body\n%s, want\n%s", got, c.want)
			}
			var lost []string
			for _, l := range losses {
				lost = append(lost, l.GetMember())
			}
			if !slices.Equal(lost, c.lost) {
				t.Errorf("lost %q, want %q", lost, c.lost)
			}
			if !proto.Equal(kept, req.GenerateTextRequest) {
				t.Error("the caller's request was changed")
			}
			// What the body says now is what the canonical request says.
			again, err := codecs[c.protocol].DecodeRequest(out.GetWire().GetJson())
			if err != nil {
				t.Fatal(err)
			}
			out.Wire = nil
			if !proto.Equal(out, again.GenerateTextRequest) {
				t.Errorf("canonical\n%v, the body says\n%v", out, again.GenerateTextRequest)
			}
		})
	}
}

func TestImage(t *testing.T) {
	o, err := override.New(override.Rules{
		Set: map[string]any{"quality": "low", "response_format": "b64_json"}, Default: map[string]any{"size": "512x512"}, Drop: []string{"style"},
		Bound: map[string]override.Range{"count": {Max: new(2.0)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	body := `{"model":"m","n":4,"prompt":"a cat","style":"vivid","frames":1}`
	req, err := images.Codec{}.DecodeRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Wire = &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, Json: []byte(body)}
	out, losses, err := o.Image(req.GenerateImageRequest)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(out.GetWire().GetJson()), `{"model":"m","n":2,"prompt":"a cat","frames":1,"size":"512x512","quality":"low","response_format":"b64_json"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(losses) != 2 || losses[0].GetMember() != "style" || losses[1].GetMember() != "count" || out.GetCount() != 2 || req.GetCount() != 4 {
		t.Errorf("%v, %v", losses, out)
	}
}

// A form is not changed: the upstream's is made anew of the request.
func TestFormIsMadeAnew(t *testing.T) {
	o, err := override.New(override.Rules{Set: map[string]any{"input_fidelity": "low"}})
	if err != nil {
		t.Fatal(err)
	}
	req := &genwayv1.GenerateImageRequest{
		Model: "m", InputFidelity: "high", Images: []*genwayv1.Media{{MimeType: "image/png"}},
		Wire: &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, Json: []byte("--b\r\n")},
	}
	out, losses, err := o.Image(req)
	if err != nil || out.GetInputFidelity() != "low" || len(losses) != 1 || out.GetWire().GetProtocol() != req.GetWire().GetProtocol() || out.GetWire().GetJson() != nil || len(req.GetWire().GetJson()) == 0 {
		t.Errorf("%v, %v, %v", out, losses, err)
	}
}

// Direct callers have no body; what they ask for is changed all the same.
func TestNoBody(t *testing.T) {
	o, err := override.New(override.Rules{Set: map[string]any{"temperature": 0.5, "seed": int64(1)}})
	if err != nil {
		t.Fatal(err)
	}
	out, losses, err := o.Text(&genwayv1.GenerateTextRequest{Sampling: &genwayv1.Sampling{TopK: new(int32(2))}})
	if err != nil || len(losses) != 0 || out.GetSampling().GetTemperature() != 0.5 || out.GetSampling().GetSeed() != 1 || out.GetSampling().GetTopK() != 2 || out.Wire != nil {
		t.Errorf("%v, %v, %v", out, losses, err)
	}
	var none *override.Overrides
	if same, _, _ := none.Text(out); same != out {
		t.Error("no overrides changed the request")
	}
}

func TestBadRules(t *testing.T) {
	for _, rules := range []override.Rules{
		{Drop: []string{"temprature"}},
		{Set: map[string]any{"temperature": "hot"}},
		{Set: map[string]any{"thinking": "much"}},
		{Default: map[string]any{"top_k": int64(1) << 40}},
		{Default: map[string]any{"stop_sequences": "END"}},
		{Bound: map[string]override.Range{"heat": {}}},
	} {
		if _, err := override.New(rules); err == nil {
			t.Errorf("%+v was taken", rules)
		}
	}
}

// A dropped parameter does not come back by extra_json.
func TestDropReachesExtraJSON(t *testing.T) {
	o, err := override.New(override.Rules{Drop: []string{"top_k"}})
	if err != nil {
		t.Fatal(err)
	}
	req := &genwayv1.GenerateTextRequest{Model: "m", ExtraJson: `{"best_of":2,"top_k":4}`}
	out, losses, err := o.Text(req)
	if err != nil || out.GetExtraJson() != `{"best_of":2}` || len(losses) != 1 || losses[0].GetMember() != "extra_json.top_k" {
		t.Errorf("%q %v %v", out.GetExtraJson(), losses, err)
	}
	if req.GetExtraJson() != `{"best_of":2,"top_k":4}` {
		t.Error("the request was changed")
	}
}
