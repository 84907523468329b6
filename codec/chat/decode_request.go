package chat

import (
	"math"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const (
	maxTokensName           = "max_tokens"
	maxCompletionTokensName = "max_completion_tokens"
)

// DecodeRequest implements codec.Codec. Ranges are checked where the vendor
// documents them; words are not, since engines differ in them (R9, F18).
func (Codec) DecodeRequest(body []byte) (*codec.Request, error) {
	var r request
	if err := member.Decode(body, &r); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	defer spareMessages.Give(r.Messages)
	req, err := r.open()
	if err != nil {
		return nil, err
	}
	d := decoder{body: body}
	talk := conversation{decoder: d}
	req.Messages = make([]*genwayv1.Message, len(r.Messages))
	for i := range r.Messages {
		m, err := talk.message(&r.Messages[i], member.Place{Path: "messages", Element: i + 1})
		if err != nil {
			return nil, err
		}
		req.Messages[i] = m
	}
	if req.Tools, err = d.tools(r.Tools, r.Functions); err != nil {
		return nil, err
	}
	return r.finish(d, req)
}

// open is a request with the settings that are as they are written.
func (r *request) open() (*genwayv1.GenerateTextRequest, error) {
	req := &genwayv1.GenerateTextRequest{Model: r.Model}
	if err := r.settings.decode(req, ""); err != nil {
		return nil, err
	}
	if r.ReasoningEffort != "" {
		req.Thinking = &genwayv1.ThinkingConfig{Effort: r.ReasoningEffort}
	}
	return req, nil
}

// finish reads what is not as it is written.
func (r *request) finish(d decoder, req *genwayv1.GenerateTextRequest) (*codec.Request, error) {
	if err := member.Misspelt(r.Extra, "model", maxTokensName, maxCompletionTokensName, "n"); err != nil {
		return nil, err
	}
	r.maxTokens(req)
	if err := r.choice(req); err != nil {
		return nil, err
	}
	if err := d.responseFormat(req, r.ResponseFormat); err != nil {
		return nil, err
	}
	if err := r.audioOutput(req); err != nil {
		return nil, err
	}
	out := &codec.Request{GenerateTextRequest: req, Stream: r.Stream != nil && *r.Stream}
	if o := r.StreamOptions; o != nil {
		out.IncludeUsage = o.IncludeUsage
		req.NativeFields = append(req.NativeFields, member.NativesUnder(protocol, "stream_options.", o.Extra)...)
	}
	req.NativeFields = append(req.NativeFields, member.Natives(protocol, r.Extra, binding)...)
	return out, nil
}

func (r *request) check() error {
	switch {
	case r.Model == "":
		return fault.Missing("model")
	case r.Messages == nil:
		return fault.Missing("messages")
	case len(r.Messages) == 0:
		return fault.Invalid("messages", "messages: at least one message is expected")
	}
	if r.MaxTokens != nil && r.MaxCompletionTokens != nil && *r.MaxTokens != *r.MaxCompletionTokens {
		// Limits and bounds hold for one number, and engines differ in which they heed.
		return fault.Invalid(maxTokensName, "max_tokens is %d and max_completion_tokens is %d; give one of them, or both the same value", *r.MaxTokens, *r.MaxCompletionTokens)
	}
	for _, c := range []struct {
		name     string
		value    float64
		min, max float64
	}{
		{maxTokensName, number(r.MaxTokens), 1, math.MaxInt64},
		{maxCompletionTokensName, number(r.MaxCompletionTokens), 1, math.MaxInt64},
	} {
		if c.value < c.min {
			return fault.Invalid(c.name, "%s: expected at least %g, got %g", c.name, c.min, c.value)
		}
		if c.value > c.max {
			return fault.Invalid(c.name, "%s: expected at most %g, got %g", c.name, c.max, c.value)
		}
	}
	return nil
}

// number is the value to be compared with a range; NaN, which is in every range,
// stands for none.
func number[N int32 | int64 | float64](n *N) float64 {
	if n == nil {
		return math.NaN()
	}
	return float64(*n)
}

// maxTokens reads the limit by either name; marks say by which. check has seen that they
// are equal where both are there.
func (r *request) maxTokens(req *genwayv1.GenerateTextRequest) {
	switch {
	case r.MaxCompletionTokens != nil:
		req.MaxOutputTokens = r.MaxCompletionTokens
		req.NativeFields = append(req.NativeFields, mark(maxCompletionTokensName))
		if r.MaxTokens != nil {
			req.NativeFields = append(req.NativeFields, mark(maxTokensName))
		}
	case r.MaxTokens != nil:
		req.MaxOutputTokens = r.MaxTokens
		req.NativeFields = append(req.NativeFields, mark(maxTokensName))
	}
}

func (r *request) choice(req *genwayv1.GenerateTextRequest) (err error) {
	switch {
	case given(r.ToolChoice):
		req.ToolChoice, err = decodeToolChoice(r.ToolChoice)
		if given(r.FunctionCall) {
			req.NativeFields = append(req.NativeFields, native(functionCallName, r.FunctionCall))
		}
	case given(r.FunctionCall):
		req.ToolChoice, err = decodeFunctionCall(r.FunctionCall)
		req.NativeFields = append(req.NativeFields, mark(functionCallName))
	}
	if err == nil && r.ParallelToolCalls != nil {
		if req.ToolChoice == nil {
			req.ToolChoice = &genwayv1.ToolChoice{}
		}
		req.ToolChoice.Parallel = r.ParallelToolCalls
	}
	return err
}

func (r *request) audioOutput(req *genwayv1.GenerateTextRequest) error {
	if r.Audio == nil {
		return nil
	}
	req.AudioOutput = &genwayv1.AudioOutput{Voice: r.Audio.Voice.s, Format: r.Audio.Format}
	if r.Audio.Voice.is == isOther {
		if r.Audio.Voice.raw.Kind() != '{' {
			return wrongType("audio.voice", "string or object", r.Audio.Voice.raw.Kind())
		}
		req.AudioOutput.NativeFields = []*genwayv1.NativeField{native("voice", r.Audio.Voice.raw)}
	}
	req.AudioOutput.NativeFields = append(req.AudioOutput.NativeFields, natives(r.Audio.Extra)...)
	return nil
}
