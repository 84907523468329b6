package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/picture"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"
)

func chat(messages ...openai.ChatCompletionMessageParamUnion) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: textModel, Messages: messages}
}

func complete(t *testing.T, params openai.ChatCompletionNewParams) *openai.ChatCompletion {
	t.Helper()
	c := client()
	answer, err := c.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Choices) == 0 {
		t.Fatalf("no choices: %s", answer.RawJSON())
	}
	return answer
}

func TestChatText(t *testing.T) {
	t.Parallel()
	answer := complete(t, chat(openai.UserMessage("Say hello.")))
	choice := answer.Choices[0]
	check.Contains(t, choice.Message.Content, "Say hello.")
	check.Equal(t, "finish_reason", choice.FinishReason, "stop")
	check.Equal(t, "role", string(choice.Message.Role), "assistant")
	check.Equal(t, "object", string(answer.Object), "chat.completion")
	check.Equal(t, "model", answer.Model, textModel)
	check.Truef(t, answer.ID != "" && answer.Created > 0, "id and created are absent: %s", answer.RawJSON())
	u := answer.Usage
	check.Truef(t, u.PromptTokens > 0 && u.CompletionTokens > 0, "no usage: %s", answer.RawJSON())
	check.Equal(t, "total_tokens", u.TotalTokens, u.PromptTokens+u.CompletionTokens)
}

func TestChatSystemTextInEveryPlace(t *testing.T) {
	t.Parallel()
	answer := complete(t, chat(
		openai.SystemMessage("Answer like a pirate."),
		openai.UserMessage("First question."),
		openai.AssistantMessage("First answer."),
		openai.DeveloperMessage([]openai.ChatCompletionContentPartTextParam{{Text: "Be brief."}, {Text: "Be kind."}}),
		openai.UserMessage("Second question."),
		openai.SystemMessage("A late rule."),
	))
	check.Contains(t, answer.Choices[0].Message.Content,
		"Second question.", "Answer like a pirate.", "Be brief.", "Be kind.", "A late rule.", "First question.", "First answer.")
}

func TestChatMultiTurn(t *testing.T) {
	t.Parallel()
	params := chat(openai.UserMessage("My name is Ada."))
	first := complete(t, params)
	params.Messages = append(params.Messages, first.Choices[0].Message.ToParam(), openai.UserMessage("What is my name?"))
	second := complete(t, params)
	check.Contains(t, second.Choices[0].Message.Content, "What is my name?", "My name is Ada.", "- assistant:")
	check.Truef(t, second.Usage.PromptTokens > first.Usage.PromptTokens, "two turns cost no more than one")
}

// TestChatEveryKnob sends each setting the SDK has for text and looks for it in the
// reply, which lists all that the sandbox was given.
func TestChatEveryKnob(t *testing.T) {
	t.Parallel()
	params := chat(openai.UserMessage("Say hello."))
	params.Temperature = openai.Float(0.5)
	params.TopP = openai.Float(0.25)
	params.Seed = openai.Int(4)
	params.FrequencyPenalty = openai.Float(0.75)
	params.PresencePenalty = openai.Float(-0.75)
	params.MaxCompletionTokens = openai.Int(900)
	params.Stop.OfStringArray = []string{"@@", "##"}
	params.User = openai.String("user-7")
	params.SafetyIdentifier = openai.String("safe-7")
	params.PromptCacheKey = openai.String("cache-7")
	params.Metadata = shared.Metadata{"trace": "t-7"}
	params.Store = openai.Bool(false)
	params.ServiceTier = openai.ChatCompletionNewParamsServiceTierFlex
	params.Verbosity = openai.ChatCompletionNewParamsVerbosityLow
	params.LogitBias = map[string]int64{"50256": -100}
	answer := complete(t, params)
	check.Contains(t, answer.Choices[0].Message.Content,
		"temperature 0.5", "top_p 0.25", "seed 4", "frequency_penalty 0.75", "presence_penalty -0.75",
		"max_output_tokens 900", "stop_sequences 2", "user-7", "safe-7", "cache-7", "trace=t-7", "store false",
		"flex", "verbosity low", "logit_bias")
}

func TestChatCandidates(t *testing.T) {
	t.Parallel()
	params := chat(openai.UserMessage("Say hello."))
	params.N = openai.Int(3)
	answer := complete(t, params)
	check.Equal(t, "number of choices", len(answer.Choices), 3)
	texts := map[string]bool{}
	for i, choice := range answer.Choices {
		check.Equal(t, "index", choice.Index, int64(i))
		check.Equal(t, "finish_reason", choice.FinishReason, "stop")
		texts[choice.Message.Content] = true
	}
	check.Equal(t, "number of different texts", len(texts), 3)
}

func TestChatLimits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("A sentence to be repeated. ", 20)
	params := chat(openai.UserMessage(long))
	params.MaxCompletionTokens = openai.Int(5)
	cut := complete(t, params)
	check.Equal(t, "finish_reason", cut.Choices[0].FinishReason, "length")
	check.Equal(t, "completion_tokens", cut.Usage.CompletionTokens, 5)

	params = chat(openai.UserMessage("one MARK two"))
	params.Stop.OfString = openai.String("MARK")
	stopped := complete(t, params)
	check.Equal(t, "finish_reason", stopped.Choices[0].FinishReason, "stop")
	check.Contains(t, stopped.Choices[0].Message.Content, "one ")
	check.Truef(t, !strings.Contains(stopped.Choices[0].Message.Content, "MARK"), "the stop sequence is in the text")
}

func TestChatLogprobs(t *testing.T) {
	t.Parallel()
	params := chat(openai.UserMessage("Say hello."))
	params.Logprobs = openai.Bool(true)
	params.TopLogprobs = openai.Int(2)
	choice := complete(t, params).Choices[0]
	var text strings.Builder
	for _, token := range choice.Logprobs.Content {
		text.WriteString(token.Token)
		check.Equal(t, "number of alternatives", len(token.TopLogprobs), 2)
		check.Truef(t, token.Logprob <= 0, "log probability %v", token.Logprob)
	}
	check.Equal(t, "text of the tokens", text.String(), choice.Message.Content)
}

func TestChatVision(t *testing.T) {
	t.Parallel()
	png := picture.PNG(t, 7, 5)
	answer := complete(t, chat(openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
		openai.TextContentPart("What is this?"),
		openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: picture.DataURL("image/png", png), Detail: "low"}),
		openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "https://example.com/far.png"}),
		openai.FileContentPart(openai.ChatCompletionContentPartFileFileParam{
			FileData: openai.String(picture.DataURL("text/plain", []byte("first line\nsecond line\n"))),
			Filename: openai.String("notes.txt"),
		}),
		openai.FileContentPart(openai.ChatCompletionContentPartFileFileParam{FileID: openai.String("file-abc")}),
	})))
	check.Contains(t, answer.Choices[0].Message.Content,
		"What is this?", picture.Described(png, 7, 5), "detail low", "https://example.com/far.png", "notes.txt", "2 lines", "file-abc")
}

func TestChatStructuredOutput(t *testing.T) {
	t.Parallel()
	params := chat(openai.UserMessage("Describe a person."))
	params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
		JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "person", Strict: openai.Bool(true), Schema: personSchema()},
	}
	var p person
	if err := json.Unmarshal([]byte(complete(t, params).Choices[0].Message.Content), &p); err != nil {
		t.Fatal(err)
	}
	check.Truef(t, p.Name != "" && p.Age > 0 && len(p.Likes) == 2, "not an instance of the schema: %+v", p)

	params.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONObject: &shared.ResponseFormatJSONObjectParam{}}
	var object map[string]any
	if err := json.Unmarshal([]byte(complete(t, params).Choices[0].Message.Content), &object); err != nil {
		t.Fatal(err)
	}
}

func TestChatThinking(t *testing.T) {
	t.Parallel()
	params := chat(openai.UserMessage("Think about it."))
	params.ReasoningEffort = shared.ReasoningEffortHigh
	answer := complete(t, params)
	message := answer.Choices[0].Message
	check.Contains(t, message.Content, "Think about it.", "effort high")
	check.Truef(t, answer.Usage.CompletionTokensDetails.ReasoningTokens > 0, "no reasoning tokens: %s", answer.RawJSON())
	var reasoning string
	if err := json.Unmarshal([]byte(message.JSON.ExtraFields["reasoning_content"].Raw()), &reasoning); err != nil {
		t.Fatalf("reasoning_content: %v in %s", err, message.RawJSON())
	}
	check.Truef(t, reasoning != "" && !strings.Contains(message.Content, reasoning), "thinking is not apart from the answer")
}

func TestChatRefusalFilterAndCitations(t *testing.T) {
	t.Parallel()
	params := chat(openai.UserMessage("Say hello to the filter."))
	params.Model = "sandbox-refusal"
	check.Truef(t, complete(t, params).Choices[0].Message.Refusal != "", "no refusal")
	params.Model = "sandbox-filter"
	check.Equal(t, "finish_reason", complete(t, params).Choices[0].FinishReason, "content_filter")
	params.Model = "sandbox-citations"
	cited := complete(t, params).Choices[0].Message
	if len(cited.Annotations) == 0 {
		t.Fatalf("no annotations: %s", cited.RawJSON())
	}
	check.Equal(t, "url", cited.Annotations[0].URLCitation.URL, "https://example.com/sandbox")
}
