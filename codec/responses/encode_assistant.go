package responses

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// isContent reports whether a part is content of an assistant's message item.
func isContent(p *genwayv1.Part) bool {
	return p.GetText() != nil || p.GetRefusal() != nil || p.GetOpaque() != nil && p.Id != ""
}

// joins reports whether next is in the same message item as the part before it.
func joins(prev, next *genwayv1.Part) bool {
	if !isContent(prev) || !isContent(next) || prev.Id != next.Id || prev.ThoughtSignature != nil {
		return false
	}
	_, own := split(next.NativeFields, ofMessage)
	return own == nil
}

// assistant writes the assistant's turn as items again. Thinking goes back only
// to an upstream that can read it: sealed by one of this protocol, or kept by it under
// the item's id (case R7).
func (e *inputEncoder) assistant(index int, parts []*genwayv1.Part) error {
	base := member.Index("messages", index) + ".parts"
	for i := 0; i < len(parts); {
		part, path := parts[i], member.Index(base, i)
		if part.ThoughtSignature != nil {
			e.losses.Add(path+".thought_signature", "made by another upstream")
			if t := part.GetText(); t != nil && t.Text == "" {
				i++
				continue
			}
		}
		switch {
		case skipped(part):
		case isContent(part):
			next := i + 1
			for next < len(parts) && joins(parts[next-1], parts[next]) {
				next++
			}
			if e.plain(parts[i:next]) {
				next = i + 1
			}
			if err := e.messageItem(base, parts, i, next); err != nil {
				return err
			}
			i = next
			continue
		case part.GetThinking() != nil:
			if err := e.thinking(part, path); err != nil {
				return err
			}
		default:
			if err := e.ownItem(index, i, part); err != nil {
				return err
			}
		}
		i++
	}
	return nil
}

// plain reports whether all parts are texts that a message of its own can say as a
// string. The vendor's type of a message with a list has an id, which other
// protocols do not have (ResponseOutputMessageParam).
func (e *inputEncoder) plain(parts []*genwayv1.Part) bool {
	for _, p := range parts {
		if _, ok := bareText(p); !ok || p.Id != "" && !IsSyntheticID(p.Id) {
			return false
		}
	}
	return true
}

// bareText returns the text of a part that has nothing else that this protocol could
// hold.
func bareText(p *genwayv1.Part) (string, bool) {
	bare := &genwayv1.Part{Kind: p.Kind}
	for _, f := range p.NativeFields {
		if f.Protocol == protocol && !strings.HasPrefix(f.Name, ofMessage) {
			bare.NativeFields = append(bare.NativeFields, f)
		}
	}
	if c := p.CacheControl; c != nil && extras(c.NativeFields, "", nil) != nil {
		bare.CacheControl = c
	}
	return plainText([]*genwayv1.Part{bare})
}

func (e *inputEncoder) messageItem(base string, parts []*genwayv1.Part, start, end int) error {
	first := parts[start]
	_, outer := split(first.NativeFields, ofMessage)
	outer, status := without(outer, "status")
	extra, err := member.Extra(protocol, outer, member.Index(base, start), e.losses)
	if err != nil {
		return err
	}
	id := first.Id
	if IsSyntheticID(id) {
		id = ""
	}
	w := e.w
	w.Begin()
	w.StrOpt("id", id)
	w.Str("type", typeMessage)
	w.Str("role", "assistant")
	switch {
	case status != nil:
		w.Raw("status", status.Json)
	case id != "":
		w.Str("status", statusCompleted)
	}
	if text, ok := bareText(first); ok && end == start+1 && id == "" {
		path := member.Index(base, start)
		if _, err := member.Extra(protocol, foreign(first.NativeFields), path, e.losses); err != nil {
			return err
		}
		encodeBreakpoint(w, first.CacheControl, path, e.losses)
		w.Str("content", text)
	} else {
		w.List("content")
		for i := start; i < end; i++ {
			if err := e.saidContent(parts[i], member.Index(base, i)); err != nil {
				return err
			}
		}
		w.EndList()
	}
	w.Spliced(extra)
	w.End()
	return nil
}

func (e *inputEncoder) saidContent(part *genwayv1.Part, path string) error {
	if o := part.GetOpaque(); o != nil && o.Protocol != protocol {
		return unknownPart(path, o.Type)
	}
	if _, err := member.Extra(protocol, foreign(part.NativeFields), path, e.losses); err != nil {
		return err
	}
	encodeSaid(e.w, part, path, e.losses, false)
	return nil
}

// encodeSaid writes a part of the assistant's message. In answers the log
// probabilities of a text are never absent.
func encodeSaid(w *member.Writer, part *genwayv1.Part, path string, losses *codec.Losses, answer bool) {
	natives, _ := split(part.NativeFields, ofMessage)
	switch k := part.Kind.(type) {
	case *genwayv1.Part_Opaque:
		w.Value(k.Opaque.Json)
		return
	case *genwayv1.Part_Refusal:
		w.Begin()
		w.Str("type", typeRefusal)
		w.Str("refusal", k.Refusal.Text)
		if len(k.Refusal.Logprobs) > 0 {
			losses.Add(path+".refusal.logprobs", noPlace)
		}
	case *genwayv1.Part_Text:
		w.Begin()
		w.Str("type", typeOutputText)
		encodeAnnotations(w, k.Text, path, losses)
		if answer || len(k.Text.Logprobs) > 0 {
			encodeLogprobs(w, "logprobs", k.Text.Logprobs)
		}
		w.Str("text", k.Text.Text)
	}
	encodeBreakpoint(w, part.CacheControl, path, losses)
	w.Spliced(extras(natives, path, losses))
	w.End()
}

func (e *inputEncoder) thinking(part *genwayv1.Part, path string) error {
	t := part.GetThinking()
	own := t.EncryptedContent.GetOrigin() == protocol
	sealed := t.EncryptedContent != nil || t.Signature != nil
	id := part.Id
	if IsSyntheticID(id) {
		id = ""
	}
	if !own && (sealed || id == "") {
		e.losses.Add(path+".thinking", "only reasoning this upstream has sealed or kept can be given back to it")
		return nil
	}
	if _, err := member.Extra(protocol, foreign(part.NativeFields), path, e.losses); err != nil {
		return err
	}
	kept := &genwayv1.Thinking{Text: t.Text, Summary: t.Summary, EncryptedContent: t.EncryptedContent}
	encodeReasoningItem(e.w, kept, false, id, part.NativeFields, path, e.losses)
	return nil
}
