package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/picture"
)

func TestText(t *testing.T) {
	t.Parallel()
	answer := create(t, message(user("Say hello.")))
	check.Contains(t, text(t, answer), "Say hello.")
	check.Equal(t, "type", string(answer.Type), "message")
	check.Equal(t, "role", string(answer.Role), "assistant")
	check.Equal(t, "model", answer.Model, textModel)
	check.Equal(t, "stop_reason", answer.StopReason, anthropic.StopReasonEndTurn)
	check.Equal(t, "stop_sequence", answer.JSON.StopSequence.Raw(), "null")
	check.Truef(t, answer.ID != "", "no id: %s", answer.RawJSON())
	u := answer.Usage
	check.Truef(t, u.InputTokens > 0 && u.OutputTokens > 0, "no usage: %s", u.RawJSON())
	check.Truef(t, u.JSON.CacheReadInputTokens.Valid() && u.JSON.CacheCreationInputTokens.Valid() && u.JSON.ServiceTier.Valid(),
		"usage is not complete: %s", u.RawJSON())
}

func TestSystemTextInEveryPlace(t *testing.T) {
	t.Parallel()
	params := message(user("First question."), anthropic.NewAssistantMessage(anthropic.NewTextBlock("First answer.")), user("Second question."))
	params.System = []anthropic.TextBlockParam{
		{Text: "Answer like a pirate."},
		{Text: "Be brief.", CacheControl: anthropic.NewCacheControlEphemeralParam()},
	}
	check.Contains(t, text(t, create(t, params)),
		"Second question.", "Answer like a pirate.", "Be brief.", "First question.", "First answer.", "Cache marks: 1")
}

func TestMultiTurn(t *testing.T) {
	t.Parallel()
	params := message(user("My name is Ada."))
	first := create(t, params)
	params.Messages = append(params.Messages, first.ToParam(), user("What is my name?"))
	second := create(t, params)
	check.Contains(t, text(t, second), "What is my name?", "My name is Ada.", "- assistant:")
	check.Truef(t, second.Usage.InputTokens > first.Usage.InputTokens, "two turns cost no more than one")
}

// TestPrefill: an answer continues the text that the request has of it.
func TestPrefill(t *testing.T) {
	t.Parallel()
	answer := create(t, message(user("Say hello."), anthropic.NewAssistantMessage(anthropic.NewTextBlock("Well, hel"))))
	check.Contains(t, text(t, answer), "Say hello.", "Well, hel")
}

func TestEveryKnob(t *testing.T) {
	t.Parallel()
	params := message(user("Say hello."))
	params.Temperature = anthropic.Float(0.5)
	params.TopP = anthropic.Float(0.25)
	params.TopK = anthropic.Int(40)
	params.StopSequences = []string{"@@", "##"}
	params.Metadata = anthropic.MetadataParam{UserID: anthropic.String("user-7")}
	params.ServiceTier = anthropic.MessageNewParamsServiceTierStandardOnly
	params.OutputConfig = anthropic.OutputConfigParam{Effort: anthropic.OutputConfigEffortLow}
	check.Contains(t, text(t, create(t, params)),
		"temperature 0.5", "top_p 0.25", "top_k 40", "max_output_tokens 2000", "stop_sequences 2", "user-7", "standard_only", "effort low")
}

func TestLimits(t *testing.T) {
	t.Parallel()
	params := message(user("A sentence that is to be repeated."))
	params.MaxTokens = 5
	cut := create(t, params)
	check.Equal(t, "stop_reason", cut.StopReason, anthropic.StopReasonMaxTokens)
	check.Equal(t, "output_tokens", cut.Usage.OutputTokens, 5)

	params = message(user("one MARK two"))
	params.StopSequences = []string{"MARK"}
	stopped := create(t, params)
	check.Equal(t, "stop_reason", stopped.StopReason, anthropic.StopReasonStopSequence)
	check.Equal(t, "stop_sequence", stopped.StopSequence, "MARK")
	check.Truef(t, !strings.Contains(text(t, stopped), "MARK"), "the stop sequence is in the text")
}

func TestVision(t *testing.T) {
	t.Parallel()
	png := picture.PNG(t, 7, 5)
	answer := create(t, message(anthropic.NewUserMessage(
		anthropic.NewTextBlock("What is this?"),
		anthropic.NewImageBlock(anthropic.Base64ImageSourceParam{Data: encoded(png), MediaType: anthropic.Base64ImageSourceMediaTypeImagePNG}),
		anthropic.NewImageBlock(anthropic.URLImageSourceParam{URL: "https://example.com/far.png"}),
		anthropic.NewDocumentBlock(anthropic.PlainTextSourceParam{Data: "first line\nsecond line\n"}),
		anthropic.NewDocumentBlock(anthropic.Base64PDFSourceParam{Data: encoded([]byte("%PDF-1.4\n1 0 obj<</Type/Page>>endobj\n%%EOF"))}),
	)))
	check.Contains(t, text(t, answer),
		"What is this?", picture.Described(png, 7, 5), "https://example.com/far.png", "2 lines", "application/pdf")
}

func TestStructuredOutput(t *testing.T) {
	t.Parallel()
	params := message(user("Describe a person."))
	params.OutputConfig.Format = anthropic.JSONOutputFormatParam{Schema: map[string]any{
		"type": "object",
		"properties": map[string]any{
			"name": map[string]any{"type": "string", "minLength": 1},
			"age":  map[string]any{"type": "integer", "minimum": 1},
		},
		"required":             []string{"name", "age"},
		"additionalProperties": false,
	}}
	var person struct {
		Name string
		Age  int
	}
	if err := json.Unmarshal([]byte(text(t, create(t, params))), &person); err != nil {
		t.Fatal(err)
	}
	check.Truef(t, person.Name != "" && person.Age > 0, "not an instance of the schema: %+v", person)
}

// TestThinking: a signed block comes first and is accepted back; redacted thinking
// as well.
func TestThinking(t *testing.T) {
	t.Parallel()
	params := message(user("Think about it."))
	params.Thinking = anthropic.ThinkingConfigParamOfEnabled(1024)
	answer := create(t, params)
	if len(answer.Content) != 2 || answer.Content[0].Type != "thinking" {
		t.Fatalf("not a thinking block, then text: %s", answer.RawJSON())
	}
	check.Truef(t, answer.Content[0].Thinking != "" && answer.Content[0].Signature != "", "thinking is not signed: %s", answer.RawJSON())
	check.Contains(t, text(t, answer), "Think about it.", "budget_tokens 1024")
	check.Truef(t, answer.Usage.OutputTokensDetails.ThinkingTokens > 0, "no thinking tokens: %s", answer.Usage.RawJSON())

	params.Messages = append(params.Messages, answer.ToParam(), user("And now?"))
	check.Contains(t, text(t, create(t, params)), "And now?", "1 of the sandbox accepted")

	params.Model = "sandbox-redacted"
	redacted := create(t, params)
	check.Equal(t, "type", redacted.Content[0].Type, "redacted_thinking")
	check.Truef(t, redacted.Content[0].Data != "", "no data: %s", redacted.RawJSON())
	params.Model = textModel
	params.Messages = append(params.Messages, redacted.ToParam(), user("And then?"))
	check.Contains(t, text(t, create(t, params)), "And then?")
}

func TestOtherEnds(t *testing.T) {
	t.Parallel()
	params := message(user("Say hello."))
	params.Model = "sandbox-refusal"
	check.Equal(t, "stop_reason", create(t, params).StopReason, anthropic.StopReasonRefusal)
	params.Model = "sandbox-pause"
	paused := create(t, params)
	check.Equal(t, "stop_reason", paused.StopReason, anthropic.StopReasonPauseTurn)
	params.Model = textModel
	params.Messages = append(params.Messages, paused.ToParam())
	check.Truef(t, len(create(t, params).Content) > 0, "a paused turn does not go on")
	params = message(user("Say hello."))
	params.Model = "sandbox-citations"
	cited := create(t, params).Content[0]
	if len(cited.Citations) == 0 {
		t.Fatalf("no citations: %s", cited.RawJSON())
	}
	check.Equal(t, "url", cited.Citations[0].URL, "https://example.com/sandbox")
}

func TestCountTokens(t *testing.T) {
	t.Parallel()
	params := message(user("How many tokens does this question have?"))
	params.System = []anthropic.TextBlockParam{{Text: "Be brief."}}
	params.Tools = tools()
	counted := anthropic.MessageCountTokensParams{
		Model: textModel, Messages: params.Messages,
		System: anthropic.MessageCountTokensParamsSystemUnion{OfTextBlockArray: params.System},
	}
	for _, tool := range params.Tools {
		counted.Tools = append(counted.Tools, anthropic.MessageCountTokensToolUnionParam{OfTool: tool.OfTool})
	}
	c := client()
	count, err := c.Messages.CountTokens(t.Context(), counted)
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "input_tokens", count.InputTokens, create(t, params).Usage.InputTokens)
}
