package genai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/picture"
	"google.golang.org/genai"
)

func TestText(t *testing.T) {
	t.Parallel()
	answer := generate(t, genai.Text("Say hello."), nil)
	candidate := only(t, answer)
	check.Contains(t, answer.Text(), "Say hello.")
	check.Equal(t, "finishReason", candidate.FinishReason, genai.FinishReasonStop)
	check.Truef(t, len(candidate.Content.Parts[0].ThoughtSignature) > 0, "no thoughtSignature")
	check.Equal(t, "modelVersion", answer.ModelVersion, textModel)
	check.Truef(t, answer.ResponseID != "", "no responseId")
	u := answer.UsageMetadata
	if u == nil {
		t.Fatal("no usageMetadata")
	}
	check.Truef(t, u.PromptTokenCount > 0 && u.CandidatesTokenCount > 0, "usage is %+v", u)
	check.Equal(t, "totalTokenCount", u.TotalTokenCount, u.PromptTokenCount+u.CandidatesTokenCount+u.ThoughtsTokenCount)
}

func TestSystemInstruction(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"", "user", "system"} {
		answer := generate(t, genai.Text("Say hello."), &genai.GenerateContentConfig{
			SystemInstruction: &genai.Content{Role: role, Parts: []*genai.Part{{Text: "Answer like a pirate."}, {Text: "Be brief."}}},
		})
		check.Contains(t, answer.Text(), "Say hello.", "Answer like a pirate.", "Be brief.")
	}
}

// TestContentsWithoutRole: a single turn needs no role.
func TestContentsWithoutRole(t *testing.T) {
	t.Parallel()
	answer := generate(t, []*genai.Content{{Parts: []*genai.Part{{Text: "Say hello."}, {Text: "And goodbye."}}}}, nil)
	check.Contains(t, answer.Text(), "Say hello.", "And goodbye.")
}

// TestChat lets the SDK keep the conversation, unary and streamed. It sends the
// answers back as it got them, a unary one's thought signature included; of a stream
// it makes one content of each frame, and leaves out a signature without text.
func TestChat(t *testing.T) {
	t.Parallel()
	chat, err := client(t, "", genai.HTTPOptions{}).Chats.Create(t.Context(), textModel, nil, []*genai.Content{user("Call me Ada."), modelTurn("Hello Ada.")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chat.SendMessage(t.Context(), genai.Part{Text: "I like maps."}); err != nil {
		t.Fatal(err)
	}
	var streamed strings.Builder
	for answer, err := range chat.SendMessageStream(t.Context(), genai.Part{Text: "What do I like?"}) {
		if err != nil {
			t.Fatal(err)
		}
		streamed.WriteString(answer.Text())
	}
	check.Contains(t, streamed.String(), "What do I like?", "Call me Ada.", "Hello Ada.", "I like maps.", "Signatures: 1 of the sandbox accepted")
	answer, err := chat.SendMessage(t.Context(), genai.Part{Text: "Are you sure?"})
	if err != nil {
		t.Fatal(err)
	}
	check.Contains(t, answer.Text(), "Are you sure?", "Signatures: 1 of the sandbox accepted")
}

func TestEveryKnob(t *testing.T) {
	t.Parallel()
	answer := generate(t, genai.Text("Say hello."), &genai.GenerateContentConfig{
		Temperature: genai.Ptr[float32](0.5), TopP: genai.Ptr[float32](0.25), TopK: genai.Ptr[float32](40),
		Seed: genai.Ptr[int32](4), FrequencyPenalty: genai.Ptr[float32](0.75), PresencePenalty: genai.Ptr[float32](-0.75),
		MaxOutputTokens: 900, StopSequences: []string{"@@", "##"},
		SafetySettings: []*genai.SafetySetting{{Category: genai.HarmCategoryHarassment, Threshold: genai.HarmBlockThresholdBlockNone}},
	})
	check.Contains(t, answer.Text(), "temperature 0.5", "top_p 0.25", "top_k 40", "seed 4", "frequency_penalty 0.75",
		"presence_penalty -0.75", "max_output_tokens 900", "stop_sequences 2", "safetySettings")
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	answer := generate(t, genai.Text("Say hello."), &genai.GenerateContentConfig{CandidateCount: 3})
	texts := map[string]bool{}
	for i, candidate := range answer.Candidates {
		check.Equal(t, "index", candidate.Index, int32(i))
		check.Equal(t, "finishReason", candidate.FinishReason, genai.FinishReasonStop)
		texts[candidate.Content.Parts[0].Text] = true
	}
	check.Equal(t, "number of different texts", len(texts), 3)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	cut := generate(t, genai.Text("A sentence that is to be repeated."), &genai.GenerateContentConfig{MaxOutputTokens: 5})
	check.Equal(t, "finishReason", only(t, cut).FinishReason, genai.FinishReasonMaxTokens)
	check.Equal(t, "candidatesTokenCount", cut.UsageMetadata.CandidatesTokenCount, 5)
	stopped := generate(t, genai.Text("one MARK two"), &genai.GenerateContentConfig{StopSequences: []string{"MARK"}})
	check.Equal(t, "finishReason", only(t, stopped).FinishReason, genai.FinishReasonStop)
	check.Truef(t, strings.Contains(stopped.Text(), "one ") && !strings.Contains(stopped.Text(), "MARK"), "text is %q", stopped.Text())
}

func TestVision(t *testing.T) {
	t.Parallel()
	png := picture.PNG(t, 7, 5)
	answer := generate(t, []*genai.Content{genai.NewContentFromParts([]*genai.Part{
		genai.NewPartFromText("What is this?"),
		genai.NewPartFromBytes(png, "image/png"),
		genai.NewPartFromBytes([]byte("first line\nsecond line\n"), "text/plain"),
		genai.NewPartFromURI("https://example.com/far.png", "image/png"),
	}, genai.RoleUser)}, nil)
	check.Contains(t, answer.Text(), "What is this?", picture.Described(png, 7, 5), "2 lines", "https://example.com/far.png")
	details := map[genai.MediaModality]int32{}
	for _, d := range answer.UsageMetadata.PromptTokensDetails {
		details[d.Modality] = d.TokenCount
	}
	check.Truef(t, details[genai.MediaModalityImage] > 0 && details[genai.MediaModalityText] > 0, "prompt details are %v", details)
}

func TestStructuredOutput(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]*genai.GenerateContentConfig{
		"responseSchema": {ResponseSchema: &genai.Schema{
			Type:       genai.TypeObject,
			Properties: map[string]*genai.Schema{"name": {Type: genai.TypeString, MinLength: genai.Ptr[int64](1)}, "age": {Type: genai.TypeInteger, Minimum: new(1.0)}},
			Required:   []string{"name", "age"},
		}},
		"responseJsonSchema": {ResponseJsonSchema: map[string]any{
			"type":       "object",
			"properties": map[string]any{"name": map[string]any{"type": "string", "minLength": 1}, "age": map[string]any{"type": "integer", "minimum": 1}},
			"required":   []string{"name", "age"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config.ResponseMIMEType = "application/json"
			var person struct {
				Name string
				Age  int
			}
			if err := json.Unmarshal([]byte(generate(t, genai.Text("Describe a person."), config).Text()), &person); err != nil {
				t.Fatal(err)
			}
			check.Truef(t, person.Name != "" && person.Age > 0, "not an instance of the schema: %+v", person)
		})
	}
	plain := generate(t, genai.Text("Describe a person."), &genai.GenerateContentConfig{ResponseMIMEType: "application/json"})
	check.Truef(t, json.Valid([]byte(plain.Text())), "not JSON: %s", plain.Text())
	enum := generate(t, genai.Text("Which one? The green one."), &genai.GenerateContentConfig{
		ResponseMIMEType: "text/x.enum",
		ResponseSchema:   &genai.Schema{Type: genai.TypeString, Enum: []string{"red", "green", "blue"}},
	})
	check.Equal(t, "text", enum.Text(), "green")
}

// TestThinking: thoughts are shown when asked for, counted when asked to think, and
// absent with a budget of zero.
func TestThinking(t *testing.T) {
	t.Parallel()
	shown := generate(t, genai.Text("Think about it."), &genai.GenerateContentConfig{
		ThinkingConfig: &genai.ThinkingConfig{IncludeThoughts: true, ThinkingBudget: genai.Ptr[int32](1024)},
	})
	var thoughts strings.Builder
	for _, part := range only(t, shown).Content.Parts {
		if part.Thought {
			thoughts.WriteString(part.Text)
		}
	}
	check.Truef(t, thoughts.Len() > 0, "no thoughts are shown")
	check.Truef(t, shown.UsageMetadata.ThoughtsTokenCount > 0, "usage is %+v", shown.UsageMetadata)
	check.Contains(t, shown.Text(), "Think about it.", "budget_tokens 1024")

	none := generate(t, genai.Text("Think about it."), &genai.GenerateContentConfig{
		ThinkingConfig: &genai.ThinkingConfig{ThinkingBudget: genai.Ptr[int32](0)},
	})
	for _, part := range only(t, none).Content.Parts {
		check.Truef(t, !part.Thought, "a thought without budget")
	}
	check.Equal(t, "thoughtsTokenCount", none.UsageMetadata.ThoughtsTokenCount, 0)
	level := generate(t, genai.Text("Think about it."), &genai.GenerateContentConfig{
		ThinkingConfig: &genai.ThinkingConfig{ThinkingLevel: genai.ThinkingLevelHigh},
	})
	check.Truef(t, level.UsageMetadata.ThoughtsTokenCount > 0, "usage is %+v", level.UsageMetadata)
}

func TestLogprobs(t *testing.T) {
	t.Parallel()
	answer := generate(t, genai.Text("Say hello."), &genai.GenerateContentConfig{ResponseLogprobs: true, Logprobs: genai.Ptr[int32](2)})
	result := only(t, answer).LogprobsResult
	if result == nil {
		t.Fatal("no logprobsResult")
	}
	var text strings.Builder
	for _, token := range result.ChosenCandidates {
		text.WriteString(token.Token)
	}
	check.Equal(t, "text of the tokens", text.String(), answer.Text())
	check.Equal(t, "number of steps", len(result.TopCandidates), len(result.ChosenCandidates))
}

func TestOtherEnds(t *testing.T) {
	t.Parallel()
	blocked := modelled(t, "sandbox-blocked", genai.Text("Say hello."))
	check.Truef(t, len(blocked.Candidates) == 0 && blocked.PromptFeedback != nil && blocked.PromptFeedback.BlockReason != "",
		"not blocked: %+v", blocked)
	check.Equal(t, "finishReason", only(t, modelled(t, "sandbox-filter", genai.Text("Say hello."))).FinishReason, genai.FinishReasonSafety)
	cited := only(t, modelled(t, "sandbox-citations", genai.Text("Say hello.")))
	check.Truef(t, cited.CitationMetadata != nil && len(cited.CitationMetadata.Citations) > 0 && cited.CitationMetadata.Citations[0].URI == "https://example.com/sandbox" ||
		cited.GroundingMetadata != nil && len(cited.GroundingMetadata.GroundingChunks) > 0 && cited.GroundingMetadata.GroundingChunks[0].Web.URI == "https://example.com/sandbox",
		"no citation: %+v", cited)
}

func TestCountTokens(t *testing.T) {
	t.Parallel()
	contents := []*genai.Content{user("My name is Ada."), modelTurn("Hello Ada."), user("How many tokens is this?")}
	count, err := client(t, "", genai.HTTPOptions{}).Models.CountTokens(t.Context(), textModel, contents, nil)
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "totalTokens", count.TotalTokens, generate(t, contents, nil).UsageMetadata.PromptTokenCount)
}
