package messages

import (
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// Blocks without a canonical part of their own (server tools, compactions, what
// is not known yet) become one opaque part when they close. Their deltas are
// written into the block's JSON, as the vendor's SDK accumulates them: pieces of
// known deltas are joined, members of others are set.
func (b *openBlock) gather(delta *streamDelta) {
	for _, piece := range []struct{ name, text string }{
		{"text", delta.Text}, {"thinking", delta.Thinking}, {"signature", delta.Signature}, {"input", delta.PartialJSON},
	} {
		if piece.text == "" {
			continue
		}
		if b.pieces == nil {
			b.pieces = map[string]*strings.Builder{}
		}
		if b.pieces[piece.name] == nil {
			b.pieces[piece.name] = &strings.Builder{}
		}
		b.pieces[piece.name].WriteString(piece.text)
	}
	for _, f := range natives(delta.Extra) {
		b.set = append(b.set, member.Member{Name: f.Name, Value: f.Json})
	}
}

// whole is the block's JSON with its deltas. An input that was cut short stays as
// text, in partial_json.
func (b *openBlock) whole() (jsontext.Value, error) {
	raw := []byte(b.raw)
	var err error
	for _, m := range b.set {
		if raw, err = member.Patch(raw, m); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"text", "thinking", "signature", "input"} {
		piece := b.pieces[name]
		if piece == nil {
			continue
		}
		m := member.Member{Name: name, Value: word(name, piece.String()).Json}
		if name == "input" && jsontext.Value(piece.String()).IsValid() {
			m.Value = jsontext.Value(piece.String())
		} else if name == "input" {
			m.Name = "partial_json"
		}
		if raw, err = member.Patch(raw, m); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// closeWhole emits a block that streams as a whole.
func (d *streamDecoder) closeWhole() error {
	b := d.open
	d.open = nil
	raw, err := b.whole()
	if err != nil {
		return fault.MalformedAnswer(err)
	}
	if seal, place := carried(b.kind, raw); seal != nil {
		d.flush()
		if place == carrierNext {
			d.pending = seal
			return nil
		}
		d.whole(sealedText(seal))
		return nil
	}
	part, err := decodeBlock(b.kind, raw, member.Place{Path: "content_block"})
	if err != nil {
		return fault.MalformedAnswer(err)
	}
	part.ThoughtSignature, d.pending = d.pending, nil
	d.whole(part)
	return nil
}

// flush emits a seal whose part never came.
func (d *streamDecoder) flush() {
	if d.pending != nil {
		part := sealedText(d.pending)
		d.pending = nil
		d.whole(part)
	}
}

func (d *streamDecoder) whole(part *genwayv1.Part) {
	d.Open(part)
	d.Complete()
}
