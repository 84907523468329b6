package openai_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/server"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// create is a request over a WebSocket.
func create(text string) responses.ResponsesClientEventResponseCreateParam {
	return responses.ResponsesClientEventResponseCreateParam{
		Model: textModel, Store: openai.Bool(false), StreamID: openai.String("lane.1"),
		Input: responses.ResponsesClientEventResponseCreateInputUnionParam{OfString: openai.String(text)},
	}
}

// A WebSocket of the SDK answers one request after the other, of which each continues the one before, and the failures of others.
func TestResponsesSocket(t *testing.T) {
	t.Parallel()
	c := client(option.WithHTTPClient(server.HTTP1()))
	connection, err := c.Responses.Connect(t.Context(), responses.ResponseConnectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	lane, err := connection.Lane("lane.1")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(params responses.ResponsesClientEventResponseCreateParam) (*responses.Response, error) {
		if err := connection.Create(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		return lane.FinalResponse(t.Context())
	}
	prepared := create("Remember the word heliotrope.")
	prepared.Generate = openai.Bool(false)
	first, err := ask(prepared)
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "text of what is prepared", first.OutputText(), "")
	second := first
	for range 2 {
		params := create("Say hello.")
		params.PreviousResponseID = openai.String(second.ID)
		if second, err = ask(params); err != nil {
			t.Fatal(err)
		}
		check.Equal(t, "status", second.Status, responses.ResponseStatusCompleted)
		check.Equal(t, "previous_response_id", second.PreviousResponseID, params.PreviousResponseID.Value)
		check.Contains(t, second.OutputText(), "heliotrope", "Say hello.")
	}
	for name, change := range map[string]func(*responses.ResponsesClientEventResponseCreateParam){
		"model_not_found": func(p *responses.ResponsesClientEventResponseCreateParam) { p.Model = "nobody" },
		"previous_response_not_found": func(p *responses.ResponsesClientEventResponseCreateParam) {
			p.PreviousResponseID = openai.String("resp_1")
		},
		"invalid_value": func(p *responses.ResponsesClientEventResponseCreateParam) { p.Background = openai.Bool(true) },
	} {
		params := create("Say hello.")
		change(&params)
		_, err := ask(params)
		failure, ok := errors.AsType[*responses.ResponseProtocolError](err)
		if !ok {
			t.Fatalf("%s: %v", name, err)
		}
		check.Equal(t, "code", failure.Event.AsResponsesServerEventResponseWsError().Error.Code, name)
	}
}

// A wrong key opens no WebSocket.
func TestResponsesSocketOfAWrongKey(t *testing.T) {
	t.Parallel()
	c := client(option.WithAPIKey("gwk_wrong"), option.WithHTTPClient(server.HTTP1()))
	_, err := c.Responses.Connect(t.Context(), responses.ResponseConnectionOptions{})
	if err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("%v", err)
	}
}
