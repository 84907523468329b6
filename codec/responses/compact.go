package responses

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
)

// DecodeCompactRequest reads the body of POST /v1/responses/compact (SDK:
// ResponseCompactParams). It is that of a request whose input ends with a trigger.
func (c Codec) DecodeCompactRequest(body []byte) (*codec.Request, error) {
	req, err := c.DecodeRequest(body)
	if err == nil {
		err = refuseBackground(req.NativeFields)
	}
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
	w := member.NewWriter(member.SizeOfResponse(resp, 1024))
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

// A conversation that has grown too long for its model is compacted: the caller sends an
// item compaction_trigger as the last one of the input, the answer is one item compaction,
// and later requests have that item in place of the earlier turns (SDK:
// ResponseInputItemCompactionTrigger, ResponseCompactionItem). Upstreams of this protocol do
// so themselves. All others are asked for a summary, which the item carries.

const (
	typeTrigger      = "compaction_trigger"
	typeCompaction   = "compaction"
	prefixCompaction = "cmp_"
	// sealedCompaction is how the encrypted_content of a compaction item of Genway begins;
	// the summary follows as URL-safe base64 without padding.
	sealedCompaction = "genway.compaction."
)

// compactionPrompt asks for the summary, in place of the trigger.
const compactionPrompt = "The conversation so far is about to be removed from your context. Write a summary of it that lets you continue without it. " +
	"State the goals and instructions of the user, what was decided and why, what was done and with which results, names, paths, numbers and identifiers " +
	"that are still needed, and what remains to be done. Reply with the summary alone. Do not call tools."

// compactionPreface introduces the summary in later requests.
const compactionPreface = "Summary of the conversation before this point:\n\n"

// decodeTrigger returns the prompt, marked as what it stands for.
func decodeTrigger() item {
	part := textPart("", compactionPrompt)
	part.NativeFields = []*genwayv1.NativeField{member.Mark(protocol, typeTrigger)}
	return item{role: genwayv1.Role_ROLE_USER, parts: []*genwayv1.Part{part}}
}

func isTrigger(p *genwayv1.Part) bool {
	return member.Marked(protocol, p.GetNativeFields(), typeTrigger)
}

// decodeCompaction returns the summary of an item of ours; the vendor's own stays what it is.
// The part has an identifier of ours, which keeps the body from upstreams of this protocol:
// they could not decrypt the item.
func decodeCompaction(raw jsontext.Value) item {
	summary, ok := summaryIn(unquote(member.Value(raw, "encrypted_content")))
	if !ok {
		return opaqueItem(raw, typeCompaction)
	}
	id := unquote(member.Value(raw, "id"))
	if !IsSyntheticID(id) {
		id = syntheticID(prefixCompaction, "", 0, 0)
	}
	return item{role: genwayv1.Role_ROLE_USER, parts: []*genwayv1.Part{textPart(id, compactionPreface+summary)}}
}

func summaryIn(encrypted string) (string, bool) {
	sealed, ok := strings.CutPrefix(encrypted, sealedCompaction)
	if !ok {
		return "", false
	}
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	return string(raw), err == nil && utf8.Valid(raw)
}

// compacts reports whether a request ends with a trigger.
func compacts(req *genwayv1.GenerateTextRequest) bool {
	messages := req.GetMessages()
	if len(messages) == 0 {
		return false
	}
	parts := messages[len(messages)-1].GetParts()
	return len(parts) > 0 && isTrigger(parts[len(parts)-1])
}

// summarizing makes a request that ends with a trigger ask only for text.
func summarizing(req *genwayv1.GenerateTextRequest) {
	if !compacts(req) {
		return
	}
	req.ResponseFormat = nil
	if len(req.Tools) > 0 {
		req.ToolChoice = &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_NONE}
	}
}

// compacting reports whether an answer is to be one compaction item.
func compacting(to codec.Answer) bool {
	return to.Request != nil && compacts(to.Request.GenerateTextRequest)
}

// compaction is the item that carries what the parts of an answer say.
func compaction(parts []*genwayv1.Part, response string, created int64) (*genwayv1.Part, error) {
	var summary strings.Builder
	for _, p := range parts {
		summary.WriteString(p.GetText().GetText())
	}
	if strings.TrimSpace(summary.String()) == "" {
		return nil, fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the model was asked for a summary of the conversation and gave none")
	}
	w := member.NewWriter(64 + summary.Len()*4/3)
	w.Begin()
	w.Str("id", syntheticID(prefixCompaction, response, created, 0))
	w.Str("type", typeCompaction)
	w.Str("encrypted_content", sealedCompaction+base64.RawURLEncoding.EncodeToString([]byte(summary.String())))
	w.End()
	return opaquePart("", typeCompaction, text(w)), nil
}

// compactedAnswer is an answer with one compaction item in place of what it says.
func compactedAnswer(resp *genwayv1.GenerateTextResponse) (*genwayv1.GenerateTextResponse, error) {
	if resp.GetPromptFeedback() != nil || len(resp.GetCandidates()) == 0 {
		return resp, nil
	}
	original := resp.Candidates[0]
	part, err := compaction(original.GetParts(), responseID(resp.Id), resp.CreateTime.GetSeconds())
	if err != nil {
		return nil, err
	}
	out, candidate := codec.Shared(resp), codec.Shared(original)
	candidate.Parts = []*genwayv1.Part{part}
	out.Candidates = []*genwayv1.Candidate{candidate}
	return out, nil
}

// compact takes an event of a stream that becomes a compaction item, which is written at
// the end. It reports false for an event that is as in any stream.
func (e *streamEncoder) compact(ev *genwayv1.StreamGenerateTextResponse) (bool, error) {
	switch p := ev.GetPayload().(type) {
	case *genwayv1.StreamGenerateTextResponse_PartStarted:
		return true, e.gather(p.PartStarted.Candidate, ev)
	case *genwayv1.StreamGenerateTextResponse_PartDelta:
		return true, e.gather(p.PartDelta.Candidate, ev)
	case *genwayv1.StreamGenerateTextResponse_PartCompleted:
		return true, e.gather(p.PartCompleted.Candidate, ev)
	case *genwayv1.StreamGenerateTextResponse_Completed:
		e.start(&genwayv1.TextStarted{})
		if p.Completed.PromptFeedback != nil {
			return false, nil
		}
		var parts []*genwayv1.Part
		if candidates := e.folder.Response().GetCandidates(); len(candidates) > 0 {
			parts = candidates[0].GetParts()
		}
		part, err := compaction(parts, e.head.id, e.head.created)
		if err != nil {
			return true, err
		}
		return false, e.newItem(part, 0)
	}
	return false, nil
}

func (e *streamEncoder) gather(candidate int32, ev *genwayv1.StreamGenerateTextResponse) error {
	if !e.first(candidate) {
		return nil
	}
	if ev.GetPartStarted() != nil { // the folder writes to the part, which others read too
		ev = proto.CloneOf(ev)
	}
	return e.folder.Add(ev)
}
