package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/picture"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

func asked(text string) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: textModel,
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)},
	}
}

func conversation(items ...responses.ResponseInputItemUnionParam) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: textModel,
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: items},
	}
}

func says(role responses.EasyInputMessageRole, text string) responses.ResponseInputItemUnionParam {
	return responses.ResponseInputItemParamOfMessage(text, role)
}

func respond(t *testing.T, params responses.ResponseNewParams) *responses.Response {
	t.Helper()
	c := client()
	answer, err := c.Responses.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestResponsesText(t *testing.T) {
	t.Parallel()
	answer := respond(t, asked("Say hello."))
	check.Contains(t, answer.OutputText(), "Say hello.")
	check.Equal(t, "status", answer.Status, responses.ResponseStatusCompleted)
	check.Equal(t, "object", string(answer.Object), "response")
	check.Equal(t, "model", answer.Model, textModel)
	check.Truef(t, answer.ID != "" && answer.CreatedAt > 0, "id and created_at are absent: %s", answer.RawJSON())
	if len(answer.Output) != 1 || len(answer.Output[0].Content) != 1 {
		t.Fatalf("not one message with one text: %s", answer.RawJSON())
	}
	item := answer.Output[0]
	check.Equal(t, "type", item.Type, "message")
	check.Equal(t, "status", item.Status, "completed")
	check.Truef(t, item.ID != "", "the message has no id")
	// Other SDKs fail without them, even when empty.
	check.Truef(t, item.Content[0].JSON.Annotations.Valid(), "no annotations: %s", item.RawJSON())
	u := answer.Usage
	check.Truef(t, u.InputTokens > 0 && u.OutputTokens > 0, "no usage: %s", answer.RawJSON())
	check.Equal(t, "total_tokens", u.TotalTokens, u.InputTokens+u.OutputTokens)
}

func TestResponsesSystemTextInEveryPlace(t *testing.T) {
	t.Parallel()
	params := conversation(
		says(responses.EasyInputMessageRoleSystem, "Answer like a pirate."),
		says(responses.EasyInputMessageRoleDeveloper, "Be brief."),
		says(responses.EasyInputMessageRoleUser, "First question."),
		says(responses.EasyInputMessageRoleAssistant, "First answer."),
		says(responses.EasyInputMessageRoleUser, "Second question."),
	)
	params.Instructions = openai.String("Be kind.")
	check.Contains(t, respond(t, params).OutputText(),
		"Second question.", "Answer like a pirate.", "Be brief.", "Be kind.", "First question.", "First answer.")
}

// TestResponsesMultiTurn goes on in both ways: by the items of the answer, and by its
// id alone.
func TestResponsesMultiTurn(t *testing.T) {
	t.Parallel()
	params := conversation(says(responses.EasyInputMessageRoleUser, "My name is Ada."))
	first := respond(t, params)
	message := first.Output[0].AsMessage().ToParam()
	again := conversation(params.Input.OfInputItemList[0],
		responses.ResponseInputItemUnionParam{OfOutputMessage: &message},
		says(responses.EasyInputMessageRoleUser, "What is my name?"))
	second := respond(t, again)
	check.Contains(t, second.OutputText(), "What is my name?", "My name is Ada.", "- assistant:")

	byID := asked("What is my name?")
	byID.PreviousResponseID = openai.String(first.ID)
	third := respond(t, byID)
	check.Contains(t, third.OutputText(), "What is my name?", "My name is Ada.", "- assistant:")
	check.Equal(t, "previous_response_id", third.PreviousResponseID, first.ID)
	check.Equal(t, "input_tokens", third.Usage.InputTokens, second.Usage.InputTokens)
}

func TestResponsesEveryKnob(t *testing.T) {
	t.Parallel()
	params := asked("Say hello.")
	params.Temperature = openai.Float(0.5)
	params.TopP = openai.Float(0.25)
	params.MaxOutputTokens = openai.Int(900)
	params.User = openai.String("user-7")
	params.SafetyIdentifier = openai.String("safe-7")
	params.PromptCacheKey = openai.String("cache-7")
	params.Metadata = shared.Metadata{"trace": "t-7"}
	params.Store = openai.Bool(false)
	params.ServiceTier = responses.ResponseNewParamsServiceTierFlex
	params.Truncation = responses.ResponseNewParamsTruncationAuto
	params.Text.Verbosity = responses.ResponseTextConfigVerbosityLow
	answer := respond(t, params)
	check.Contains(t, answer.OutputText(), "temperature 0.5", "top_p 0.25", "max_output_tokens 900",
		"user-7", "safe-7", "cache-7", "trace=t-7", "store false", "flex", "verbosity low", "truncation")
	// The protocol's answer repeats what it was asked with.
	check.Equal(t, "temperature", answer.Temperature, 0.5)
	check.Equal(t, "top_p", answer.TopP, 0.25)
	check.Equal(t, "max_output_tokens", answer.MaxOutputTokens, 900)
	check.Equal(t, "metadata", answer.Metadata["trace"], "t-7")
	check.Equal(t, "truncation", answer.Truncation, responses.ResponseTruncationAuto)
}

func TestResponsesLimits(t *testing.T) {
	t.Parallel()
	params := asked(strings.Repeat("A sentence to be repeated. ", 20))
	params.MaxOutputTokens = openai.Int(16)
	cut := respond(t, params)
	check.Equal(t, "status", cut.Status, responses.ResponseStatusIncomplete)
	check.Equal(t, "reason", cut.IncompleteDetails.Reason, "max_output_tokens")
	check.Equal(t, "output_tokens", cut.Usage.OutputTokens, 16)
}

func TestResponsesVision(t *testing.T) {
	t.Parallel()
	png := picture.PNG(t, 7, 5)
	answer := respond(t, conversation(responses.ResponseInputItemParamOfInputMessage(responses.ResponseInputMessageContentListParam{
		responses.ResponseInputContentParamOfInputText("What is this?"),
		{OfInputImage: &responses.ResponseInputImageParam{ImageURL: openai.String(picture.DataURL("image/png", png)), Detail: responses.ResponseInputImageDetailLow}},
		{OfInputImage: &responses.ResponseInputImageParam{FileID: openai.String("file-abc"), Detail: responses.ResponseInputImageDetailAuto}},
		{OfInputFile: &responses.ResponseInputFileParam{FileData: openai.String(picture.DataURL("text/plain", []byte("a\nb\n"))), Filename: openai.String("notes.txt")}},
		{OfInputFile: &responses.ResponseInputFileParam{FileURL: openai.String("https://example.com/far.pdf")}},
	}, "user")))
	check.Contains(t, answer.OutputText(),
		"What is this?", picture.Described(png, 7, 5), "detail low", "file-abc", "notes.txt", "2 lines", "https://example.com/far.pdf")
}

func TestResponsesStructuredOutput(t *testing.T) {
	t.Parallel()
	params := asked("Describe a person.")
	params.Text.Format = responses.ResponseFormatTextConfigParamOfJSONSchema("person", personSchema())
	var p person
	if err := json.Unmarshal([]byte(respond(t, params).OutputText()), &p); err != nil {
		t.Fatal(err)
	}
	check.Truef(t, p.Name != "" && p.Age > 0 && len(p.Likes) == 2, "not an instance of the schema: %+v", p)
}

// TestResponsesThinking: a summary and encrypted reasoning come when asked for, and
// are accepted back.
func TestResponsesThinking(t *testing.T) {
	t.Parallel()
	params := conversation(says(responses.EasyInputMessageRoleUser, "Think about it."))
	params.Reasoning = shared.ReasoningParam{Effort: shared.ReasoningEffortHigh, Summary: shared.ReasoningSummaryDetailed}
	params.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	answer := respond(t, params)
	check.Contains(t, answer.OutputText(), "Think about it.", "effort high", "summary detailed")
	check.Truef(t, answer.Usage.OutputTokensDetails.ReasoningTokens > 0, "no reasoning tokens: %s", answer.RawJSON())
	if len(answer.Output) != 2 || answer.Output[0].Type != "reasoning" || len(answer.Output[0].Summary) == 0 {
		t.Fatalf("not a reasoning item with a summary, then a message: %s", answer.RawJSON())
	}
	reasoning := answer.Output[0].AsReasoning()
	check.Truef(t, reasoning.ID != "" && reasoning.Summary[0].Text != "" && reasoning.EncryptedContent != "",
		"reasoning is not complete: %s", reasoning.RawJSON())

	back, message := reasoning.ToParam(), answer.Output[1].AsMessage().ToParam()
	params.Input.OfInputItemList = append(params.Input.OfInputItemList,
		responses.ResponseInputItemUnionParam{OfReasoning: &back},
		responses.ResponseInputItemUnionParam{OfOutputMessage: &message},
		says(responses.EasyInputMessageRoleUser, "And now?"))
	check.Contains(t, respond(t, params).OutputText(), "And now?", "1 of the sandbox accepted")
}

func TestResponsesRefusalAndCitations(t *testing.T) {
	t.Parallel()
	params := asked("Say hello.")
	params.Model = "sandbox-refusal"
	refused := respond(t, params)
	if len(refused.Output) != 1 || len(refused.Output[0].Content) != 1 {
		t.Fatalf("not one message: %s", refused.RawJSON())
	}
	check.Equal(t, "type", refused.Output[0].Content[0].Type, "refusal")
	check.Truef(t, refused.Output[0].Content[0].Refusal != "", "no refusal")

	params.Model = "sandbox-filter"
	filtered := respond(t, params)
	check.Equal(t, "status", filtered.Status, responses.ResponseStatusIncomplete)
	check.Equal(t, "reason", filtered.IncompleteDetails.Reason, "content_filter")

	params.Model = "sandbox-citations"
	cited := respond(t, params).Output[0].Content[0]
	if len(cited.Annotations) == 0 {
		t.Fatalf("no annotations: %s", cited.RawJSON())
	}
	check.Equal(t, "url", cited.Annotations[0].URL, "https://example.com/sandbox")
}

func TestResponsesCountTokens(t *testing.T) {
	t.Parallel()
	const text = "How many tokens does this question have?"
	c := client()
	count, err := c.Responses.InputTokens.Count(t.Context(), responses.InputTokenCountParams{
		Model: openai.String(textModel),
		Input: responses.InputTokenCountParamsInputUnion{OfString: openai.String(text)},
	})
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "input_tokens", count.InputTokens, respond(t, asked(text)).Usage.InputTokens)
}
