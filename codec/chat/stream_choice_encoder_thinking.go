package chat

import (
	"strings"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// thought writes the thinking of a choice. Its text goes out as it comes, as the
// plain string; whether there are details to it (a signature) is known only at
// its end, and they repeat the text then. Summaries and what follows them go out
// in both places at once, as OpenRouter does.
type thought struct {
	index int32 // of the next thinking part
	count int   // of the thinking parts that ended, those without content too
	part  *genwayv1.Part
	name  string
	text  strings.Builder
	shown bool
	// live says that the text goes into details, too, and gap that what is shown
	// next is a paragraph of its own.
	live, gap bool
	// described says that an entry went out with all that is known of the part.
	described bool
	// bare is the first thinking part, if it ended without details.
	bare *detail
}

// apart keeps two thinking parts apart, since the plain string of the message joins their texts: the
// first gets details after all. Parts of other kinds may be between them.
func (t *thought) apart(s *choiceEncoder, next *genwayv1.Part) error {
	if t.bare == nil || next.GetThinking() == nil && !opaqueDetail(next) {
		return nil
	}
	first := *t.bare
	t.bare = nil
	return s.write(&message{ReasoningDetails: []detail{first}}, nil)
}

func (t *thought) open(s *choiceEncoder, p *genwayv1.Part) error {
	if _, err := extra(p.NativeFields, s.path(), s.losses); err != nil {
		return err
	}
	if marked(p.NativeFields, reasoningName) {
		t.name = reasoningName
	}
	t.part = &genwayv1.Part{Id: p.Id, NativeFields: p.NativeFields, ThoughtSignature: p.ThoughtSignature,
		Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{Signature: p.GetThinking().Signature, EncryptedContent: p.GetThinking().EncryptedContent}}}
	t.text.Reset()
	// What a caller must know from the first piece on goes with the details.
	t.shown, t.gap, t.described, t.live = false, false, false, p.Id != "" || hasNatives(p.NativeFields)
	for i, summary := range p.GetThinking().Summary {
		if err := t.sum(s, int32(i), summary); err != nil {
			return err
		}
	}
	return t.think(s, p.GetThinking().Text)
}

func (t *thought) add(s *choiceEncoder, d *genwayv1.PartDelta) error {
	if t.part == nil {
		return nil
	}
	switch v := d.GetDelta().(type) {
	case *genwayv1.PartDelta_Thinking:
		return t.think(s, v.Thinking)
	case *genwayv1.PartDelta_Summary:
		return t.sum(s, v.Summary.GetIndex(), v.Summary.GetText())
	case *genwayv1.PartDelta_Signature:
		t.part.GetThinking().Signature = v.Signature
	case *genwayv1.PartDelta_EncryptedContent:
		t.part.GetThinking().EncryptedContent = v.EncryptedContent
	}
	return nil
}

func (t *thought) think(s *choiceEncoder, piece string) error {
	if piece == "" {
		return nil
	}
	t.gap = t.gap || t.live && t.shown && t.text.Len() == 0
	t.text.WriteString(piece)
	if t.live {
		return t.both(s, piece, detail{Type: detailText, Text: &piece})
	}
	t.shown = true
	if s.members == nil {
		s.textChunk(s.index, `{"`+t.member()+`":`, piece, `}`)
		return nil
	}
	return s.write(t.plain(piece), nil)
}

func (t *thought) sum(s *choiceEncoder, index int32, piece string) error {
	k := t.part.GetThinking()
	if int(index) >= len(k.Summary) {
		k.Summary = append(k.Summary, "")
		t.gap = t.shown
	}
	t.live = true
	return t.both(s, piece, detail{Type: detailSummary, Summary: &piece, SummaryIndex: index})
}

func (t *thought) member() string {
	if t.name == reasoningName {
		return reasoningName
	}
	return "reasoning_content"
}

func (t *thought) plain(piece string) *message {
	if t.name == reasoningName {
		return &message{Reasoning: textOf(piece)}
	}
	return &message{ReasoningContent: textOf(piece)}
}

// both writes a piece for show and as a detail.
func (t *thought) both(s *choiceEncoder, piece string, entry detail) error {
	index := t.index
	entry.Index, entry.ID = &index, t.part.Id
	if !t.described {
		entry.Extra = inner(t.part.NativeFields, "")
	}
	t.described = true
	m := &message{}
	if piece != "" {
		if t.gap {
			piece = codec.SummaryBreak + piece
		}
		m = t.plain(piece)
		t.shown, t.gap = true, false
	}
	m.ReasoningDetails = []detail{entry}
	return s.write(m, nil)
}

// close writes the details that are known now. A part without content has no index, as in a unary
// answer.
func (t *thought) close(s *choiceEncoder) error {
	p, k := t.part, t.part.GetThinking()
	index, text, first := t.index, t.text.String(), t.count == 0
	t.part = nil
	t.index++
	t.count++
	if t.described {
		// The text and the summaries went out with entries of their own.
		k.Summary, p.NativeFields = nil, nil
		if k.Signature == nil && k.EncryptedContent == nil && p.ThoughtSignature == nil {
			return nil
		}
	} else {
		k.Text = text
	}
	out := s.details(p)
	for i := range out {
		out[i].Index = &index
	}
	if len(out) > 0 {
		return s.write(&message{ReasoningDetails: out}, nil)
	}
	bare := detail{Type: detailText, Text: &text, Index: &index}
	switch {
	case text == "":
		t.index--
	case !first:
		return s.write(&message{ReasoningDetails: []detail{bare}}, nil)
	default:
		t.bare = &bare
	}
	return nil
}
