package fit_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Texts of only white space are skipped for messages, wherever they stand; the end of
// a last turn of the assistant has none.
func TestTexts(t *testing.T) {
	const model = genwayv1.Role_ROLE_ASSISTANT
	refusal := &genwayv1.Part{Kind: &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{Text: " "}}}
	req := &genwayv1.GenerateTextRequest{Messages: []*genwayv1.Message{
		turn(genwayv1.Role_ROLE_SYSTEM, codec.TextPart("\u00a0\n")),
		turn(genwayv1.Role_ROLE_USER, codec.TextPart(""), codec.TextPart(" a ")),
		turn(model, refusal, codec.TextPart("b ")),
		turn(genwayv1.Role_ROLE_TOOL, result("c", codec.TextPart("\t"), codec.TextPart("d"))),
		turn(model, codec.TextPart("\n"), codec.TextPart("e \n")),
	}}
	var losses codec.Losses
	got := fit.Texts(req, rulesOf(messages), &losses)
	var lost []string
	for _, l := range losses.List() {
		lost = append(lost, l.Member)
	}
	if want := []string{"messages[0].parts[0]", "messages[2].parts[0]", "messages[3].parts[0].tool_result.parts[0]", "messages[4].parts[0]", "messages[4].parts[1]"}; !slices.Equal(lost, want) {
		t.Errorf("lost %q, want %q", lost, want)
	}
	inner := got.Messages[3].Parts[0].GetToolResult().Parts
	if !member.AllLifted(got.Messages[0]) || got.Messages[1] != req.Messages[1] || got.Messages[2].Parts[1].GetText().Text != "b " ||
		!member.Lifted(inner[0]) || inner[1].GetText().Text != "d" || got.Messages[4].Parts[1].GetText().Text != "e" {
		t.Errorf("%v", got)
	}
	if req.Messages[4].Parts[1].GetText().Text != "e \n" {
		t.Error("the request is changed")
	}
	if fit.Texts(req, rulesOf(chat), nil) != req {
		t.Error("chat completions takes such texts")
	}
}

func TestStops(t *testing.T) {
	const gemini = genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
	for name, tt := range map[string]struct {
		protocol genwayv1.Protocol
		stops    []string
		sent     []string
		lost     int
		refused  bool
	}{
		"none":                {messages, nil, nil, 0, false},
		"white space":         {messages, []string{"\n", "a", "", " \t"}, []string{"a"}, 3, false},
		"white space alone":   {messages, []string{"\n\n"}, nil, 1, false},
		"white space to chat": {chat, []string{"\n"}, []string{"\n"}, 0, false},
		"many to messages":    {messages, []string{"1", "2", "3", "4", "5", "6"}, []string{"1", "2", "3", "4", "5", "6"}, 0, false},
		"four to chat":        {chat, []string{"1", "2", "3", "4"}, []string{"1", "2", "3", "4"}, 0, false},
		"five to chat":        {chat, []string{"1", "2", "3", "4", "5"}, nil, 0, true},
		"five to gemini":      {gemini, []string{"1", "2", "3", "4", "5"}, []string{"1", "2", "3", "4", "5"}, 0, false},
		"six to gemini":       {gemini, []string{"1", "2", "3", "4", "5", "6"}, nil, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			var losses codec.Losses
			got, err := fit.Stops(&genwayv1.GenerateTextRequest{StopSequences: tt.stops}, rulesOf(tt.protocol), &losses)
			if tt.refused {
				var f *fault.Error
				if !errors.As(err, &f) || f.Param != "stop_sequences" {
					t.Fatalf("%v", err)
				}
				return
			}
			if err != nil || !slices.Equal(got.StopSequences, tt.sent) || len(losses.List()) != tt.lost {
				t.Errorf("%v, lost %v, %v", got, losses.List(), err)
			}
		})
	}
}
