package generatecontent

import (
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// joinFragments makes one message of the model's neighbouring turns. The vendor's
// JavaScript SDK keeps each frame of a stream as a turn of its own
// (Chat.sendMessageStream), so that its history has a turn for every few words;
// upstreams of other protocols count turns, and some want the roles to alternate.
// Turns with members of their own stay as they are.
func joinFragments(messages []*genwayv1.Message) []*genwayv1.Message {
	out := messages[:0]
	for len(messages) > 0 {
		n := 1
		for n < len(messages) && fragment(messages[0]) && fragment(messages[n]) {
			n++
		}
		m := messages[0]
		if n > 1 {
			m.Parts = joinedParts(messages[:n])
		}
		out = append(out, m)
		messages = messages[n:]
	}
	return out
}

func fragment(m *genwayv1.Message) bool {
	return m.Role == genwayv1.Role_ROLE_ASSISTANT && len(m.NativeFields) == 0
}

// joinedParts are the parts of all the messages. Text that goes on in the next
// message becomes one text, and a signature that a stream spells behind its text
// goes where an answer that is no stream has it.
func joinedParts(messages []*genwayv1.Message) []*genwayv1.Part {
	var out []*genwayv1.Part
	var pieces []string // of the last part
	flush := func() {
		if len(pieces) > 1 {
			setWords(out[len(out)-1], strings.Join(pieces, ""))
		}
		pieces = nil
	}
	for _, m := range messages {
		for i, p := range m.Parts {
			if i == 0 && len(out) > 0 && goesOn(out[len(out)-1], p) {
				pieces = append(pieces, words(p))
				out[len(out)-1].ThoughtSignature = p.ThoughtSignature
				continue
			}
			flush()
			out, pieces = append(out, p), []string{words(p)}
		}
	}
	flush()
	return joinSealed(out)
}

// goesOn reports whether a part is more of the one before: both text or both
// thought, with nothing else to them but a signature that has no text.
func goesOn(before, p *genwayv1.Part) bool {
	if !bare(before) || before.ThoughtSignature != nil || !bare(p) || p.ThoughtSignature != nil && words(p) != "" {
		return false
	}
	return (before.GetText() != nil) == (p.GetText() != nil)
}

// bare reports whether a part is nothing but text or thought and its signature.
func bare(p *genwayv1.Part) bool {
	t := p.GetThinking()
	if p.GetText() == nil && (t == nil || t.Signature != nil || t.EncryptedContent != nil) {
		return false
	}
	return len(p.NativeFields) == 0
}

func words(p *genwayv1.Part) string { return p.GetText().GetText() + p.GetThinking().GetText() }

func setWords(p *genwayv1.Part, text string) {
	if t := p.GetThinking(); t != nil {
		t.Text = text
		return
	}
	p.GetText().Text = text
}
