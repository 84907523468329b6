//go:build engine

package engine_test

import (
	"context"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

func openaiClient() openai.Client {
	return openai.NewClient(option.WithBaseURL(gateway.URL()+"/v1"), option.WithAPIKey(gateway.Keys["chat"]), option.WithMaxRetries(0))
}

func askChat(ctx context.Context, q question) (answer, error) {
	params := openai.ChatCompletionNewParams{
		Model: q.model, MaxCompletionTokens: openai.Int(q.max),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(q.text)},
	}
	if q.tool {
		params.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(
			openai.FunctionDefinitionParam{Name: "get_weather", Parameters: toolSchema()})}
		params.ToolChoice.OfAuto = openai.String("required")
	}
	if q.schema {
		params.ResponseFormat.OfJSONSchema = &openai.ResponseFormatJSONSchemaParam{
			JSONSchema: openai.ResponseFormatJSONSchemaJSONSchemaParam{Name: "trip", Schema: answerSchema()},
		}
	}
	client := openaiClient()
	if !q.stream {
		got, err := client.Chat.Completions.New(ctx, params)
		if err != nil {
			return answer{}, err
		}
		return chatAnswer(got)
	}
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(ctx, params)
	defer stream.Close()
	var acc openai.ChatCompletionAccumulator
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			return answer{}, errors.New("the accumulator refuses a chunk: " + stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		return answer{}, err
	}
	return chatAnswer(&acc.ChatCompletion)
}

func chatAnswer(got *openai.ChatCompletion) (answer, error) {
	if len(got.Choices) != 1 {
		return answer{}, errors.New("not one choice: " + got.RawJSON())
	}
	choice := got.Choices[0]
	a := answer{text: choice.Message.Content, finish: choice.FinishReason, input: got.Usage.PromptTokens, output: got.Usage.CompletionTokens}
	if a.finish == "tool_calls" {
		a.finish = "tools"
	}
	for _, call := range choice.Message.ToolCalls {
		a.tool, a.args = call.Function.Name, call.Function.Arguments
	}
	return a, nil
}

func askResponses(ctx context.Context, q question) (answer, error) {
	params := responses.ResponseNewParams{Model: q.model, MaxOutputTokens: openai.Int(q.max)}
	params.Input.OfString = openai.String(q.text)
	if q.tool {
		params.Tools = []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{Name: "get_weather", Parameters: toolSchema()}}}
		params.ToolChoice.OfToolChoiceMode = openai.Opt(responses.ToolChoiceOptionsRequired)
	}
	if q.schema {
		params.Text.Format.OfJSONSchema = &responses.ResponseFormatTextJSONSchemaConfigParam{Name: "trip", Schema: answerSchema()}
	}
	client := openaiClient()
	if !q.stream {
		got, err := client.Responses.New(ctx, params)
		if err != nil {
			return answer{}, err
		}
		return responsesAnswer(got), nil
	}
	stream := client.Responses.NewStreaming(ctx, params)
	defer stream.Close()
	var last *responses.Response
	text := ""
	for stream.Next() {
		switch event := stream.Current(); event.Type {
		case "response.output_text.delta":
			text += event.Delta
		case "response.completed", "response.incomplete", "response.failed":
			last = &event.Response
		}
	}
	if err := stream.Err(); err != nil {
		return answer{}, err
	}
	if last == nil {
		return answer{}, errors.New("the stream ended without its end")
	}
	if whole := last.OutputText(); text != whole {
		return answer{}, errors.New("the deltas say " + text + " and the end " + whole)
	}
	return responsesAnswer(last), nil
}

func responsesAnswer(got *responses.Response) answer {
	a := answer{text: got.OutputText(), finish: "stop", input: got.Usage.InputTokens, output: got.Usage.OutputTokens}
	if got.IncompleteDetails.Reason == "max_output_tokens" {
		a.finish = "length"
	}
	for _, item := range got.Output {
		if item.Type == "function_call" {
			a.finish, a.tool, a.args = "tools", item.Name, item.Arguments.OfString
		}
	}
	return a
}
