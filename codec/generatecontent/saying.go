package generatecontent

import genwayv1 "github.com/genway/genway/gen/genway/v1"

// joinSealed joins thoughts that one seal of another protocol vouches for. A
// stream spells a signed thought as pieces of text and at last the signature, and
// callers send back what they saw; its maker wants the text in one piece. So does
// the maker of encrypted reasoning with a text beside it, which for the responses
// protocol is a summary; the messages protocol has none (case R8).
func joinSealed(parts []*genwayv1.Part) []*genwayv1.Part {
	out := parts[:0]
	for _, p := range parts {
		t := p.GetThinking()
		text := ""
		for vouches(t) && len(out) > 0 {
			before := out[len(out)-1]
			earlier := before.GetThinking()
			if earlier == nil || earlier.Signature != nil || earlier.EncryptedContent != nil || len(before.NativeFields) > 0 {
				break
			}
			text = earlier.Text + text
			out = out[:len(out)-1]
		}
		switch {
		case text == "":
		case t.EncryptedContent.GetOrigin() == genwayv1.Protocol_PROTOCOL_RESPONSES:
			t.Summary = []string{text}
		default:
			t.Text = text + t.Text
		}
		out = append(out, p)
	}
	return out
}

// vouches reports whether a thought's seal is one of the text before it as well.
func vouches(t *genwayv1.Thinking) bool {
	if e := t.GetEncryptedContent(); e != nil {
		return foreign(e) && e.Origin != genwayv1.Protocol_PROTOCOL_MESSAGES
	}
	return foreign(t.GetSignature())
}

func foreign(s *genwayv1.Seal) bool { return s != nil && s.Origin != protocol }

// sayings leaves out parts that say nothing, but for the first when none says
// anything.
func sayings(parts []*genwayv1.Part) []*genwayv1.Part {
	out := make([]*genwayv1.Part, 0, len(parts))
	for _, p := range parts {
		if says(p) {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return parts[:min(1, len(parts))]
	}
	return out
}

// says reports whether a part is more than empty text or an empty thought.
func says(p *genwayv1.Part) bool {
	if p.ThoughtSignature != nil || len(p.NativeFields) > 0 {
		return true
	}
	switch k := p.Kind.(type) {
	case *genwayv1.Part_Text:
		return k.Text.GetText() != ""
	case *genwayv1.Part_Thinking:
		t := k.Thinking
		return t.GetText() != "" || len(t.GetSummary()) > 0 || t.GetSignature() != nil || t.GetEncryptedContent() != nil
	case *genwayv1.Part_Refusal:
		return k.Refusal.GetText() != ""
	}
	return p.Kind != nil
}
