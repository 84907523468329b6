package fit_test

import (
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fit"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// The first call of each step has a signature where the model demands one: its own, or the value that the
// vendor documents for a call without one. No other part gets one.
func TestSigned(t *testing.T) {
	const gemini = genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
	const user, model, tool = genwayv1.Role_ROLE_USER, genwayv1.Role_ROLE_ASSISTANT, genwayv1.Role_ROLE_TOOL
	call := func(s *genwayv1.Seal) *genwayv1.Part {
		p := codec.CallPart("f", "{}")
		p.ThoughtSignature = s
		return p
	}
	own := &genwayv1.Seal{Protocol: gemini, Value: []byte("own")}
	foreign := &genwayv1.Seal{Protocol: chat, Value: []byte("foreign")}
	conversation := []*genwayv1.Message{
		turn(user, codec.TextPart("hi")),
		turn(model, codec.TextPart("a"), call(nil), call(nil)),
		turn(tool, result("1"), result("2")),
		turn(model, call(own), call(nil)),
		turn(model, call(nil)), // the same step
		turn(tool, result("3"), result("4")),
		turn(model, call(foreign)),
		turn(user, result("5"), codec.TextPart("go on")),
		turn(model, codec.TextPart("b")),
		turn(model, call(nil)),
		turn(tool, result("6")),
	}
	const absent = "skip_thought_signature_validator"
	want := map[[2]int]string{{1, 1}: absent, {3, 0}: "own", {6, 0}: absent, {9, 0}: absent}
	for name, demands := range map[string]bool{
		"gemini-3-pro-preview": true, "models/gemini-3.5-flash": true, "google/gemini-4-pro": true, "gemini-10": true, "gemini-flash-latest": true,
		"gemini-2.5-pro": false, "gemini-2.0-flash": false, "gemini-1.5-pro": false, "gemma-3-27b": false, "m": false, "": false,
	} {
		req := &genwayv1.GenerateTextRequest{Model: name, Messages: conversation}
		before := proto.CloneOf(req)
		var losses codec.Losses
		got := fit.Signed(req, rulesOf(gemini), &losses)
		if !proto.Equal(req, before) {
			t.Fatal("the request is changed")
		}
		if !demands {
			if got != req || losses.List() != nil {
				t.Errorf("%s: %v, lost %v", name, got, losses.List())
			}
			continue
		}
		for i, m := range got.Messages {
			for j, p := range m.Parts {
				if s := p.GetThoughtSignature(); string(s.GetValue()) != want[[2]int{i, j}] || s != nil && s.GetProtocol() != gemini {
					t.Errorf("%s: messages[%d].parts[%d] has %v", name, i, j, s)
				}
			}
		}
		if l := losses.List(); len(l) != 1 || l[0].Member != "messages[6].parts[0].thought_signature" {
			t.Errorf("lost %v", l)
		}
		if again := fit.Signed(got, rulesOf(gemini), &losses); again != got {
			t.Error("a conversation that fits is copied")
		}
	}
	for _, other := range []genwayv1.Protocol{chat, responses, messages} {
		req := &genwayv1.GenerateTextRequest{Model: "gemini-3-pro", Messages: conversation}
		if fit.Signed(req, rulesOf(other), nil) != req {
			t.Errorf("%s demands signatures", other)
		}
	}
}
