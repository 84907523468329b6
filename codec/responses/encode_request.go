package responses

import (
	"errors"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// EncodeRequest writes the body of POST /v1/responses for an upstream.
func (Codec) EncodeRequest(req *codec.Request, losses *codec.Losses) ([]byte, error) {
	if err := reserves(req.GenerateTextRequest); err != nil {
		return nil, err
	}
	named := losses
	if req.Compact {
		named = nil // a compaction is no answer that settings could shape
	}
	if err := omitSettings(req.GenerateTextRequest, named); err != nil {
		return nil, err
	}
	if err := refuseBackground(req.NativeFields); err != nil {
		return nil, err
	}
	fitted, err := fit.Request(req.GenerateTextRequest, protocol, losses)
	if err != nil {
		return nil, err
	}
	if fitted != req.GenerateTextRequest {
		req = &codec.Request{GenerateTextRequest: fitted, Stream: req.Stream, IncludeUsage: req.IncludeUsage}
	}
	if req.Compact {
		return encodeCompact(req.GenerateTextRequest, losses)
	}
	w := member.NewWriter(member.SizeOfRequest(req.GenerateTextRequest))
	w.Strict()
	w.Begin()
	w.Str("model", req.Model)
	if err := encodeConversation(w, req.GenerateTextRequest, losses); err != nil {
		return nil, err
	}
	natives, err := encodeSettings(w, req.GenerateTextRequest, losses)
	if err != nil {
		return nil, err
	}
	var s settings
	s.encode(req.GenerateTextRequest, losses)
	s.writeMembers(w)
	if natives, err = encodeInclude(w, natives, req.Sampling.GetLogprobs()); err != nil {
		return nil, err
	}
	if req.Stream {
		w.Bool("stream", true)
	}
	extra, err := member.Extra(protocol, natives, "", losses)
	if err != nil {
		return nil, err
	}
	w.Spliced(extra)
	w.End()
	return patched(w, req.ExtraJson)
}

// encodeSettings writes tools, their choice, text and reasoning, and returns the
// native fields that are left for the top level.
func encodeSettings(w *member.Writer, req *genwayv1.GenerateTextRequest, losses *codec.Losses) ([]*genwayv1.NativeField, error) {
	if err := encodeTools(w, req, losses, false); err != nil {
		return nil, err
	}
	if err := encodeToolChoice(w, req); err != nil {
		return nil, err
	}
	natives, ofText := split(req.NativeFields, "text.")
	if err := encodeText(w, req, req.ResponseFormat, ofText, losses); err != nil {
		return nil, err
	}
	return natives, encodeReasoning(w, req.Thinking, losses)
}

const noPlace = "the target protocol has no place for it"

// encodeInclude joins what the caller included with the log probabilities.
func encodeInclude(w *member.Writer, natives []*genwayv1.NativeField, logprobs bool) ([]*genwayv1.NativeField, error) {
	rest, include := without(natives, "include")
	if include == nil && !logprobs {
		return rest, nil
	}
	w.Key("include")
	if include == nil {
		w.BeginList()
	} else {
		if k := jsontext.Value(include.Json).Kind(); k != '[' {
			return nil, fault.Invalid("include", "include: expected an array")
		}
		w.Piece(include.Json[:len(include.Json)-1])
	}
	if logprobs {
		w.String(includeLogprobs)
	}
	w.EndList()
	return rest, nil
}

// written returns a request that was written, unless JSON of others in it is none, or stands
// in for a member that was admitted with another value.
func written(w *member.Writer) ([]byte, error) {
	body, err := w.FinishChecked()
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		f := fault.Wrap(err, fault.InvalidRequest, fault.ReasonInvalidMember, "the request cannot be written as JSON")
		f.Param = member.Path(string(syntax.JSONPointer))
		return nil, f
	}
	return body, err
}

// reserved are the members of a body that fields of the contract are written to.
var reserved = member.ReservedBy[wireRequest]()

// reserves refuses native fields that say what the contract has a field for. include has
// more words than the one that stands for log probabilities.
func reserves(req *genwayv1.GenerateTextRequest) error {
	if err := reserved.Fields(protocol, req.GetNativeFields(), "", "include"); err != nil {
		return err
	}
	return reserved.In("reasoning").Fields(protocol, req.GetThinking().GetNativeFields(), "thinking")
}

// patched merges the caller's own members into the top level.
func patched(w *member.Writer, extra string) ([]byte, error) {
	body, err := written(w)
	if err != nil {
		return nil, err
	}
	if extra == "" {
		return body, nil
	}
	if body, err = member.Merge(body, extra, "extra_json", reserved); err != nil {
		return nil, err
	}
	return body, refuseExtraBackground(body)
}
