package remote

import (
	"fmt"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// The text of a stream that passes through is counted while it is forwarded, in batches and in single
// events, so that a caller that disconnects is charged for the text that it got.
func TestFlowOfPassThroughStreams(t *testing.T) {
	var body strings.Builder
	text := 0
	for i := range 300 {
		word := fmt.Sprintf("word %d", i)
		text += len(word)
		fmt.Fprintf(&body, "data: {\"id\":\"c\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":null}],\"usage\":null}\n\n", word)
	}
	body.WriteString("data: {\"id\":\"c\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":null}\n\ndata: [DONE]\n\n")
	for _, batches := range []bool{false, true} {
		u, req := passThrough(t, genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, body.String(), batches)
		var record call.Record
		err := u.StreamGenerateText(call.With(t.Context(), &record), deferred.New(req), func(*genwayv1.StreamGenerateTextResponse) error { return nil })
		if err != nil || record.Flow == nil || record.Flow.Load() != int64(text) {
			t.Errorf("in batches %t: %+v, want %d bytes; %v", batches, record, text, err)
		}
	}
}

// The usage of a stream that fails is its beginning's, unless the failure itself has one; for
// callers of its protocol and for others.
func TestUsageOfFailedStreams(t *testing.T) {
	start := "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":7,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n"
	for name, rest := range map[string]string{
		"an error event": "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n",
		"cut":            "",
	} {
		for _, own := range []bool{true, false} {
			u, req := passThrough(t, genwayv1.Protocol_PROTOCOL_MESSAGES, start+rest, false)
			if !own {
				req.Wire = nil
				req.Messages = []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "a"}}}}}}
			}
			err := u.StreamGenerateText(t.Context(), deferred.New(req), func(*genwayv1.StreamGenerateTextResponse) error { return nil })
			if err == nil || fault.From(err).Usage.GetInputTokens() != 7 {
				t.Errorf("%s, of its own protocol %t: %v, usage %v", name, own, err, fault.From(err).Usage)
			}
		}
	}
}
