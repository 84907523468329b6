package genai_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"google.golang.org/genai"
)

// folded is a stream's candidates, their parts joined; the SDK has no accumulator
// but the chat's.
type folded struct {
	texts, thoughts []string
	calls           [][]string
	finishes        []genai.FinishReason
	usage           *genai.GenerateContentResponseUsageMetadata
}

func (f *folded) add(t *testing.T, answer *genai.GenerateContentResponse) {
	t.Helper()
	for _, candidate := range answer.Candidates {
		i := int(candidate.Index)
		for len(f.texts) <= i {
			f.texts, f.thoughts = append(f.texts, ""), append(f.thoughts, "")
			f.calls, f.finishes = append(f.calls, nil), append(f.finishes, "")
		}
		if candidate.FinishReason != "" {
			check.Equal(t, "finish reason before the last", f.finishes[i], "")
			f.finishes[i] = candidate.FinishReason
		}
		if candidate.Content == nil {
			continue
		}
		for _, part := range candidate.Content.Parts {
			switch {
			case part.FunctionCall != nil:
				args, err := json.Marshal(part.FunctionCall.Args)
				if err != nil {
					t.Fatal(err)
				}
				f.calls[i] = append(f.calls[i], part.FunctionCall.Name+string(args))
			case part.Thought:
				f.thoughts[i] += part.Text
			default:
				f.texts[i] += part.Text
			}
		}
	}
	if answer.UsageMetadata != nil {
		f.usage = answer.UsageMetadata
	}
}

func streamed(t *testing.T, model string, contents []*genai.Content, config *genai.GenerateContentConfig) *folded {
	t.Helper()
	f := &folded{}
	for answer, err := range client(t, "", genai.HTTPOptions{}).Models.GenerateContentStream(t.Context(), model, contents, config) {
		if err != nil {
			t.Fatal(err)
		}
		check.Equal(t, "modelVersion", answer.ModelVersion, model)
		f.add(t, answer)
	}
	return f
}

// TestStreamMeansTheSame compares both forms of the same calls.
func TestStreamMeansTheSame(t *testing.T) {
	t.Parallel()
	thinking := &genai.ThinkingConfig{IncludeThoughts: true, ThinkingBudget: genai.Ptr[int32](512)}
	for name, call := range map[string]struct {
		model, prompt string
		config        *genai.GenerateContentConfig
	}{
		"text":       {},
		"candidates": {config: &genai.GenerateContentConfig{CandidateCount: 2}},
		"cut":        {config: &genai.GenerateContentConfig{MaxOutputTokens: 3}},
		"thinking":   {config: &genai.GenerateContentConfig{ThinkingConfig: thinking}},
		"filter":     {model: "sandbox-filter"},
		"blocked":    {model: "sandbox-blocked"},
		"empty":      {model: "sandbox-empty"},
		"json":       {config: &genai.GenerateContentConfig{ResponseMIMEType: "application/json"}},
		"tools": {
			config: &genai.GenerateContentConfig{Tools: tools()},
			prompt: `Call the tool get_weather with {"city":"Paris","unit":"celsius"}. Call the tool get_time with {}.`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if call.model == "" {
				call.model = textModel
			}
			if call.prompt == "" {
				call.prompt = "Say hello, and then goodbye."
			}
			unary, err := client(t, "", genai.HTTPOptions{}).Models.GenerateContent(t.Context(), call.model, genai.Text(call.prompt), call.config)
			if err != nil {
				t.Fatal(err)
			}
			want, got := &folded{}, streamed(t, call.model, genai.Text(call.prompt), call.config)
			want.add(t, unary)
			check.Equal(t, "number of candidates", len(got.texts), len(want.texts))
			for i := range want.texts {
				check.Equal(t, "text", got.texts[i], want.texts[i])
				check.Equal(t, "thoughts", got.thoughts[i], want.thoughts[i])
				check.Equal(t, "finishReason", got.finishes[i], want.finishes[i])
				check.Equal(t, "number of calls", len(got.calls[i]), len(want.calls[i]))
				for n := range want.calls[i] {
					check.Equal(t, "call", got.calls[i][n], want.calls[i][n])
				}
			}
			if got.usage == nil {
				t.Fatal("the stream has no usage")
			}
			check.Equal(t, "promptTokenCount", got.usage.PromptTokenCount, want.usage.PromptTokenCount)
			check.Equal(t, "candidatesTokenCount", got.usage.CandidatesTokenCount, want.usage.CandidatesTokenCount)
			check.Equal(t, "thoughtsTokenCount", got.usage.ThoughtsTokenCount, want.usage.ThoughtsTokenCount)
		})
	}
}

// TestStreamFails: an early failure is a plain HTTP error; a late one is an error of
// the stream, never an end that looks complete.
func TestStreamFails(t *testing.T) {
	t.Parallel()
	models := client(t, "", genai.HTTPOptions{}).Models
	for answer, err := range models.GenerateContentStream(t.Context(), "sandbox-rate-limit", genai.Text("Say hello."), nil) {
		check.Truef(t, answer == nil, "a refused stream has a frame")
		refused(t, err, 429, "RESOURCE_EXHAUSTED")
	}
	for _, model := range []string{"sandbox-cut", "sandbox-mid-error"} {
		var last error
		for answer, err := range models.GenerateContentStream(t.Context(), model, genai.Text("Say hello."), nil) {
			last = err
			if err != nil {
				break
			}
			for _, candidate := range answer.Candidates {
				check.Truef(t, candidate.FinishReason == "", "%s: the broken stream is finished", model)
			}
		}
		check.Truef(t, last != nil, "%s: the stream ends without an error", model)
	}
}

// TestAbort ends a call mid-stream; the next one works. The SDK reports the end in
// words of its own: it takes what it has read of a frame for the whole.
func TestAbort(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	frames := 0
	for _, err := range client(t, "", genai.HTTPOptions{}).Models.GenerateContentStream(ctx, "sandbox-long-50000", genai.Text("Say hello."), nil) {
		last = err
		if err != nil {
			break
		}
		frames++
		cancel()
	}
	check.Truef(t, frames > 0 && last != nil, "after %d frames the error is %v", frames, last)
	check.Contains(t, generate(t, genai.Text("Still there?"), nil).Text(), "Still there?")
}
