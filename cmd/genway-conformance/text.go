package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func said(role genwayv1.Role, text string) *genwayv1.Message {
	return &genwayv1.Message{Role: role, Parts: []*genwayv1.Part{codec.TextPart(text)}}
}

func (k *kit) request(messages ...*genwayv1.Message) *genwayv1.GenerateTextRequest {
	return &genwayv1.GenerateTextRequest{Model: k.textModel, Messages: messages}
}

func (k *kit) hello() *genwayv1.GenerateTextRequest {
	return k.request(said(genwayv1.Role_ROLE_USER, "Say hello."))
}

var errNoTextModel = errors.New("ListModels has no model that generates text; name one by --text-model")

// unary returns the answer to a request, which must be whole.
func (k *kit) unary(ctx context.Context, request *genwayv1.GenerateTextRequest, options ...grpc.CallOption) (*genwayv1.GenerateTextResponse, error) {
	if k.textModel == "" {
		return nil, errNoTextModel
	}
	ctx, cancel := k.call(ctx)
	defer cancel()
	answer, err := k.client.GenerateText(ctx, request, options...)
	if err != nil {
		return nil, err
	}
	return answer, wellFormed(answer)
}

// stream returns what the events of a stream amount to. Their order is checked.
func (k *kit) stream(ctx context.Context, request *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
	if k.textModel == "" {
		return nil, errNoTextModel
	}
	ctx, cancel := k.call(ctx)
	defer cancel()
	events, err := k.client.StreamGenerateText(ctx, request)
	if err != nil {
		return nil, err
	}
	var sum codec.Accumulator
	for {
		event, err := events.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := sum.Add(event); err != nil {
			return nil, err
		}
	}
	if !sum.Complete() {
		return nil, errors.New("the stream ends without completed")
	}
	return sum.Response(), wellFormed(sum.Response())
}

// wellFormed checks what the contract says of each answer.
func wellFormed(answer *genwayv1.GenerateTextResponse) error {
	if err := codec.CheckAnswer(answer, genwayv1.Protocol_PROTOCOL_UNSPECIFIED); err != nil {
		return err
	}
	if answer.GetId() == "" {
		return errors.New("the answer has no id")
	}
	if answer.GetModel() == "" {
		return errors.New("the answer has no model")
	}
	for n, c := range answer.GetCandidates() {
		if c.GetStopReason() == genwayv1.StopReason_STOP_REASON_UNSPECIFIED {
			return fmt.Errorf("candidates[%d] has no stop_reason", n)
		}
		for m, p := range c.GetParts() {
			if p.GetKind() == nil {
				return fmt.Errorf("candidates[%d].parts[%d] is of no kind", n, m)
			}
		}
	}
	return countsAddUp(answer.GetUsage())
}

// countsAddUp checks the rules of Usage.
func countsAddUp(u *genwayv1.Usage) error {
	in, out, total := u.GetInputTokens(), u.GetOutputTokens(), u.GetTotalTokens()
	for name, n := range map[string]int64{
		"input_tokens": in, "output_tokens": out, "total_tokens": total, "cache_read_input_tokens": u.GetCacheReadInputTokens(),
		"cache_write_input_tokens": u.GetCacheWriteInputTokens(), "thinking_tokens": u.GetThinkingTokens(),
	} {
		if n < 0 {
			return fmt.Errorf("usage.%s is %d", name, n)
		}
	}
	switch {
	case total != 0 && total != in+out:
		return fmt.Errorf("usage.total_tokens is %d, and input and output are %d and %d", total, in, out)
	case u.GetCacheReadInputTokens() > in:
		return fmt.Errorf("usage.cache_read_input_tokens is %d of %d input_tokens, which include them", u.GetCacheReadInputTokens(), in)
	case u.GetThinkingTokens() > out:
		return fmt.Errorf("usage.thinking_tokens is %d of %d output_tokens, which include them", u.GetThinkingTokens(), out)
	}
	return nil
}

// textOf returns what the first candidate says.
func textOf(answer *genwayv1.GenerateTextResponse) string {
	var text strings.Builder
	for _, p := range first(answer).GetParts() {
		text.WriteString(p.GetText().GetText())
	}
	return text.String()
}

func first(answer *genwayv1.GenerateTextResponse) *genwayv1.Candidate {
	if len(answer.GetCandidates()) == 0 {
		return nil
	}
	return answer.GetCandidates()[0]
}

func (k *kit) generatesText(ctx context.Context) error {
	answer, err := k.unary(ctx, k.hello())
	if err == nil && textOf(answer) == "" {
		err = errors.New("the answer has no text")
	}
	return err
}

func (k *kit) streamsText(ctx context.Context) error {
	answer, err := k.stream(ctx, k.hello())
	if err == nil && textOf(answer) == "" {
		err = errors.New("the stream has no text")
	}
	return err
}

// content returns what two answers have in common if they mean the same: parts without identifiers,
// how they ended, and, unless kinds alone are compared, what they used. Neighbouring texts are one.
func content(answer *genwayv1.GenerateTextResponse, kindsAlone bool) *genwayv1.GenerateTextResponse {
	same := &genwayv1.GenerateTextResponse{Model: answer.GetModel()}
	if !kindsAlone {
		same.Usage = &genwayv1.Usage{InputTokens: answer.GetUsage().GetInputTokens(), OutputTokens: answer.GetUsage().GetOutputTokens()}
	}
	for _, c := range answer.GetCandidates() {
		candidate := &genwayv1.Candidate{Index: c.GetIndex(), StopReason: c.GetStopReason()}
		for _, p := range c.GetParts() {
			part, ok := proto.Clone(p).(*genwayv1.Part)
			if !ok {
				continue
			}
			part.Id = ""
			if call := part.GetToolCall(); call != nil {
				call.Id = ""
			}
			if kindsAlone {
				candidate.NativeStopReason += fmt.Sprintf("%T ", part.GetKind())
				continue
			}
			candidate.Parts = append(candidate.Parts, part)
		}
		same.Candidates = append(same.Candidates, candidate)
	}
	return same
}

// streamsTheSameText compares a stream with a unary answer: by what they say if two unary
// answers say the same, else by the kinds of their parts and by how they end.
func (k *kit) streamsTheSameText(ctx context.Context) error {
	one, err := k.unary(ctx, k.hello())
	if err != nil {
		return err
	}
	two, err := k.unary(ctx, k.hello())
	if err != nil {
		return err
	}
	streamed, err := k.stream(ctx, k.hello())
	if err != nil {
		return err
	}
	kindsAlone := !proto.Equal(content(one, false), content(two, false))
	if want, got := content(one, kindsAlone), content(streamed, kindsAlone); !proto.Equal(want, got) {
		return fmt.Errorf("the stream amounts to {%s}, the unary answer is {%s}", got, want)
	}
	if (one.GetUsage() == nil) != (streamed.GetUsage() == nil) {
		return errors.New("one of the unary answer and the stream has usage, and the other has none")
	}
	return nil
}

// reportsUsage checks the counts of an answer that has some. More text is not fewer tokens.
func (k *kit) reportsUsage(ctx context.Context) error {
	short, err := k.unary(ctx, k.hello())
	if err != nil {
		return err
	}
	if short.GetUsage() == nil {
		return skipError("the answer has no usage")
	}
	long, err := k.unary(ctx, k.request(said(genwayv1.Role_ROLE_USER, "Say hello to each of Ada, Grace, Barbara, Frances, Jean, Margaret, Radia, Karen, Sophie and Shafi.")))
	if err != nil {
		return err
	}
	if a, b := short.GetUsage(), long.GetUsage(); a.GetInputTokens() <= 0 || a.GetOutputTokens() <= 0 || b.GetInputTokens() <= a.GetInputTokens() {
		return fmt.Errorf("2 words are %d input_tokens and %d output_tokens, 15 words %d input_tokens", a.GetInputTokens(), a.GetOutputTokens(), b.GetInputTokens())
	}
	return nil
}

// takesTurns sends a system message and an answer of the assistant's in the conversation.
func (k *kit) takesTurns(ctx context.Context) error {
	_, err := k.unary(ctx, k.request(said(genwayv1.Role_ROLE_SYSTEM, "Be brief."), said(genwayv1.Role_ROLE_USER, "Say hello."),
		said(genwayv1.Role_ROLE_ASSISTANT, "Hello."), said(genwayv1.Role_ROLE_USER, "Again.")))
	return err
}

func (k *kit) boundsOutput(ctx context.Context) error {
	request := k.request(said(genwayv1.Role_ROLE_USER, "Repeat this: one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty."))
	request.MaxOutputTokens = proto.Int64(16)
	answer, err := k.unary(ctx, request)
	if err != nil {
		return err
	}
	if out := answer.GetUsage().GetOutputTokens(); out > 16 {
		return fmt.Errorf("%d output_tokens of at most 16", out)
	}
	return nil
}

// tool asks for a call of a function.
func (k *kit) tool() *genwayv1.GenerateTextRequest {
	request := k.request(said(genwayv1.Role_ROLE_USER, "What is the weather in Paris?"))
	request.Tools = []*genwayv1.Tool{{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{
		Name: "get_weather", Description: "Returns the weather of a city.",
		ParametersJson: `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`,
	}}}}
	request.ToolChoice = &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED, Names: []string{"get_weather"}}
	return request
}

// withoutTools returns a skipError for a server that says it has no tools.
func withoutTools(err error) error {
	if status.Code(err) == codes.Unimplemented {
		return skipError("the server has no tools: " + status.Convert(err).Message())
	}
	return err
}

// called returns the call of an answer to tool.
func called(answer *genwayv1.GenerateTextResponse) (*genwayv1.ToolCall, error) {
	parts := first(answer).GetParts()
	n := slices.IndexFunc(parts, func(p *genwayv1.Part) bool { return p.GetToolCall() != nil })
	if n < 0 {
		return nil, errors.New("tool_choice requires a call, and the answer has none")
	}
	call := parts[n].GetToolCall()
	var arguments map[string]any
	switch err := json.Unmarshal([]byte(call.GetArgumentsJson()), &arguments); {
	case call.GetId() == "":
		return nil, errors.New("the call has no id")
	case call.GetName() != "get_weather":
		return nil, fmt.Errorf("the call is of %q, not of get_weather", call.GetName())
	case err != nil:
		return nil, fmt.Errorf("arguments_json is not a JSON object: %w", err)
	case first(answer).GetStopReason() != genwayv1.StopReason_STOP_REASON_TOOL_CALL:
		return nil, fmt.Errorf("the stop_reason of a call is %s, not STOP_REASON_TOOL_CALL", first(answer).GetStopReason())
	}
	return call, nil
}

func (k *kit) callsTool(ctx context.Context) error {
	answer, err := k.unary(ctx, k.tool())
	if err == nil {
		_, err = called(answer)
	}
	return withoutTools(err)
}

func (k *kit) streamsCall(ctx context.Context) error {
	answer, err := k.stream(ctx, k.tool())
	if err == nil {
		_, err = called(answer)
	}
	return withoutTools(err)
}

// takesResult sends the result of a call back.
func (k *kit) takesResult(ctx context.Context) error {
	request := k.tool()
	answer, err := k.unary(ctx, request)
	if err != nil {
		return withoutTools(err)
	}
	call, err := called(answer)
	if err != nil {
		return err
	}
	result := &genwayv1.ToolResult{ToolCallId: call.GetId(), Name: call.GetName(), Parts: []*genwayv1.Part{codec.TextPart("sunny, 20 °C")}}
	request.Messages = append(request.Messages, &genwayv1.Message{Role: genwayv1.Role_ROLE_ASSISTANT, Parts: first(answer).GetParts()},
		&genwayv1.Message{Role: genwayv1.Role_ROLE_TOOL, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_ToolResult{ToolResult: result}}}})
	request.ToolChoice = nil
	_, err = k.unary(ctx, request)
	return err
}

func (k *kit) callsNone(ctx context.Context) error {
	request := k.tool()
	request.ToolChoice = &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_NONE}
	answer, err := k.unary(ctx, request)
	if err != nil {
		return withoutTools(err)
	}
	for _, p := range first(answer).GetParts() {
		if p.GetToolCall() != nil {
			return errors.New("tool_choice forbids calls, and the answer has one")
		}
	}
	return nil
}

// countsTokens asks for a count, which a server may do without.
func (k *kit) countsTokens(ctx context.Context) error {
	ctx, cancel := k.call(ctx)
	defer cancel()
	count, err := k.client.CountTokens(ctx, &genwayv1.CountTokensRequest{Request: k.hello()})
	if status.Code(err) == codes.Unimplemented {
		return skipError("the server has no CountTokens")
	}
	if err == nil && count.GetInputTokens() <= 0 {
		err = fmt.Errorf("input_tokens is %d", count.GetInputTokens())
	}
	return err
}
