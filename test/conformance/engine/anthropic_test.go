//go:build engine

package engine_test

import (
	"context"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

func askMessages(ctx context.Context, q question) (answer, error) {
	client := anthropic.NewClient(option.WithBaseURL(gateway.URL()), option.WithAPIKey(gateway.Keys["messages"]), option.WithMaxRetries(0))
	params := anthropic.MessageNewParams{
		Model: q.model, MaxTokens: q.max,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(q.text))},
	}
	if q.tool {
		params.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
			Name: "get_weather", InputSchema: anthropic.ToolInputSchemaParam{
				Properties: toolSchema()["properties"], Required: []string{"city"},
			},
		}}}
		params.ToolChoice.OfAny = &anthropic.ToolChoiceAnyParam{}
	}
	if q.schema {
		params.OutputConfig.Format = anthropic.JSONOutputFormatParam{Schema: answerSchema()}
	}
	if !q.stream {
		got, err := client.Messages.New(ctx, params)
		if err != nil {
			return answer{}, err
		}
		return messagesAnswer(got), nil
	}
	stream := client.Messages.NewStreaming(ctx, params)
	defer stream.Close()
	got := &anthropic.Message{}
	for stream.Next() {
		if err := got.Accumulate(stream.Current()); err != nil {
			return answer{}, err
		}
	}
	return messagesAnswer(got), stream.Err()
}

func messagesAnswer(got *anthropic.Message) answer {
	a := answer{
		finish: string(got.StopReason), output: got.Usage.OutputTokens,
		input: got.Usage.InputTokens + got.Usage.CacheReadInputTokens,
	}
	if finish, ok := map[anthropic.StopReason]string{
		anthropic.StopReasonEndTurn: "stop", anthropic.StopReasonMaxTokens: "length", anthropic.StopReasonToolUse: "tools",
	}[got.StopReason]; ok {
		a.finish = finish
	}
	for _, block := range got.Content {
		switch block.Type {
		case "text":
			a.text += block.Text
		case "tool_use":
			a.tool, a.args = block.Name, string(block.Input)
		}
	}
	return a
}
