package explain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/explain"
	"github.com/genway/genway/core/override"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream/remote"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// drawn is a stream of one image behind a preview.
const drawn = `event: image_generation.partial_image
data: {"type":"image_generation.partial_image","b64_json":"cHJl","partial_image_index":0,"created_at":7,"background":"opaque","output_format":"png","quality":"low","size":"16x16"}

event: image_generation.completed
data: {"type":"image_generation.completed","b64_json":"aW1n","created_at":7,"background":"opaque","output_format":"png","quality":"low","size":"16x16","usage":{"input_tokens":3,"output_tokens":5,"total_tokens":8,"input_tokens_details":{"image_tokens":0,"text_tokens":3}}}

`

// drawBody asks for a stream of images.
const drawBody = `{"model":"any","prompt":"A square","stream":true,"partial_images":1}`

// Case X88: a stream of images is explained as the answer that it amounts to, for a caller of the upstream's protocol, for one whose
// request is changed on the way, and of an upstream that takes the contract's messages.
func TestExplainStreamOfImages(t *testing.T) {
	ask := &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, UpstreamProtocol: genwayv1.Protocol_PROTOCOL_IMAGES, Body: []byte(drawBody), Answer: []byte(drawn)}
	a := explained(t, ask)
	if !a.GetStream() || a.GetRefusal() != nil || a.GetTruncated() || a.GetUpstreamEvents() != 2 || a.GetCallerEvents() != 2 || !strings.Contains(a.GetMessageJson(), "aW1n") || strings.Contains(a.String(), "cHJl") {
		t.Errorf("%v", a)
	}
	is := fates(a.GetMembers())
	for _, path := range []string{"created", "data[0].b64_json", "data[0].size", "background", "quality", "output_format", "usage.input_tokens", "usage.input_tokens_details.text_tokens"} {
		if is[path].GetFate() != adminv1.Fate_FATE_KEPT {
			t.Errorf("%s: %v", path, is[path])
		}
	}

	changes, err := override.New(override.Rules{Set: map[string]any{"quality": "low"}})
	if err != nil {
		t.Fatal(err)
	}
	of := genwayv1.Protocol_PROTOCOL_IMAGES
	upstream, err := remote.New(remote.Config{Protocol: of, BaseURL: "http://127.0.0.1:1/v1"})
	if err != nil {
		t.Fatal(err)
	}
	e := &explain.Explainer{Router: route.New([]route.Route{{Model: "*", Targets: []route.Target{{Name: "changed", Protocol: of, Upstream: upstream, Overrides: changes}}}})}
	resp, err := e.Explain(t.Context(), &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, Body: []byte(drawBody), Answer: []byte(drawn)})
	if err != nil || resp.GetRefusal() != nil || !strings.Contains(string(resp.GetUpstreamBody()), `"stream":true`) || !strings.Contains(string(resp.GetUpstreamBody()), `"quality":"low"`) {
		t.Errorf("%v, %s", err, resp.GetUpstreamBody())
	}
	if m := fates(resp.GetAnswer().GetMembers())["data[0].b64_json"]; m.GetFate() != adminv1.Fate_FATE_KEPT || resp.GetAnswer().GetRefusal() != nil {
		t.Errorf("changed: %v", resp.GetAnswer())
	}

	lines := `{"started":{"createTime":"2026-01-01T00:00:00Z"}}
{"image":{"image":{"data":"aW1n","size":"16x16"},"createTime":"2026-01-01T00:00:00Z","quality":"low"}}
{"completed":{"count":1,"usage":{"inputTokens":"3","outputTokens":"5"}}}
`
	ask = &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, Body: []byte(strings.Replace(drawBody, "any", "s", 1)), Answer: []byte(lines)}
	a = explained(t, ask)
	is = fates(a.GetMembers())
	if m := is["images[0].data"]; a.GetRefusal() != nil || a.GetUpstreamEvents() != 3 || a.GetCallerEvents() != 1 || m.GetFate() != adminv1.Fate_FATE_MAPPED || !slices.Contains(m.GetArrives(), "data[0].b64_json") {
		t.Errorf("%v", a)
	}
	if m := is["usage.inputTokens"]; !slices.Contains(m.GetArrives(), "usage.input_tokens") {
		t.Errorf("the usage: %v", m)
	}
	for _, wrong := range []struct{ answer, reason string }{{until(lines, `{"completed"`), fault.ReasonStreamCut}, {lines + "no event\n", fault.ReasonMalformedAnswer}} {
		ask.Answer = []byte(wrong.answer)
		if a = explained(t, ask); a.GetRefusal().GetReason() != wrong.reason || !strings.Contains(string(a.GetCallerBody()), "aW1n") {
			t.Errorf("%s: %v", wrong.reason, a)
		}
	}
}

// A stream of images that ends early, fails, is absurd or was not asked for is explained as far as it came.
func TestExplainStreamsOfImagesThatFail(t *testing.T) {
	preview := until(drawn, "event: image_generation.completed")
	for name, c := range map[string]struct {
		body, answer string
		reason       string
		has          string // what the upstream's side has
	}{
		"no image":        {drawBody, preview, fault.ReasonStreamCut, "{"},
		"cut in an event": {drawBody, until(drawn, `"aW1n"`), fault.ReasonStreamCut, "{"},
		"one of two":      {strings.Replace(drawBody, `"stream"`, `"n":2,"stream"`, 1), drawn, fault.ReasonStreamCut, "aW1n"},
		"two of one":      {drawBody, drawn + strings.ReplaceAll(drawn, "aW1n", "dHdv"), "", "dHdv"},
		"fails":           {drawBody, preview + "event: error\ndata: {\"error\":{\"message\":\"busy\",\"type\":\"server_error\"}}\n\n", "UPSTREAM_ERROR", "{"},
		"fails at once":   {drawBody, "event: error\ndata: {\"error\":{\"message\":\"busy\",\"type\":\"server_error\"}}\n\n", "UPSTREAM_ERROR", ""},
		"done too early":  {drawBody, "data: [DONE]\n\n", fault.ReasonStreamCut, ""},
		"only pings":      {drawBody, ": ping\n\n", fault.ReasonStreamCut, ""},
		"blank":           {drawBody, "\n\n", fault.ReasonStreamCut, ""},
		"no base64":       {drawBody, strings.Replace(drawn, "aW1n", "%%%", 1), "", "{"},
		"absurd figures":  {drawBody, strings.Replace(drawn, `"input_tokens":3`, `"input_tokens":9223372036854775807`, 1), "", "aW1n"},
	} {
		t.Run(name, func(t *testing.T) {
			a := explained(t, &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, UpstreamProtocol: genwayv1.Protocol_PROTOCOL_IMAGES, Body: []byte(c.body), Answer: []byte(c.answer)})
			if !a.GetStream() || a.GetRefusal().GetReason() != c.reason || !strings.Contains(string(a.GetUpstreamBody()), c.has) || c.has == "" && len(a.GetUpstreamBody()) > 0 {
				t.Errorf("%v, %s", a.GetRefusal(), a.GetUpstreamBody())
			}
		})
	}
	a := explained(t, &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, UpstreamProtocol: genwayv1.Protocol_PROTOCOL_IMAGES, Body: []byte(strings.Replace(drawBody, `"stream":true,`, "", 1)), Answer: []byte(drawn)})
	if a.GetRefusal().GetReason() != fault.ReasonMalformedAnswer || !strings.Contains(string(a.GetUpstreamBody()), "aW1n") {
		t.Errorf("a caller that asked for no stream: %v", a)
	}
}
