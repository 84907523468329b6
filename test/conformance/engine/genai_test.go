//go:build engine

package engine_test

import (
	"context"
	"encoding/json"
	"errors"

	"google.golang.org/genai"
)

func askGenerateContent(ctx context.Context, q question) (answer, error) {
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: gateway.Keys["generatecontent"],
		HTTPOptions: genai.HTTPOptions{BaseURL: gateway.URL()},
	})
	if err != nil {
		return answer{}, err
	}
	config := &genai.GenerateContentConfig{MaxOutputTokens: int32(q.max)}
	if q.tool {
		config.Tools = []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "get_weather", ParametersJsonSchema: toolSchema()}}}}
		config.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: genai.FunctionCallingConfigModeAny}}
	}
	if q.schema {
		config.ResponseMIMEType, config.ResponseJsonSchema = "application/json", answerSchema()
	}
	a := answer{}
	if !q.stream {
		got, err := client.Models.GenerateContent(ctx, q.model, genai.Text(q.text), config)
		if err != nil {
			return answer{}, err
		}
		err = a.add(got)
		return a, err
	}
	for got, err := range client.Models.GenerateContentStream(ctx, q.model, genai.Text(q.text), config) {
		if err != nil {
			return answer{}, err
		}
		if err := a.add(got); err != nil {
			return answer{}, err
		}
	}
	return a, nil
}

// add adds an answer, or one more piece of a stream.
func (a *answer) add(got *genai.GenerateContentResponse) error {
	if u := got.UsageMetadata; u != nil {
		a.input, a.output = int64(u.PromptTokenCount), int64(u.CandidatesTokenCount)
	}
	if len(got.Candidates) == 0 {
		return nil
	}
	candidate := got.Candidates[0]
	if candidate.Content != nil {
		for _, part := range candidate.Content.Parts {
			a.text += part.Text
			if call := part.FunctionCall; call != nil {
				args, err := json.Marshal(call.Args)
				if err != nil {
					return err
				}
				a.tool, a.args = call.Name, string(args)
			}
		}
	}
	switch candidate.FinishReason {
	case "":
	case genai.FinishReasonMaxTokens:
		a.finish = "length"
	case genai.FinishReasonStop:
		a.finish = "stop"
		if a.tool != "" {
			a.finish = "tools"
		}
	default:
		return errors.New("finish reason " + string(candidate.FinishReason))
	}
	return nil
}
