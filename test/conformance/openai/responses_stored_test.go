package openai_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
)

// notFound demands that the SDK sees that a response is not there.
func notFound(t *testing.T, err error) {
	t.Helper()
	failure, ok := errors.AsType[*openai.Error](err)
	if !ok || failure.StatusCode != http.StatusNotFound || failure.Type != "invalid_request_error" {
		t.Errorf("%v", err)
	}
}

// A response is retrieved as it was answered, its input is listed, and it is deleted.
func TestResponsesStored(t *testing.T) {
	c := client()
	params := asked("Say hello.")
	params.Instructions = openai.String("Be brief.")
	for name, create := range map[string]func() *responses.Response{
		"unary": func() *responses.Response { return respond(t, params) },
		"streamed": func() *responses.Response {
			stream := c.Responses.NewStreaming(t.Context(), params)
			var last responses.Response
			for stream.Next() {
				last = stream.Current().Response
			}
			check.Truef(t, stream.Err() == nil, "the stream failed")
			return &last
		},
	} {
		t.Run(name, func(t *testing.T) {
			created := create()
			got, err := c.Responses.Get(t.Context(), created.ID, responses.ResponseGetParams{Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}})
			if err != nil {
				t.Fatal(err)
			}
			check.Equal(t, "the response", got.RawJSON(), created.RawJSON())
			texts := 0
			items := c.Responses.InputItems.ListAutoPaging(t.Context(), created.ID, responses.InputItemListParams{Limit: openai.Int(1), Order: responses.InputItemListParamsOrderAsc})
			for items.Next() {
				check.Equal(t, "the input", items.Current().AsMessage().Content[0].Text, "Say hello.")
				texts++
			}
			check.Truef(t, items.Err() == nil, "the list failed")
			check.Equal(t, "items", texts, 1)
			if err := c.Responses.Delete(t.Context(), created.ID); err != nil {
				t.Error(err)
			}
			notFound(t, c.Responses.Delete(t.Context(), created.ID))
			_, err = c.Responses.Get(t.Context(), created.ID, responses.ResponseGetParams{})
			notFound(t, err)
			_, err = c.Responses.InputItems.List(t.Context(), created.ID, responses.InputItemListParams{})
			notFound(t, err)
		})
	}
}

// A conversation goes on by the identifier of its last response, and is paid for whole.
func TestResponsesContinued(t *testing.T) {
	t.Parallel()
	first := respond(t, asked("Remember the word heliotrope."))
	params := asked("Say hello.")
	params.PreviousResponseID = openai.String(first.ID)
	second := respond(t, params)
	check.Equal(t, "previous_response_id", second.PreviousResponseID, first.ID)
	alone := respond(t, asked("Say hello."))
	check.Truef(t, second.Usage.InputTokens > alone.Usage.InputTokens+first.Usage.OutputTokens, "the conversation is billed as %d tokens, its last turn alone as %d", second.Usage.InputTokens, alone.Usage.InputTokens)

	params.PreviousResponseID = openai.String(first.ID[:len(first.ID)-4] + "0000")
	c := client()
	_, err := c.Responses.New(t.Context(), params)
	failure, ok := errors.AsType[*openai.Error](err)
	if !ok || failure.StatusCode != http.StatusBadRequest || failure.Code != "previous_response_not_found" || failure.Param != "previous_response_id" {
		t.Errorf("%v", err)
	}

	params = asked("Say hello.")
	params.Store = openai.Bool(false)
	_, err = c.Responses.Get(t.Context(), respond(t, params).ID, responses.ResponseGetParams{})
	notFound(t, err)
}

// A response in the background is queued, polled until it has ended, and then no longer to be cancelled.
func TestResponsesInBackground(t *testing.T) {
	t.Parallel()
	c := client()
	params := asked("Say hello.")
	params.Background = openai.Bool(true)
	got := respond(t, params)
	check.Equal(t, "status", got.Status, responses.ResponseStatusQueued)
	poll := func() {
		for got.Status == responses.ResponseStatusQueued || got.Status == responses.ResponseStatusInProgress {
			var err error
			if got, err = c.Responses.Get(t.Context(), got.ID, responses.ResponseGetParams{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	poll()
	check.Equal(t, "status", got.Status, responses.ResponseStatusCompleted)
	check.Truef(t, got.Background && got.OutputText() != "" && got.Usage.OutputTokens > 0, "%s", got.RawJSON())
	same, err := c.Responses.Cancel(t.Context(), got.ID)
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "the response", same.RawJSON(), got.RawJSON())

	params = asked("Say hello.")
	_, err = c.Responses.Cancel(t.Context(), respond(t, params).ID)
	if failure, ok := errors.AsType[*openai.Error](err); !ok || failure.StatusCode != http.StatusBadRequest {
		t.Errorf("%v", err)
	}
	params.Background, params.Store = openai.Bool(true), openai.Bool(false)
	_, err = c.Responses.New(t.Context(), params)
	if failure, ok := errors.AsType[*openai.Error](err); !ok || failure.StatusCode != http.StatusBadRequest || failure.Param != "background" {
		t.Errorf("%v", err)
	}
}

// A stream of a response in the background is left, and resumed where it was left; its events are the same each time.
func TestResponsesResumed(t *testing.T) {
	t.Parallel()
	c := client()
	// openai-go 3.99 sends stream as the body of GET.
	events := func(query responses.ResponseGetParams, id string) *ssestream.Stream[responses.ResponseStreamEventUnion] {
		return c.Responses.GetStreaming(t.Context(), id, query, option.WithQuery("stream", "true"))
	}
	params := asked("Say hello.")
	params.Background = openai.Bool(true)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	stream := c.Responses.NewStreaming(ctx, params)
	var seen []string
	var id string
	for stream.Next() {
		event := stream.Current()
		check.Equal(t, "the number", event.SequenceNumber, int64(len(seen)))
		seen = append(seen, event.RawJSON())
		if event.Type == "response.created" {
			id = event.Response.ID
		}
		if event.Type == "response.output_item.added" {
			break
		}
	}
	leave()
	_ = stream.Close()
	last := int64(len(seen)) - 1
	resumed := events(responses.ResponseGetParams{StartingAfter: openai.Int(last), IncludeObfuscation: openai.Bool(false)}, id)
	var final responses.Response
	for resumed.Next() {
		event := resumed.Current()
		check.Equal(t, "the number", event.SequenceNumber, int64(len(seen)))
		seen = append(seen, event.RawJSON())
		final = event.Response
	}
	check.Truef(t, resumed.Err() == nil && final.Status == responses.ResponseStatusCompleted && final.OutputText() != "", "%v %s", resumed.Err(), final.RawJSON())
	got, err := c.Responses.Get(t.Context(), id, responses.ResponseGetParams{})
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "the response", got.RawJSON(), final.RawJSON())
	again := events(responses.ResponseGetParams{}, id)
	n := 0
	for ; again.Next(); n++ {
		check.Equal(t, "the event", again.Current().RawJSON(), seen[n])
	}
	check.Truef(t, again.Err() == nil && n == len(seen), "%v after %d events of %d", again.Err(), n, len(seen))
	beyond := events(responses.ResponseGetParams{StartingAfter: openai.Int(int64(len(seen)))}, id)
	check.Truef(t, !beyond.Next(), "an event beyond the end")
	if failure, ok := errors.AsType[*openai.Error](beyond.Err()); !ok || failure.StatusCode != http.StatusBadRequest || failure.Param != "starting_after" {
		t.Errorf("%v", beyond.Err())
	}
}
