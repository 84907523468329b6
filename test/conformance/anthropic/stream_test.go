package anthropic_test

import (
	"context"
	"errors"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/genway/genway/test/conformance/check"
)

// streamed folds a stream with the SDK's accumulator and returns the events' types.
func streamed(t *testing.T, params anthropic.MessageNewParams) (*anthropic.Message, []string) {
	t.Helper()
	c := client()
	stream := c.Messages.NewStreaming(t.Context(), params)
	defer stream.Close()
	answer := &anthropic.Message{}
	var types []string
	for stream.Next() {
		event := stream.Current()
		types = append(types, event.Type)
		if err := answer.Accumulate(event); err != nil {
			t.Fatalf("the accumulator refuses %s: %v", event.RawJSON(), err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return answer, types
}

// TestStreamMeansTheSame compares both forms of the same calls.
func TestStreamMeansTheSame(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*anthropic.MessageNewParams){
		"text":      func(*anthropic.MessageNewParams) {},
		"cut":       func(p *anthropic.MessageNewParams) { p.MaxTokens = 3 },
		"stopped":   func(p *anthropic.MessageNewParams) { p.StopSequences = []string{"goodbye"} },
		"thinking":  func(p *anthropic.MessageNewParams) { p.Thinking = anthropic.ThinkingConfigParamOfEnabled(1024) },
		"adaptive":  func(p *anthropic.MessageNewParams) { p.Thinking.OfAdaptive = &anthropic.ThinkingConfigAdaptiveParam{} },
		"redacted":  func(p *anthropic.MessageNewParams) { p.Model = "sandbox-redacted" },
		"refusal":   func(p *anthropic.MessageNewParams) { p.Model = "sandbox-refusal" },
		"pause":     func(p *anthropic.MessageNewParams) { p.Model = "sandbox-pause" },
		"empty":     func(p *anthropic.MessageNewParams) { p.Model = "sandbox-empty" },
		"citations": func(p *anthropic.MessageNewParams) { p.Model = "sandbox-citations" },
		"tools": func(p *anthropic.MessageNewParams) {
			p.Tools = tools()
			p.Messages = append(p.Messages, user(`Call the tool get_weather with {"city":"Paris","unit":"celsius"}. Call the tool get_time with {}.`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			params := message(user("Say hello, and then goodbye."))
			params.System = []anthropic.TextBlockParam{{Text: "Be brief."}}
			change(&params)
			want := create(t, params)
			got, types := streamed(t, params)
			check.Equal(t, "stop_reason", got.StopReason, want.StopReason)
			check.Equal(t, "stop_sequence", got.StopSequence, want.StopSequence)
			check.Equal(t, "input_tokens", got.Usage.InputTokens, want.Usage.InputTokens)
			check.Equal(t, "output_tokens", got.Usage.OutputTokens, want.Usage.OutputTokens)
			if len(got.Content) != len(want.Content) {
				t.Fatalf("%d blocks, not %d", len(got.Content), len(want.Content))
			}
			for i, block := range want.Content {
				check.Equal(t, "type", got.Content[i].Type, block.Type)
				check.Equal(t, "text", got.Content[i].Text, block.Text)
				check.Equal(t, "thinking", got.Content[i].Thinking, block.Thinking)
				check.Equal(t, "signature", got.Content[i].Signature, block.Signature)
				check.Equal(t, "data", got.Content[i].Data, block.Data)
				check.Equal(t, "tool", got.Content[i].Name, block.Name)
				check.Equal(t, "input", string(got.Content[i].Input), string(block.Input))
				check.Equal(t, "number of citations", len(got.Content[i].Citations), len(block.Citations))
			}
			check.Equal(t, "first event", types[0], "message_start")
			check.Equal(t, "last event", types[len(types)-1], "message_stop")
			check.Equal(t, "event before the last", types[len(types)-2], "message_delta")
		})
	}
}

// TestStreamFails: an early failure is a plain HTTP error; a late one is the
// protocol's error event, never a message that looks complete.
func TestStreamFails(t *testing.T) {
	t.Parallel()
	c := client()
	params := message(user("Say hello."))
	params.Model = "sandbox-overload"
	stream := c.Messages.NewStreaming(t.Context(), params)
	check.Truef(t, !stream.Next(), "a refused stream has an event")
	refused(t, stream.Err(), 529, "overloaded_error")

	for _, model := range []string{"sandbox-cut", "sandbox-mid-error"} {
		params.Model = model
		stream := c.Messages.NewStreaming(t.Context(), params)
		stopped := false
		for stream.Next() {
			stopped = stopped || stream.Current().Type == "message_stop"
		}
		check.Truef(t, stream.Err() != nil, "%s: the stream ends without an error", model)
		check.Truef(t, !stopped, "%s: the broken stream is complete", model)
	}
}

// TestAbort ends a call mid-stream; the next one works.
func TestAbort(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := client()
	params := message(user("Say hello."))
	params.Model, params.MaxTokens = "sandbox-long-50000", 60000
	stream := c.Messages.NewStreaming(ctx, params)
	if !stream.Next() {
		t.Fatal(stream.Err())
	}
	cancel()
	for stream.Next() {
		continue
	}
	check.Truef(t, errors.Is(stream.Err(), context.Canceled), "error is %v", stream.Err())
	check.Contains(t, text(t, create(t, message(user("Still there?")))), "Still there?")
}
