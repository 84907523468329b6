package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

// respondStreamed folds a stream with the SDK's accumulator, and returns the response
// it ends with, the accumulator's view of the deltas before it, and the events' types.
func respondStreamed(t *testing.T, params responses.ResponseNewParams) (*responses.Response, responses.ResponseAccumulatorSnapshot, []string) {
	t.Helper()
	c := client()
	stream := c.Responses.NewStreaming(t.Context(), params)
	defer stream.Close()
	var (
		acc    responses.ResponseAccumulator
		deltas responses.ResponseAccumulatorSnapshot
		types  []string
	)
	for stream.Next() {
		event := stream.Current()
		check.Equal(t, "sequence_number", event.SequenceNumber, int64(len(types)))
		types = append(types, event.Type)
		// The final response replaces the text of the deltas: look before it.
		deltas = acc.Snapshot()
		// The accumulator takes the same events under the name they have on a socket.
		var message responses.ResponsesServerEventUnion
		if err := json.Unmarshal([]byte(event.RawJSON()), &message); err != nil {
			t.Fatal(err)
		}
		if err := acc.AddEvent(message); err != nil {
			t.Fatalf("the accumulator refuses %s: %v", event.RawJSON(), err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	response, err := acc.ReconstructedResponse()
	if err != nil {
		t.Fatal(err)
	}
	return response, deltas, types
}

func TestResponsesStreamMeansTheSame(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*responses.ResponseNewParams){
		"text": func(*responses.ResponseNewParams) {},
		"cut":  func(p *responses.ResponseNewParams) { p.MaxOutputTokens = openai.Int(16) },
		"thinking": func(p *responses.ResponseNewParams) {
			p.Reasoning = shared.ReasoningParam{Effort: shared.ReasoningEffortLow, Summary: shared.ReasoningSummaryAuto}
		},
		"refusal":   func(p *responses.ResponseNewParams) { p.Model = "sandbox-refusal" },
		"filter":    func(p *responses.ResponseNewParams) { p.Model = "sandbox-filter" },
		"citations": func(p *responses.ResponseNewParams) { p.Model = "sandbox-citations" },
		"empty":     func(p *responses.ResponseNewParams) { p.Model = "sandbox-empty" },
		"json": func(p *responses.ResponseNewParams) {
			p.Text.Format.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
		},
		"tools": func(p *responses.ResponseNewParams) {
			p.Tools = responseTools()
			p.Input.OfString = openai.String(`Call the tool get_weather with {"city":"Paris","unit":"celsius"}. Call the tool get_time with {}.`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			params := asked("Say hello, and then goodbye.")
			params.Instructions = openai.String("Be brief.")
			change(&params)
			unary := respond(t, params)
			got, deltas, types := respondStreamed(t, params)
			check.Equal(t, "text", got.OutputText(), unary.OutputText())
			check.Equal(t, "text of the deltas", deltas.OutputText(), unary.OutputText())
			check.Equal(t, "status", got.Status, unary.Status)
			check.Equal(t, "reason", got.IncompleteDetails.Reason, unary.IncompleteDetails.Reason)
			check.Equal(t, "input_tokens", got.Usage.InputTokens, unary.Usage.InputTokens)
			check.Equal(t, "output_tokens", got.Usage.OutputTokens, unary.Usage.OutputTokens)
			if len(got.Output) != len(unary.Output) || len(deltas.Output) != len(unary.Output) {
				t.Fatalf("%d items at the end and %d by deltas, not %d", len(got.Output), len(deltas.Output), len(unary.Output))
			}
			for i, want := range unary.Output {
				check.Equal(t, "item's type", got.Output[i].Type, want.Type)
				check.Equal(t, "tool", got.Output[i].Name, want.Name)
				check.Equal(t, "arguments by deltas", deltas.Output[i].Arguments, want.Arguments.OfString)
				check.Equal(t, "number of summaries", len(got.Output[i].Summary), len(want.Summary))
				check.Equal(t, "number of contents", len(got.Output[i].Content), len(want.Content))
			}
			terminal := "response.completed"
			if unary.Status == responses.ResponseStatusIncomplete {
				terminal = "response.incomplete"
			}
			check.Equal(t, "first event", types[0], "response.created")
			check.Equal(t, "last event", types[len(types)-1], terminal)
		})
	}
}

// TestResponsesStreamOrder is the order of a text's events, as SDK helpers in other
// languages rely on it.
func TestResponsesStreamOrder(t *testing.T) {
	t.Parallel()
	_, _, types := respondStreamed(t, asked("Say hello."))
	var order []string
	for _, name := range types {
		if len(order) == 0 || order[len(order)-1] != name {
			order = append(order, name)
		}
	}
	want := []string{
		"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
		"response.output_text.delta", "response.output_text.done", "response.content_part.done",
		"response.output_item.done", "response.completed",
	}
	if len(order) != len(want) {
		t.Fatalf("events are %v", order)
	}
	for i := range want {
		check.Equal(t, "event", order[i], want[i])
	}
}

func TestResponsesStreamFails(t *testing.T) {
	t.Parallel()
	c := client()
	params := asked("Say hello.")
	params.Model = "sandbox-overload"
	stream := c.Responses.NewStreaming(t.Context(), params)
	check.Truef(t, !stream.Next(), "a refused stream has an event")
	var failure *openai.Error
	if !errors.As(stream.Err(), &failure) {
		t.Fatalf("error is %v", stream.Err())
	}
	check.Equal(t, "status", failure.StatusCode, 503)

	for _, model := range []string{"sandbox-cut", "sandbox-mid-error"} {
		params.Model = model
		stream := c.Responses.NewStreaming(t.Context(), params)
		failed, completed := false, false
		for stream.Next() {
			event := stream.Current()
			failed = failed || event.Type == "response.failed" && event.Response.Error.Message != ""
			completed = completed || event.Type == "response.completed"
		}
		check.Truef(t, failed || stream.Err() != nil, "%s: the stream ends without an error", model)
		check.Truef(t, !completed, "%s: the broken stream is completed", model)
	}
}

func TestResponsesAbort(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := client()
	params := asked("Say hello.")
	params.Model = "sandbox-long-50000"
	stream := c.Responses.NewStreaming(ctx, params)
	if !stream.Next() {
		t.Fatal(stream.Err())
	}
	cancel()
	for stream.Next() {
		continue
	}
	check.Truef(t, errors.Is(stream.Err(), context.Canceled), "error is %v", stream.Err())
	check.Contains(t, respond(t, asked("Still there?")).OutputText(), "Still there?")
}
