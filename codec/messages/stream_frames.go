package messages

import (
	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// openBlock sends content_block_start unless it was sent, behind the carrier of a
// thought signature that is known by then.
func (e *streamEncoder) openBlock() {
	b := e.open
	if b.opened {
		return
	}
	b.opened = true
	if b.ThoughtSignature != nil && b.GetToolCall() != nil {
		e.carry(b.ThoughtSignature, carrierNext)
	}
	e.beginBlock()
	if o := b.GetOpaque(); o != nil {
		e.w.raw("content_block", o.Json, b.path+".opaque")
		e.send()
		return
	}
	e.w.Object("content_block")
	switch {
	case b.GetToolCall() != nil:
		e.w.callOpening(b.answerPart)
		e.w.Object("input")
		e.w.End()
	case b.GetThinking() != nil && !b.redacted:
		e.w.Str("type", "thinking")
		e.w.Str("thinking", "")
	case b.GetThinking() != nil:
		e.w.Str("type", "redacted_thinking")
		e.w.Str("data", codec.SealText(b.encrypted, protocol, false))
	default:
		e.w.Str("type", "text")
		e.w.Str("text", "")
		e.w.List("citations")
		e.w.EndList()
	}
	e.w.natives(b.NativeFields, b.path, e.losses)
	e.w.End()
	e.send()
}

func (e *streamEncoder) beginBlock() {
	e.begin("content_block_start")
	e.w.Int("index", e.index)
}

func (e *streamEncoder) closeBlock() {
	e.begin("content_block_stop")
	e.w.Int("index", e.index)
	e.send()
	e.index++
}

// carry sends the block that carries a thought signature.
func (e *streamEncoder) carry(seal *genwayv1.Seal, place string) {
	e.beginBlock()
	e.w.Key("content_block")
	e.w.redacted(carrierData(seal, place))
	e.send()
	e.closeBlock()
}

// delta sends a content_block_delta with one string member.
func (e *streamEncoder) delta(kind, name, value string) {
	e.openBlock()
	e.begin("content_block_delta")
	e.w.Int("index", e.index)
	e.w.Object("delta")
	e.w.Str("type", kind)
	e.w.Str(name, value)
	e.w.End()
	e.send()
}

func (e *streamEncoder) citation(c *genwayv1.Citation) {
	path := e.open.path + ".text.citations"
	if !carriesCitation(c) {
		e.losses.Add(path, unciteable)
		return
	}
	e.openBlock()
	e.begin("content_block_delta")
	e.w.Int("index", e.index)
	e.w.Object("delta")
	e.w.Str("type", "citations_delta")
	e.w.Key("citation")
	e.w.citation(c, path, e.losses)
	e.w.End()
	e.send()
}

// sealThinking ends thinking: with its signature behind the last of its text, or
// with the whole block where there is no text.
func (e *streamEncoder) sealThinking() {
	b := e.open
	seal := b.signature
	switch {
	case seal != nil && b.encrypted != nil:
		e.losses.Add(b.path+".thinking.encrypted_content", oneSeal)
	case seal == nil && b.encrypted != nil && !b.opened:
		b.redacted = true
		e.openBlock()
		return
	case seal == nil:
		seal = b.encrypted
	}
	if seal != nil {
		e.delta("signature_delta", "signature", codec.SealText(seal, protocol, false))
	}
}
