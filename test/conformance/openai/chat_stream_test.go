package openai_test

import (
	"context"
	"errors"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"
)

// streamed folds a stream with the SDK's accumulator. Every chunk has the same id.
func streamed(t *testing.T, params openai.ChatCompletionNewParams) *openai.ChatCompletionAccumulator {
	t.Helper()
	c := client()
	stream := c.Chat.Completions.NewStreaming(t.Context(), params)
	defer stream.Close()
	acc, id := &openai.ChatCompletionAccumulator{}, ""
	for stream.Next() {
		chunk := stream.Current()
		if id == "" {
			id = chunk.ID
		}
		check.Equal(t, "chunk's id", chunk.ID, id)
		check.Equal(t, "object", string(chunk.Object), "chat.completion.chunk")
		if !acc.AddChunk(chunk) {
			t.Fatalf("the accumulator refuses %s", chunk.RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if len(acc.Choices) == 0 {
		t.Fatal("the stream has no choices")
	}
	return acc
}

// TestChatStreamMeansTheSame compares both forms of the same calls.
func TestChatStreamMeansTheSame(t *testing.T) {
	t.Parallel()
	withUsage := openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	for name, change := range map[string]func(*openai.ChatCompletionNewParams){
		"text":       func(*openai.ChatCompletionNewParams) {},
		"candidates": func(p *openai.ChatCompletionNewParams) { p.N = openai.Int(2) },
		"cut":        func(p *openai.ChatCompletionNewParams) { p.MaxCompletionTokens = openai.Int(3) },
		"thinking":   func(p *openai.ChatCompletionNewParams) { p.ReasoningEffort = shared.ReasoningEffortLow },
		"refusal":    func(p *openai.ChatCompletionNewParams) { p.Model = "sandbox-refusal" },
		"filter":     func(p *openai.ChatCompletionNewParams) { p.Model = "sandbox-filter" },
		"empty":      func(p *openai.ChatCompletionNewParams) { p.Model = "sandbox-empty" },
		"json": func(p *openai.ChatCompletionNewParams) {
			p.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
		},
		"tools": func(p *openai.ChatCompletionNewParams) {
			p.Tools = weatherTools()
			p.Messages = append(p.Messages, openai.UserMessage(`Call the tool get_weather with {"city":"Paris","unit":"celsius"}. Call the tool get_time with {}.`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			params := chat(openai.SystemMessage("Be brief."), openai.UserMessage("Say hello, and then goodbye."))
			change(&params)
			unary := complete(t, params)
			params.StreamOptions = withUsage
			acc := streamed(t, params)
			check.Equal(t, "number of choices", len(acc.Choices), len(unary.Choices))
			for i, want := range unary.Choices {
				got := acc.Choices[i]
				check.Equal(t, "content", got.Message.Content, want.Message.Content)
				check.Equal(t, "refusal", got.Message.Refusal, want.Message.Refusal)
				check.Equal(t, "finish_reason", got.FinishReason, want.FinishReason)
				check.Equal(t, "number of tool calls", len(got.Message.ToolCalls), len(want.Message.ToolCalls))
				for n, call := range want.Message.ToolCalls {
					check.Equal(t, "tool", got.Message.ToolCalls[n].Function.Name, call.Function.Name)
					check.Equal(t, "arguments", got.Message.ToolCalls[n].Function.Arguments, call.Function.Arguments)
				}
			}
			check.Equal(t, "prompt_tokens", acc.Usage.PromptTokens, unary.Usage.PromptTokens)
			check.Equal(t, "completion_tokens", acc.Usage.CompletionTokens, unary.Usage.CompletionTokens)
		})
	}
}

// TestChatStreamUsage: usage comes in a chunk of its own without choices, and only
// when asked for.
func TestChatStreamUsage(t *testing.T) {
	t.Parallel()
	for _, asked := range []bool{true, false} {
		params := chat(openai.UserMessage("Say hello."))
		if asked {
			params.StreamOptions.IncludeUsage = openai.Bool(true)
		}
		c := client()
		stream := c.Chat.Completions.NewStreaming(t.Context(), params)
		usages, last := 0, openai.ChatCompletionChunk{}
		for stream.Next() {
			last = stream.Current()
			if last.JSON.Usage.Valid() {
				usages++
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		if !asked {
			check.Equal(t, "number of usages that were not asked for", usages, 0)
			continue
		}
		check.Equal(t, "number of usages", usages, 1)
		check.Equal(t, "choices beside the usage", len(last.Choices), 0)
		check.Truef(t, last.Usage.TotalTokens > 0, "the last chunk is not the usage: %s", last.RawJSON())
	}
}

// TestChatStreamFails: an early failure is a plain HTTP error; a late one is an
// error of the stream, never an end that looks complete.
func TestChatStreamFails(t *testing.T) {
	t.Parallel()
	c := client()
	params := chat(openai.UserMessage("Say hello."))
	params.Model = "sandbox-rate-limit"
	stream := c.Chat.Completions.NewStreaming(t.Context(), params)
	check.Truef(t, !stream.Next(), "a refused stream has a chunk")
	var failure *openai.Error
	if !errors.As(stream.Err(), &failure) {
		t.Fatalf("error is %v", stream.Err())
	}
	check.Equal(t, "status", failure.StatusCode, 429)

	for _, model := range []string{"sandbox-cut", "sandbox-mid-error"} {
		params.Model = model
		stream := c.Chat.Completions.NewStreaming(t.Context(), params)
		finished := false
		for stream.Next() {
			for _, choice := range stream.Current().Choices {
				finished = finished || choice.FinishReason != ""
			}
		}
		check.Truef(t, stream.Err() != nil, "%s: the stream ends without an error", model)
		check.Truef(t, !finished, "%s: the broken stream has a finish reason", model)
	}
}

// TestChatAbort ends a call mid-stream; the next one works.
func TestChatAbort(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := client()
	params := chat(openai.UserMessage("Say hello."))
	params.Model = "sandbox-long-50000"
	stream := c.Chat.Completions.NewStreaming(ctx, params)
	if !stream.Next() {
		t.Fatal(stream.Err())
	}
	cancel()
	for stream.Next() {
		continue
	}
	check.Truef(t, errors.Is(stream.Err(), context.Canceled), "error is %v", stream.Err())
	check.Contains(t, complete(t, chat(openai.UserMessage("Still there?"))).Choices[0].Message.Content, "Still there?")
}
