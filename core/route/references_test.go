package route_test

import (
	"context"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

func reference(id string) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{
		Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, Type: "item_reference", Json: []byte(`{"type":"item_reference","id":"` + id + `"}`)}}}
}

func spoken(role genwayv1.Role, parts ...*genwayv1.Part) *genwayv1.Message {
	return &genwayv1.Message{Role: role, Parts: parts}
}

func words(text string) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: text}}}
}

// References to what Genway does not have go to upstreams of their own protocol alone. Others get
// the rest of the conversation, as long as there is one.
func TestUnknownReferences(t *testing.T) {
	const user, assistant, system = genwayv1.Role_ROLE_USER, genwayv1.Role_ROLE_ASSISTANT, genwayv1.Role_ROLE_SYSTEM
	for _, test := range []struct {
		name     string
		protocol genwayv1.Protocol
		messages []*genwayv1.Message
		sent     int // messages
		lost     string
		refused  bool
	}{
		{"own protocol", genwayv1.Protocol_PROTOCOL_RESPONSES, []*genwayv1.Message{spoken(assistant, reference("rs_1"))}, 1, "", false},
		{"another", genwayv1.Protocol_PROTOCOL_MESSAGES, []*genwayv1.Message{spoken(user, words("hi")), spoken(assistant, reference("rs_1"), words("x"), reference("msg_1")), spoken(assistant, reference("rs_2"))}, 2, "messages[1].parts[0] messages[1].parts[2] messages[2].parts[0]", false},
		{"canonical", genwayv1.Protocol_PROTOCOL_UNSPECIFIED, []*genwayv1.Message{spoken(assistant, reference("rs_1")), spoken(user, words("hi"))}, 1, "messages[0].parts[0]", false},
		{"nothing else", genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, []*genwayv1.Message{spoken(system, words("be brief")), spoken(assistant, reference("rs_1"))}, 0, "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := &listener{}
			r := route.New([]route.Route{{Model: "*", Targets: []route.Target{{Name: "u", Upstream: u, Protocol: test.protocol}}}})
			resp, err := r.GenerateText(call.With(t.Context(), &call.Record{}), deferred.New(&genwayv1.GenerateTextRequest{Model: "m", Messages: test.messages}))
			if test.refused {
				if f := fault.From(err); f == nil || f.Kind != fault.InvalidRequest || f.Param != "input" || u.got != nil {
					t.Errorf("%v, %v", err, u.got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var lost []string
			for _, l := range resp.GetLosses() {
				lost = append(lost, l.GetMember())
			}
			if strings.Join(lost, " ") != test.lost || len(u.got.GetMessages()) != test.sent {
				t.Errorf("lost %v, sent %v", lost, u.got.GetMessages())
			}
			if parts := test.messages[len(test.messages)-1].GetParts(); len(parts) != 1 {
				t.Errorf("the caller's request was changed: %v", parts)
			}
		})
	}
}

// listener notes what it was asked.
type listener struct {
	upstream.Upstream
	got *genwayv1.GenerateTextRequest
}

func (l *listener) GenerateText(_ context.Context, asked *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	req, err := asked.Whole()
	if err != nil {
		return nil, err
	}
	l.got = req
	return &genwayv1.GenerateTextResponse{}, nil
}
