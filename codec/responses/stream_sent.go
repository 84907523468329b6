package responses

import (
	"hash/maphash"
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// sent is what has been sent of a text: its length and its hash, which takes no memory for it.
type sent struct {
	hash   maphash.Hash
	length int
}

func (s *sent) add(piece string) {
	s.length += len(piece)
	_, _ = s.hash.WriteString(piece)
}

// rest is what is left of the whole; false if what has been sent is not its beginning. A whole that
// says nothing has no rest.
func (s *sent) rest(whole string) (string, bool) {
	switch {
	case whole == "":
		return "", true
	case len(whole) < s.length || maphash.String(s.hash.Seed(), whole[:s.length]) != s.hash.Sum64():
		return "", false
	}
	return whole[s.length:], true
}

// is reports whether a string in JSON is what has been sent. It may miss one with escapes.
func (s *sent) is(raw jsontext.Value) bool {
	return len(raw) == s.length+2 && raw.Kind() == '"' && maphash.Bytes(s.hash.Seed(), raw[1:len(raw)-1]) == s.hash.Sum64()
}

// another is why a text at the end of a stream is lost.
const another = "the upstream streamed another text than it gave at the end; what it streamed was passed on"

// misplaced is why the place of a text is lost.
const misplaced = "the upstream gave the rest of it when another part had begun; it stands behind that one"

// late is why more of a part is lost.
const late = "the upstream gave it when the part had ended"

// lose names a member of a part that is lost.
func (d *streamDecoder) lose(p *streamedPart, field, reason string) {
	d.losses.Add(member.Index("candidates[0].parts", p.place)+field, reason)
}

// restOf returns what is left of a text; "" if the upstream gave another one than it has streamed,
// which is named then: the vendor's SDK takes the text at the end, but what was sent cannot be
// taken back.
func (d *streamDecoder) restOf(p *streamedPart, s *sent, whole, field string) string {
	rest, ok := s.rest(whole)
	if !ok {
		d.lose(p, field, another)
	}
	return rest
}

// restOfArguments is restOf for a call. A call that is not the one at the end is a failure: the
// caller would make another call than the vendor's clients. Arguments that are written in another
// way are the same.
func (p *streamedPart) restOfArguments(whole string) (string, error) {
	pieces := p.arguments.String()
	if rest, ok := strings.CutPrefix(whole, pieces); ok || whole == "" {
		return rest, nil
	}
	if same(pieces, whole) {
		return "", nil
	}
	return "", p.contradicted()
}

func (p *streamedPart) contradicted() error {
	return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer,
		"the upstream streamed another call of the tool %q than it gave at the end", p.name)
}

// same reports whether two texts are the same JSON.
func same(a, b string) bool {
	x, y := jsontext.Value(a), jsontext.Value(b)
	return x.Canonicalize() == nil && y.Canonicalize() == nil && string(x) == string(y)
}

// compare holds a part that the upstream gives once more against what was sent of it. What is left
// of one that is no longer open becomes a part of its own, and its place is named as lost.
func (d *streamDecoder) compare(p *streamedPart, whole *genwayv1.Part) error {
	if d.part == p && d.IsOpen() {
		return d.rest(whole)
	}
	if blank(whole) {
		return nil
	}
	var rest *genwayv1.Part
	switch k := whole.Kind.(type) {
	case *genwayv1.Part_Text:
		if p.part.GetText() == nil {
			d.lose(p, ".text", another)
		} else if text := d.restOf(p, &p.text, k.Text.GetText(), ".text"); text != "" {
			p.text.add(text)
			rest = textPart(whole.Id, text)
			d.lose(p, ".text", misplaced)
		}
		if len(k.Text.Citations) > p.citations {
			d.lose(p, ".text.citations", late)
		}
	case *genwayv1.Part_Refusal:
		if p.part.GetRefusal() == nil {
			d.lose(p, ".refusal", another)
		} else if text := d.restOf(p, &p.text, k.Refusal.GetText(), ".refusal"); text != "" {
			p.text.add(text)
			d.lose(p, ".refusal", misplaced)
			rest = emptyRefusal()
			rest.GetRefusal().Text = text
		}
	case *genwayv1.Part_Thinking:
		rest = d.lateThinking(p, whole.Id, k.Thinking)
	case *genwayv1.Part_ToolCall:
		if left, err := p.restOfCall(k.ToolCall); err != nil || left != "" {
			return p.contradicted()
		}
	}
	if rest != nil {
		return d.wholePart(rest)
	}
	return nil
}

// lateThinking returns what is left of thinking that is no longer open; nil if there is nothing.
func (d *streamDecoder) lateThinking(p *streamedPart, id string, t *genwayv1.Thinking) *genwayv1.Part {
	if p.part.GetThinking() == nil {
		d.lose(p, ".thinking", another)
		return nil
	}
	rest := &genwayv1.Thinking{Text: d.restOf(p, &p.text, t.Text, ".thinking")}
	p.text.add(rest.Text)
	for i, summary := range t.Summary {
		if i == len(p.summaries) {
			p.summaries = append(p.summaries, sent{})
		}
		if summary = d.restOf(p, &p.summaries[i], summary, ".thinking.summary"); summary != "" {
			p.summaries[i].add(summary)
			rest.Summary = append(rest.Summary, summary)
		}
	}
	if !p.sealed && (t.EncryptedContent != nil || t.Signature != nil) {
		d.lose(p, ".thinking.encrypted_content", late)
	}
	if rest.Text == "" && len(rest.Summary) == 0 {
		return nil
	}
	d.lose(p, ".thinking", misplaced)
	return &genwayv1.Part{Id: id, Kind: &genwayv1.Part_Thinking{Thinking: rest}}
}
