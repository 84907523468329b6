package messages

import (
	"strings"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// A thought signature of another protocol belongs to a tool call, where this
// protocol has no place that every client sends back. All of them send back its blocks of
// redacted thinking unchanged, so one beside the call carries the
// seal (case R1). The suffix says which part it belongs to: the next one, or the
// one before (for a stream that learns of the seal only after the block). Carriers
// never reach an upstream of this protocol.
//
// Signatures of texts have no carrier: a stream learns of them behind the text, and
// agents print the last block of an answer as its result, an empty one for a
// carrier. Their vendor demands back those of calls only, so they are named as lost.
const (
	carrierNext = ".next"
	carrierPrev = ".prev"
)

const unsigned = "the messages protocol has no place for a signature of a text"

// carrierData is the data of the redacted_thinking block that carries a seal.
func carrierData(seal *genwayv1.Seal, place string) string {
	return codec.SealText(seal, protocol, false) + place
}

// carried returns the seal and the place of a carrier; nil for what the vendor wrote
// itself.
func carried(kind string, block jsontext.Value) (seal *genwayv1.Seal, place string) {
	if kind != "redacted_thinking" {
		return nil, ""
	}
	data := memberText(block, "data")
	for _, place := range []string{carrierNext, carrierPrev} {
		text, ok := strings.CutSuffix(data, place)
		if !ok {
			continue
		}
		if seal := codec.ParseSeal(text, protocol); seal.GetOrigin() != protocol {
			return seal, place
		}
	}
	return nil, ""
}

// sealedText is the part of a thought signature that belongs to no other part.
func sealedText(seal *genwayv1.Seal) *genwayv1.Part {
	p := textPart("")
	p.ThoughtSignature = seal
	return p
}

// partList gathers the parts of one turn and resolves carriers.
type partList struct {
	parts   []*genwayv1.Part
	pending *genwayv1.Seal
}

func (l *partList) add(p *genwayv1.Part) {
	p.ThoughtSignature, l.pending = l.pending, nil
	l.parts = append(l.parts, p)
}

func (l *partList) carry(seal *genwayv1.Seal, place string) {
	l.flush()
	last := len(l.parts) - 1
	switch {
	case place == carrierNext:
		l.pending = seal
	case place == carrierPrev && last >= 0 && l.parts[last].ThoughtSignature == nil:
		l.parts[last].ThoughtSignature = seal
	default:
		l.parts = append(l.parts, sealedText(seal))
	}
}

// flush keeps a seal whose part never came.
func (l *partList) flush() {
	if l.pending != nil {
		l.parts = append(l.parts, sealedText(l.pending))
		l.pending = nil
	}
}

func (l *partList) close() []*genwayv1.Part {
	l.flush()
	return l.parts
}
