package coreproc_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/drawing"
	"github.com/genway/genway/codec/generatecontent"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/codec/messages"
	"github.com/genway/genway/codec/responses"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/override"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// What a file may set for an upstream of a kind is what the kind's codec can carry, no
// more and no less.
func TestParametersOfKinds(t *testing.T) {
	samples := map[string]string{
		"stop_sequences": "[END]", "effort": "low", "verbosity": "low", "service_tier": "default", "store": "true", "prompt_cache_key": "k",
		"safety_identifier": "s", "user": "u", "size": "512x512", "quality": "low", "output_format": "webp", "background": "opaque",
		"moderation": "low", "style": "vivid", "response_format": "url", "temperature": "0.5", "top_p": "0.5", "frequency_penalty": "0.5",
		"presence_penalty": "0.5", "budget_tokens": "2048", "max_output_tokens": "4096",
	}
	codecs := map[string]codec.Codec{
		"chat": chat.Codec{}, "responses": responses.Codec{}, "messages": messages.Codec{}, "generatecontent": generatecontent.Codec{}, "images": nil,
	}
	for field := range reflect.TypeFor[config.Parameters]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		sample, ok := samples[name]
		if !ok {
			sample = "2"
		}
		for kind, c := range codecs {
			text := fmt.Sprintf("upstreams: {u: {kind: %s, base_url: http://x}}\nroutes: [{model: m, targets: [{upstream: u, set: {%s: %s}}]}]\n", kind, name, sample)
			parsed, err := config.Parse("f", []byte(text), func(string) (string, bool) { return "", false })
			taken := err == nil
			if err != nil && !strings.Contains(err.Error(), "has no parameter "+name) {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if !taken {
				parsed, err = config.Parse("f", []byte(strings.Replace(text, "kind: "+kind+", base_url: http://x", "kind: sandbox", 1)), nil)
				if err != nil {
					t.Fatal(err)
				}
			}
			o, err := override.New(override.Rules{Set: parsed.Routes[0].Targets[0].Set.Values()})
			if err != nil {
				t.Fatal(err)
			}
			if carried := carries(t, o, c, name) || draws(t, o, c, name); carried != taken {
				t.Errorf("kind %s, %s: the file may have it %t, the codec carries it %t", kind, name, taken, carried)
			}
		}
	}
}

// draws reports whether a parameter of images has a place where upstreams draw in answers of text; each image is a
// call there.
func draws(t *testing.T, o *override.Overrides, c codec.Codec, name string) bool {
	t.Helper()
	drawer, ok := c.(codec.Drawer)
	req := &genwayv1.GenerateImageRequest{Model: "m", Prompt: "p"}
	changed, _, _ := o.Image(req)
	if !ok || changed.GetCount() > 1 {
		return ok
	}
	var losses codec.Losses
	before, err := drawing.Request(drawer, req, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	after, err := drawing.Request(drawer, changed, false, &losses)
	// The settings of text lose an end user that they have no place for.
	return err == nil && len(losses.List()) == 0 && !proto.Equal(before, after) && name != "user"
}

// carries reports whether a parameter gets into the body and nothing is lost.
func carries(t *testing.T, o *override.Overrides, c codec.Codec, name string) bool {
	t.Helper()
	var losses codec.Losses
	var before, after []byte
	var err error
	if c == nil {
		req := &genwayv1.GenerateImageRequest{Model: "m", Prompt: "p"}
		changed, _, _ := o.Image(req)
		before, err = images.Codec{}.EncodeRequest(req, nil)
		if err != nil {
			t.Fatal(err)
		}
		after, err = images.Codec{}.EncodeRequest(changed, &losses)
	} else {
		limit := int64(8192)
		req := &genwayv1.GenerateTextRequest{Model: "m", MaxOutputTokens: &limit, Messages: []*genwayv1.Message{{
			Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "hi"}}}},
		}}}
		changed, _, _ := o.Text(req)
		before, err = c.EncodeRequest(&codec.Request{GenerateTextRequest: req}, nil)
		if err != nil {
			t.Fatal(err)
		}
		after, err = c.EncodeRequest(&codec.Request{GenerateTextRequest: changed}, &losses)
	}
	return err == nil && !slices.Equal(before, after) && !slices.ContainsFunc(losses.List(), func(l *genwayv1.Loss) bool {
		return strings.HasSuffix(l.GetMember(), name)
	})
}
