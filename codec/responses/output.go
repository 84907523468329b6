package responses

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// outputItem is one item of an answer's output: the parts of a message, or one
// part of another kind.
type outputItem struct {
	parts []*genwayv1.Part
	// at are the parts' places in the candidate.
	at []int
	// index is the place in the output.
	index    int
	response string
	created  int64
	losses   *codec.Losses
	spaces   spaces
	// cut says that the answer was cut in the item, a call.
	cut bool
	// summary says that the text of the thinking is written as a summary.
	summary bool
	// identifier is what id gives. It is made once, since each event of a stream has it, and callers
	// have learnt it when the item began.
	identifier string
}

func partPath(at int) string { return member.Index("candidates[0].parts", at) }

// id is the item's own, else one that follows from its place.
func (it *outputItem) id() string {
	if it.identifier == "" {
		it.identifier = it.identify()
	}
	return it.identifier
}

func (it *outputItem) identify() string {
	p := it.parts[0]
	if p.Id != "" {
		return p.Id
	}
	prefix := prefixMessage
	switch k := p.Kind.(type) {
	case *genwayv1.Part_Thinking:
		prefix = prefixReasoning
	case *genwayv1.Part_ToolCall:
		if prefix = prefixFunction; k.ToolCall.Input != nil {
			prefix = prefixCustom
		}
	case *genwayv1.Part_Image:
		prefix = prefixImage
	case *genwayv1.Part_ToolResult:
		prefix = prefixOutput
	}
	return syntheticID(prefix, it.response, it.created, it.index)
}

// callID is the identifier of the item's call, which clients demand.
func (it *outputItem) callID() string {
	if id := it.parts[0].GetToolCall().GetId(); id != "" {
		return id
	}
	return codec.SyntheticToolID(it.response, 0, int32(it.at[0]))
}

// encode writes the item whole.
func (it *outputItem) encode(w *member.Writer, status string) error {
	part, path := it.parts[0], partPath(it.at[0])
	switch k := part.Kind.(type) {
	case *genwayv1.Part_Thinking:
		encodeReasoningItem(w, k.Thinking, it.summary, it.id(), part.NativeFields, path, it.losses)
		return nil
	case *genwayv1.Part_ToolCall:
		w.Begin()
		encodeCall(w, k.ToolCall, it.spaces.place(part.NativeFields, k.ToolCall.Name), it.id(), it.callID(), status)
	case *genwayv1.Part_Image:
		w.Begin()
		encodeImageCall(w, k.Image, k.Image.GetData(), it.id(), statusCompleted)
	case *genwayv1.Part_ToolResult:
		e := inputEncoder{w: w, losses: it.losses}
		return e.result(k.ToolResult, part, path, it.id(), status, extras(part.NativeFields, path, it.losses))
	case *genwayv1.Part_Opaque:
		if !isContent(part) {
			w.Value(k.Opaque.Json)
			return nil
		}
		it.message(w, status)
		return nil
	default:
		it.message(w, status)
		return nil
	}
	w.Spliced(extras(part.NativeFields, path, it.losses))
	w.End()
	return nil
}

func (it *outputItem) message(w *member.Writer, status string) {
	_, outer := split(it.parts[0].NativeFields, ofMessage)
	w.Begin()
	w.Str("id", it.id())
	w.Str("type", typeMessage)
	w.Str("status", status)
	w.List("content")
	if status != statusInProgress {
		for i, p := range it.parts {
			encodeSaid(w, p, partPath(it.at[i]), it.losses, true)
		}
	}
	w.EndList()
	w.Str("role", "assistant")
	w.Spliced(extras(outer, "", it.losses))
	w.End()
}

// open writes the item as it is when its stream begins.
func (it *outputItem) open(w *member.Writer) error {
	part := it.parts[0]
	empty := &genwayv1.Part{Id: part.Id, NativeFields: part.NativeFields}
	switch k := part.Kind.(type) {
	case *genwayv1.Part_Thinking:
		empty.Kind = &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{EncryptedContent: k.Thinking.EncryptedContent}}
	case *genwayv1.Part_ToolCall:
		w.Begin()
		w.Str("id", it.id())
		if k.ToolCall.Input != nil {
			w.Str("type", typeCustomCall)
			w.Str("status", statusInProgress)
			w.Str("input", "")
		} else {
			w.Str("type", typeFunctionCall)
			w.Str("status", statusInProgress)
			w.Str("arguments", "")
		}
		w.Str("call_id", it.callID())
		at := it.spaces.place(part.NativeFields, k.ToolCall.Name)
		w.StrOpt("namespace", at.space)
		w.Str("name", at.name)
		w.Spliced(extras(part.NativeFields, partPath(it.at[0]), nil))
		w.End()
		return nil
	case *genwayv1.Part_Image:
		w.Begin()
		w.Str("id", it.id())
		w.Str("type", typeImageCall)
		w.Str("status", statusInProgress)
		w.Null("result")
		w.End()
		return nil
	default:
		empty.Kind = part.Kind
	}
	opened := &outputItem{parts: []*genwayv1.Part{empty}, at: it.at[:1], identifier: it.id()}
	return opened.encode(w, statusInProgress)
}

// carrier is the item that brings the thought signature of a part back.
func carrier(word string, seal *genwayv1.Seal) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{
		EncryptedContent: &genwayv1.Seal{Value: []byte(word + codec.SealText(seal, protocol, false))},
	}}}
}

const unsignable = "a text's signature has no place in the target protocol"

// unsigned is a part of a message without its signature, which has no place here.
func unsigned(p *genwayv1.Part, at int, losses *codec.Losses) *genwayv1.Part {
	if p.ThoughtSignature == nil || !isContent(p) {
		return p
	}
	losses.Add(partPath(at)+".thought_signature", unsignable)
	return &genwayv1.Part{Id: p.Id, Kind: p.Kind, CacheControl: p.CacheControl, NativeFields: p.NativeFields}
}

// answerable returns a part as this protocol's answers can hold it; nil when they
// cannot, or when there is nothing to hold.
func answerable(p *genwayv1.Part, at int, losses *codec.Losses) *genwayv1.Part {
	if p = unsigned(p, at, losses); blank(p) {
		return nil
	}
	path := partPath(at)
	switch k := p.Kind.(type) {
	case *genwayv1.Part_Audio:
		losses.Add(path+".audio", noPlace)
		if k.Audio.GetTranscript() == "" {
			return nil
		}
		return textPart(p.Id, k.Audio.Transcript)
	case *genwayv1.Part_Image:
		if k.Image.GetData() != nil {
			return p
		}
	case *genwayv1.Part_Opaque:
		if k.Opaque.Protocol == protocol {
			return p
		}
	case *genwayv1.Part_File, *genwayv1.Part_Video:
	default:
		return p
	}
	losses.Add(member.Join(path, kindName(p)), noPlace)
	return nil
}
