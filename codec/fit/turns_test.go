package fit_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fit"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

const generateContent = genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT

func called(id string) *genwayv1.Part {
	p := codec.CallPart("f", "{}")
	p.GetToolCall().Id = id
	return p
}

// told is a conversation in short: u and m and t and s are the roles, then texts, calls as ids with !, results with ?.
func told(messages []*genwayv1.Message) string {
	var all []string
	for _, m := range messages {
		var parts []string
		for _, p := range m.Parts {
			switch {
			case p.GetToolCall() != nil:
				parts = append(parts, "!"+p.GetToolCall().Id)
			case p.GetToolResult() != nil:
				parts = append(parts, "?"+p.GetToolResult().ToolCallId)
			case p.GetText() != nil:
				parts = append(parts, p.GetText().Text)
			case p.GetThinking() != nil:
				parts = append(parts, "~")
			}
		}
		if len(parts) > 0 {
			all = append(all, map[genwayv1.Role]string{genwayv1.Role_ROLE_USER: "u", genwayv1.Role_ROLE_ASSISTANT: "m", genwayv1.Role_ROLE_TOOL: "t", genwayv1.Role_ROLE_SYSTEM: "s"}[m.Role]+"("+strings.Join(parts, " ")+")")
		}
	}
	return strings.Join(all, " ")
}

// Each call has one result, right behind it, and each result its call.
func TestTurns(t *testing.T) {
	const user, model, tool, system = genwayv1.Role_ROLE_USER, genwayv1.Role_ROLE_ASSISTANT, genwayv1.Role_ROLE_TOOL, genwayv1.Role_ROLE_SYSTEM
	text := codec.TextPart
	sealed := &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{EncryptedContent: &genwayv1.Seal{Protocol: responses, Value: []byte("x")}}}}
	hi := turn(user, text("hi"))
	for name, c := range map[string]struct {
		in   []*genwayv1.Message
		want string
		lost []string
		only genwayv1.Protocol
	}{
		"fits":            {[]*genwayv1.Message{turn(system, text("s")), hi, turn(model, text("a"), called("1"), called("2")), turn(tool, result("1"), result("2")), turn(model, text("b")), hi}, "", nil, 0},
		"of the user":     {[]*genwayv1.Message{hi, turn(model, called("1")), turn(user, result("1"), text("and"))}, "", nil, 0},
		"another order":   {[]*genwayv1.Message{hi, turn(model, called("1"), called("2")), turn(tool, result("2"), result("1"))}, "u(hi) m(!1 !2) t(?1 ?2)", nil, 0},
		"text between":    {[]*genwayv1.Message{hi, turn(model, called("1")), turn(user, text("wait")), turn(tool, result("1"))}, "u(hi) m(!1) u(?1 wait)", nil, 0},
		"system between":  {[]*genwayv1.Message{hi, turn(model, called("1")), turn(system, text("s")), turn(tool, result("1"))}, "u(hi) m(!1) t(?1) s(s)", nil, 0},
		"without result":  {[]*genwayv1.Message{hi, turn(model, called("1"), called("2")), turn(tool, result("2"))}, "u(hi) m(!1 !2) t(?1 ?2)", []string{"messages[1].parts[0].tool_call"}, 0},
		"open at the end": {[]*genwayv1.Message{hi, turn(model, called("1"))}, "u(hi) m(!1) t(?1)", []string{"messages[1].parts[0].tool_call"}, 0},
		"then the model":  {[]*genwayv1.Message{hi, turn(model, called("1")), turn(model, text("b")), turn(tool, result("1"))}, "u(hi) m(!1 b) t(?1)", nil, 0},
		"an orphan":       {[]*genwayv1.Message{hi, turn(tool, result("9", text("late"))), turn(model, text("b"))}, "u(hi) t(late) m(b)", []string{"messages[1].parts[0].tool_result"}, 0},
		"an empty orphan": {[]*genwayv1.Message{hi, turn(tool, result("9")), turn(model, text("b"))}, "u(hi) m(b)", []string{"messages[1].parts[0].tool_result"}, 0},
		"two results":     {[]*genwayv1.Message{hi, turn(model, called("1")), turn(tool, result("1", text("x")), result("1", text("y")))}, "u(hi) m(!1) t(?1 y)", []string{"messages[2].parts[1].tool_result"}, 0},
		"without any id":  {[]*genwayv1.Message{hi, turn(tool, result("", text("x")))}, "u(hi) t(x)", []string{"messages[1].parts[0].tool_result"}, 0},
		"two turns":       {[]*genwayv1.Message{hi, turn(model, text("a")), turn(model, text("b"))}, "u(hi) m(a b)", nil, generateContent},
		"calls first":     {[]*genwayv1.Message{turn(system, text("s")), turn(model, called("1")), turn(tool, result("1"))}, "s(s) u(Continue.) m(!1) t(?1)", nil, generateContent},
		"reasoning last":  {[]*genwayv1.Message{hi, turn(model, sealed, text("a"), sealed)}, "u(hi) m(~ a)", []string{"messages[1].parts[2].thinking"}, responses},
	} {
		for _, rule := range []genwayv1.Protocol{chat, responses, messages, generateContent} {
			if c.only != 0 && rule != c.only {
				if got := fit.Turns(&genwayv1.GenerateTextRequest{Messages: c.in}, rulesOf(rule), nil); told(got.Messages) != told(c.in) {
					t.Errorf("%s: %s becomes %s for %s", name, told(c.in), told(got.Messages), rule)
				}
				continue
			}
			req := &genwayv1.GenerateTextRequest{Messages: c.in}
			before := proto.CloneOf(req)
			var losses codec.Losses
			got := fit.Turns(req, rulesOf(rule), &losses)
			if !proto.Equal(req, before) {
				t.Fatalf("%s: the request is changed", name)
			}
			if c.want == "" && got != req {
				t.Errorf("%s: it fits, and becomes %s for %s", name, told(got.Messages), rule)
			}
			if c.want != "" && told(got.Messages) != c.want {
				t.Errorf("%s: %s becomes %s for %s, want %s", name, told(c.in), told(got.Messages), rule, c.want)
			}
			var lost []string
			for _, l := range losses.List() {
				lost = append(lost, l.Member)
			}
			if !slices.Equal(lost, c.lost) {
				t.Errorf("%s: lost %v, want %v", name, lost, c.lost)
			}
			if again := fit.Turns(got, rulesOf(rule), nil); told(again.Messages) != told(got.Messages) {
				t.Errorf("%s: and then %s", name, told(again.Messages))
			}
		}
	}
	stored := &genwayv1.GenerateTextRequest{Messages: []*genwayv1.Message{turn(tool, result("9"))}, NativeFields: []*genwayv1.NativeField{{Protocol: responses, Name: "previous_response_id", Json: []byte(`"r"`)}}}
	if fit.Turns(stored, rulesOf(responses), nil) != stored {
		t.Error("the call may be one that the upstream has stored")
	}
}

// Identifiers are as long as the vendor takes and unique, and results have the identifiers of their calls.
func TestIdentifiersOfCalls(t *testing.T) {
	const user, model, tool = genwayv1.Role_ROLE_USER, genwayv1.Role_ROLE_ASSISTANT, genwayv1.Role_ROLE_TOOL
	long := strings.Repeat("x", 65)
	conversation := []*genwayv1.Message{turn(user, codec.TextPart("hi"))}
	for range 3 {
		conversation = append(conversation, turn(model, called(long), called("1"), called("1"), called(long+"y")), turn(tool, result(long), result("1"), result("1"), result(long+"y")))
	}
	for rule, most := range map[genwayv1.Protocol]int{chat: 40, responses: 64, messages: 1000, generateContent: 1000} {
		req := &genwayv1.GenerateTextRequest{Messages: conversation}
		var losses codec.Losses
		got := fit.Turns(req, rulesOf(rule), &losses)
		seen := map[string]bool{}
		for i := 1; i < len(got.Messages); i += 2 {
			for j, p := range got.Messages[i].Parts {
				id := p.GetToolCall().GetId()
				if len(id) > most || seen[id] || got.Messages[i+1].Parts[j].GetToolResult().GetToolCallId() != id {
					t.Errorf("%s: %q is answered by %v", rule, id, got.Messages[i+1].Parts[j])
				}
				seen[id] = true
			}
		}
		if told(fit.Turns(req, rulesOf(rule), nil).Messages) != told(got.Messages) || losses.List() != nil {
			t.Errorf("%s: another time it is another one; lost %v", rule, losses.List())
		}
		// The conversation of the turn before begins alike.
		if earlier := told(fit.Turns(&genwayv1.GenerateTextRequest{Messages: conversation[:5]}, rulesOf(rule), nil).Messages); !strings.HasPrefix(told(got.Messages), earlier) {
			t.Errorf("%s: %s begins otherwise than %s", rule, told(got.Messages), earlier)
		}
	}
}

// Conversations of very many calls cost what they are long.
func TestManyCalls(t *testing.T) {
	const user, model, tool = genwayv1.Role_ROLE_USER, genwayv1.Role_ROLE_ASSISTANT, genwayv1.Role_ROLE_TOOL
	calls, results := turn(model), turn(tool)
	joined := []*genwayv1.Message{turn(user, codec.TextPart("hi"))}
	for i := range 20000 {
		id := strconv.Itoa(i)
		calls.Parts, results.Parts = append(calls.Parts, called(id)), append(results.Parts, result(id))
		joined = append(joined, turn(model, called(id)))
	}
	for _, rule := range []genwayv1.Protocol{chat, responses, messages, generateContent} {
		for _, list := range [][]*genwayv1.Message{{joined[0], calls, results}, joined, {joined[0], results}} {
			fit.Turns(&genwayv1.GenerateTextRequest{Messages: list}, rulesOf(rule), nil)
		}
	}
}
