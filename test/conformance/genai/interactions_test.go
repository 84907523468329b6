package genai_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"google.golang.org/genai"
	"google.golang.org/genai/interactions/models/interactions"
	"google.golang.org/genai/interactions/models/operations"
)

// interact asks for an interaction by steps of its input.
func interact(t *testing.T, ask interactions.CreateModelInteraction, steps ...interactions.Step) (*operations.CreateInteractionResponse, error) {
	t.Helper()
	if ask.Model == "" {
		ask.Model = textModel
	}
	input := interactions.NewInteractionsInput(steps)
	ask.Input, ask.Store = &input, new(false)
	body := operations.NewCreateInteractionRequestBody(ask)
	return client(t, "", genai.HTTPOptions{}).Interactions.Create(t.Context(), operations.CreateInteractionRequest{Body: body})
}

// said is a turn of the user.
func said(text string) interactions.Step {
	return interactions.NewStep(interactions.UserInputStep{Content: []interactions.Content{interactions.NewContent(interactions.TextContent{Text: text})}})
}

func TestInteractions(t *testing.T) {
	t.Parallel()
	answer, err := interact(t, interactions.CreateModelInteraction{
		SystemInstruction: new("Be brief."),
		GenerationConfig:  &interactions.GenerationConfig{ThinkingLevel: new(interactions.ThinkingLevelLow), ThinkingSummaries: new(interactions.ThinkingSummariesAuto)},
	}, said("Say hello."))
	if err != nil {
		t.Fatal(err)
	}
	i := answer.Interaction
	check.Equal(t, "status", i.Status, interactions.InteractionStatusCompleted)
	check.Truef(t, *i.ID != "" && i.Created != nil, "id %v, created %v", *i.ID, i.Created)
	check.Contains(t, *i.GetOutputText(), "Say hello.", "Be brief.")
	check.Truef(t, i.Steps[0].ThoughtStep != nil && *i.Steps[0].ThoughtStep.Signature != "", "the first step is %+v", i.Steps[0])
	u := i.Usage
	check.Equal(t, "total_tokens", *u.TotalTokens, *u.TotalInputTokens+*u.TotalOutputTokens+*u.TotalThoughtTokens)
}

func TestInteractionsStream(t *testing.T) {
	t.Parallel()
	answer, err := interact(t, interactions.CreateModelInteraction{Stream: new(true)}, said("Say hello."))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	var status interactions.InteractionSseEventInteractionStatus
	events := answer.InteractionSSEStreamEvent
	for events.Next() {
		e := events.Value().Data
		check.Truef(t, e.UnknownRaw == nil && e.ErrorEvent == nil, "an event is %s %v", e.UnknownRaw, e.ErrorEvent)
		if e.StepDelta != nil && e.StepDelta.Delta.TextDelta != nil {
			text.WriteString(e.StepDelta.Delta.TextDelta.Text)
		}
		if e.InteractionCompletedEvent != nil {
			status = e.InteractionCompletedEvent.Interaction.Status
		}
	}
	if err := events.Err(); err != nil {
		t.Fatal(err)
	}
	check.Contains(t, text.String(), "Say hello.")
	check.Equal(t, "status", string(status), "completed")
}

// TestInteractionsTools sends the steps of an answer back with the result of its call.
func TestInteractionsTools(t *testing.T) {
	t.Parallel()
	ask := interactions.CreateModelInteraction{Tools: []interactions.Tool{interactions.NewTool(interactions.Function{
		Name: new("get_weather"), Parameters: map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}},
	})}}
	question := said(`Call the tool get_weather with {"city":"Oslo"}.`)
	answer, err := interact(t, ask, question)
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "status", answer.Interaction.Status, interactions.InteractionStatusRequiresAction)
	var call *interactions.FunctionCallStep
	for _, step := range answer.Interaction.Steps {
		if step.FunctionCallStep != nil {
			call = step.FunctionCallStep
		}
	}
	if call == nil || call.Arguments["city"] != "Oslo" {
		t.Fatalf("the call is %+v", call)
	}
	steps := append([]interactions.Step{question}, answer.Interaction.Steps...)
	result := interactions.FunctionResultStep{CallID: call.ID, Name: &call.Name, Result: interactions.NewFunctionResultStepResultUnion("3 degrees")}
	answer, err = interact(t, ask, append(steps, interactions.NewStep(result))...)
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "status", answer.Interaction.Status, interactions.InteractionStatusCompleted)
	check.Contains(t, *answer.Interaction.GetOutputText(), "3 degrees")
}

func TestInteractionsErrors(t *testing.T) {
	t.Parallel()
	for says, ask := range map[string]interactions.CreateModelInteraction{
		"background": {Background: new(true)}, "no-such-model": {Model: "no-such-model"},
	} {
		_, err := interact(t, ask, said("Say hello."))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	_, err := client(t, "", genai.HTTPOptions{}).Interactions.Get(t.Context(), operations.GetInteractionByIDRequest{ID: "v1_x"})
	if err == nil || !strings.Contains(err.Error(), "Interaction with id 'v1_x' not found.") {
		t.Errorf("a stored interaction: %v", err)
	}
}
