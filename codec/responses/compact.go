package responses

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// DecodeCompactRequest reads the body of POST /v1/responses/compact (SDK:
// ResponseCompactParams). It is that of a request whose input ends with a trigger.
func (c Codec) DecodeCompactRequest(body []byte) (*codec.Request, error) {
	req, err := c.DecodeRequest(body)
	if err != nil {
		return nil, err
	}
	if req.Stream {
		return nil, fault.Invalid("stream", "stream: must be false; a compaction is not streamed")
	}
	if !compacts(req.GenerateTextRequest) {
		trigger := decodeTrigger()
		req.Messages = append(req.Messages, &genwayv1.Message{Role: trigger.role, Parts: trigger.parts})
	}
	req.Compact = true
	summarizing(req.GenerateTextRequest)
	return req, nil
}

// compactMembers are the native members that the operation has too.
var compactMembers = map[string]bool{"image": true, "previous_response_id": true, "prompt_cache_options": true, "prompt_cache_retention": true}

// encodeCompact writes the body of the operation. It has the conversation and how to cache
// it, and none of what shapes an answer. Native members that it does not have are named as
// lost; what the caller merges into the body is the caller's to choose.
func encodeCompact(req *genwayv1.GenerateTextRequest, losses *codec.Losses) ([]byte, error) {
	w := member.NewWriter(member.SizeOfRequest(req))
	w.Strict()
	w.Begin()
	w.Str("model", req.Model)
	if err := encodeConversation(w, req, losses); err != nil {
		return nil, err
	}
	var s settings
	s.encode(req, losses)
	s = settings{ServiceTier: s.ServiceTier, PromptCacheKey: s.PromptCacheKey}
	s.writeMembers(w)
	var kept []*genwayv1.NativeField
	for _, f := range req.NativeFields {
		switch {
		case f.Protocol != protocol || compactMembers[f.Name]:
			kept = append(kept, f)
		case !member.IsMark(f):
			losses.Add(f.Name, "the operation has no place for it")
		}
	}
	extra, err := member.Extra(protocol, kept, "", losses)
	if err != nil {
		return nil, err
	}
	w.Spliced(extra)
	w.End()
	return patched(w, req.ExtraJson)
}

// encodeCompacted writes the answer of the operation (SDK: CompactedResponse). The vendor
// lists the user's messages ahead of the item; the item of Genway has their content. A
// summary that was cut, or that a filter kept back, is none, nor is the answer to a prompt
// that was blocked.
func encodeCompacted(resp *genwayv1.GenerateTextResponse, losses *codec.Losses) ([]byte, error) {
	if resp.GetPromptFeedback() != nil || len(resp.GetCandidates()) == 0 || encodeStop(resp.Candidates[0].GetStopReason(), resp.Candidates[0].GetNativeStopReason(), nil, false).status != statusCompleted {
		return nil, fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the model did not finish the summary of the conversation")
	}
	fit.UnplacedInAnswer(resp, protocol, losses)
	w := member.NewWriter(member.SizeOfResponse(resp))
	w.Begin()
	w.Str("id", responseID(resp.Id))
	w.Str("object", "response.compaction")
	w.Int("created_at", resp.CreateTime.GetSeconds())
	w.List("output")
	w.Value(resp.Candidates[0].GetParts()[0].GetOpaque().GetJson())
	w.EndList()
	encodeUsage(w, resp.Usage, losses)
	w.Spliced(extras(resp.NativeFields, "", losses))
	w.End()
	return w.Finish()
}
