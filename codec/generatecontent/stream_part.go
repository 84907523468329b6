package generatecontent

import (
	"errors"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
)

// candidateWriter writes the parts of one candidate of a stream.
type candidateWriter struct {
	writer
	index int32
	// open is the part being streamed, its growing members beside it.
	open    *genwayv1.Part
	at      int32
	streams bool
	text    strings.Builder
	data    []byte
	// place is where the last piece of a thought belongs; thought says that there
	// was one.
	place     int32
	thought   bool
	grounding groundingBuilder
	// written is the number of parts so far, as a unary answer has them: what is left out is
	// not one.
	written int
	// tokens are the tokens of a text that goes out whole.
	tokens []*genwayv1.TokenLogprob
	// broken is a call whose arguments are not one object. It is left out if the answer
	// was cut there (case T12).
	broken *genwayv1.ToolCall
	// bare is a call without arguments, which waits likewise.
	bare *genwayv1.Part
}

// start opens a part. Text and thoughts stream unless the part has members of its
// own: then, as with every other part, they go out whole.
func (c *candidateWriter) start(s *genwayv1.PartStarted) ([]candidate, error) {
	if c.broken != nil {
		return nil, codec.BrokenArguments(c.broken.GetName())
	}
	before, err := c.sendBare()
	if err != nil {
		return nil, err
	}
	c.open, c.at, c.data, c.thought = proto.CloneOf(s.Part), s.Index, nil, false
	if c.open == nil {
		c.open = &genwayv1.Part{}
	}
	c.text.Reset()
	c.streams, c.tokens = false, nil
	var first string
	switch k := c.open.Kind.(type) {
	case *genwayv1.Part_Text:
		first, c.streams = k.Text.GetText(), true
	case *genwayv1.Part_Refusal:
		first, c.streams = k.Refusal.GetText(), true
	case *genwayv1.Part_Thinking:
		first, c.streams = codec.ThinkingText(k.Thinking), true
		k.Thinking.Summary = nil
	case *genwayv1.Part_ToolCall:
		c.text.WriteString(k.ToolCall.GetArgumentsJson() + k.ToolCall.GetInput())
	}
	c.streams = c.streams && len(c.open.NativeFields) == 0
	c.data = codec.MediaOf(c.open).GetData()
	if first == "" {
		return before, nil
	}
	out, err := c.piece(first, c.open.GetText().GetLogprobs())
	return append(before, out...), err
}

// delta adds to the open part, and writes what streams.
func (c *candidateWriter) delta(d *genwayv1.PartDelta) ([]candidate, error) {
	if c.open == nil {
		return nil, nil
	}
	switch v := d.Delta.(type) {
	case *genwayv1.PartDelta_Text:
		return c.piece(v.Text, d.Logprobs)
	case *genwayv1.PartDelta_Refusal:
		return c.piece(v.Refusal, d.Logprobs)
	case *genwayv1.PartDelta_Thinking:
		return c.thinkingPiece(v.Thinking, 0)
	case *genwayv1.PartDelta_Summary:
		return c.thinkingPiece(v.Summary.GetText(), v.Summary.GetIndex()+1)
	case *genwayv1.PartDelta_ArgumentsJson:
		c.text.WriteString(v.ArgumentsJson)
	case *genwayv1.PartDelta_Input:
		c.text.WriteString(v.Input)
		if call := c.open.GetToolCall(); call != nil && !codec.IsCustom(call) {
			call.Arguments = &genwayv1.ToolCall_Input{}
		}
	case *genwayv1.PartDelta_Citation:
		if t := c.open.GetText(); t != nil {
			t.Citations = append(t.Citations, v.Citation)
		}
	case *genwayv1.PartDelta_Data:
		c.data = append(c.data, v.Data...)
	case *genwayv1.PartDelta_Transcript:
		if m := codec.MediaOf(c.open); m != nil {
			m.Transcript += v.Transcript
		}
	case *genwayv1.PartDelta_Signature:
		if t := c.open.GetThinking(); t != nil {
			t.Signature = v.Signature
		}
	case *genwayv1.PartDelta_EncryptedContent:
		if t := c.open.GetThinking(); t != nil {
			t.EncryptedContent = v.EncryptedContent
		}
	case *genwayv1.PartDelta_ThoughtSignature:
		c.open.ThoughtSignature = v.ThoughtSignature
	case *genwayv1.PartDelta_Native:
		c.open.NativeFields = append(c.open.NativeFields, v.Native)
	case nil:
		return c.piece("", d.Logprobs)
	}
	return nil, nil
}

// thinkingPiece writes a piece of a thought. Summaries, their places counted from
// 1, and the thought itself, in place 0, stand in one text, apart from each other.
func (c *candidateWriter) thinkingPiece(text string, place int32) ([]candidate, error) {
	if c.open.GetThinking() == nil || text == "" {
		return nil, nil
	}
	if c.thought && place != c.place {
		text = codec.SummaryBreak + text
	}
	c.place = place
	return c.piece(text, nil)
}

// piece writes a piece of text or thought, or keeps it for a part that goes out
// whole.
func (c *candidateWriter) piece(text string, tokens []*genwayv1.TokenLogprob) ([]candidate, error) {
	c.text.WriteString(text)
	c.thought = true
	if !c.streams {
		c.tokens = append(c.tokens, tokens...)
		return nil, nil
	}
	if text == "" && len(tokens) == 0 {
		return nil, nil
	}
	logprobs, err := encodeLogprobs(tokens, nil)
	if err != nil {
		return nil, err
	}
	_, thinking := c.open.Kind.(*genwayv1.Part_Thinking)
	return []candidate{c.frame(logprobs, part{Text: &text, Thought: thinking})}, nil
}

func (c *candidateWriter) frame(logprobs jsontext.Value, parts ...part) candidate {
	return candidate{Index: integer(c.index), Content: &content{Role: "model", Parts: parts}, LogprobsResult: logprobs}
}

// complete writes what is left of the open part: all of it, or for text that went
// out in pieces the signature, as that of an empty text behind it, which is how
// the vendor does it (case R2).
func (c *candidateWriter) complete() ([]candidate, error) {
	p := c.open
	if p == nil {
		return nil, nil
	}
	c.open = nil
	text := c.text.String()
	switch k := p.Kind.(type) {
	case *genwayv1.Part_Text:
		c.grounding.add(text, c.written, k.Text.Citations)
		k.Text = &genwayv1.Text{Text: c.rest(text)}
	case *genwayv1.Part_Refusal:
		k.Refusal = &genwayv1.Refusal{Text: c.rest(text)}
	case *genwayv1.Part_Thinking:
		k.Thinking.Text = c.rest(text)
	case *genwayv1.Part_ToolCall:
		if codec.IsCustom(k.ToolCall) {
			k.ToolCall.Arguments = &genwayv1.ToolCall_Input{Input: text}
		} else {
			codec.SetArguments(k.ToolCall, text)
		}
		if codec.IsBroken(k.ToolCall) {
			c.broken = k.ToolCall
			return nil, nil
		}
		if codec.WithoutArguments(p) {
			c.bare = p
			return nil, nil
		}
	}
	return c.whole(p, text)
}

// sendBare writes a call that turns out to have no arguments, which is an empty object (case T10).
func (c *candidateWriter) sendBare() ([]candidate, error) {
	p := c.bare
	if p == nil {
		return nil, nil
	}
	c.bare = nil
	return c.whole(p, "")
}

// whole writes a part, of whose text that was written ahead if the part streams.
func (c *candidateWriter) whole(p *genwayv1.Part, text string) ([]candidate, error) {
	if m := codec.MediaOf(p); m != nil && len(c.data) > 0 {
		m.Source = &genwayv1.Media_Data{Data: c.data}
	}
	parts, err := c.part(nil, p, member.Within(member.Index("candidates", int(c.index)), ".parts", int(c.at)))
	if errors.Is(err, errLeftOut) {
		err = nil
	}
	if c.written += len(parts); c.streams && text != "" && (len(parts) == 0 || p.GetThinking().GetEncryptedContent() != nil) {
		c.written++ // the text went out ahead; encrypted content is a part of its own behind it
	}
	if err != nil || len(parts) == 0 {
		return nil, err
	}
	logprobs, err := encodeLogprobs(c.tokens, nil)
	return []candidate{c.frame(logprobs, parts...)}, err
}

// rest is what of the text has not been written yet.
func (c *candidateWriter) rest(text string) string {
	if c.streams {
		return ""
	}
	return text
}
