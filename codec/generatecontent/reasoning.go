package generatecontent

import (
	"encoding/base64"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

func (w *thinkingConfig) decode(path string) (*genwayv1.ThinkingConfig, error) {
	t := &genwayv1.ThinkingConfig{IncludeThoughts: w.IncludeThoughts, Effort: strings.ToLower(w.ThinkingLevel)}
	var err error
	if t.BudgetTokens, err = int32Of(w.ThinkingBudget, path, "thinkingBudget"); err != nil {
		return nil, err
	}
	t.NativeFields, err = natives(w.Extra, path, nil)
	return t, err
}

// encodeThinking writes how much to think: a budget where there is one, else a
// level. Models of the second generation know budgets only (the vendor's guide to
// thinking), and none of them takes a level above HIGH.
func encodeThinking(req *genwayv1.GenerateTextRequest, losses *codec.Losses) (*thinkingConfig, error) {
	t := req.Thinking
	if t == nil {
		return nil, nil
	}
	w := &thinkingConfig{IncludeThoughts: t.IncludeThoughts, ThinkingBudget: integerOf(t.BudgetTokens)}
	if t.IncludeThoughts == nil && (t.Summary != "" || t.Mode == genwayv1.ThinkingConfig_MODE_ENABLED || t.Mode == genwayv1.ThinkingConfig_MODE_ADAPTIVE) {
		// Asking for a summary, or turning thinking on in a protocol that always
		// shows it, asks to see thoughts.
		show := true
		w.IncludeThoughts = &show
	}
	switch budget, known := codec.Budget(t); {
	case w.ThinkingBudget != nil:
		if t.Effort != "" {
			losses.Add("thinking.effort", "the target protocol takes a budget or an effort, not both")
		}
	case t.Effort != "" && t.Effort != "none" && (!known || !strings.Contains(req.Model, "gemini-2")):
		w.ThinkingLevel = level(t.Effort, losses)
	case known:
		w.ThinkingBudget = integerOf(&budget)
	case t.Mode == genwayv1.ThinkingConfig_MODE_ENABLED || t.Mode == genwayv1.ThinkingConfig_MODE_ADAPTIVE:
		dynamic := integer(-1)
		w.ThinkingBudget = &dynamic
	}
	var err error
	w.Extra, err = member.Extra(protocol, t.NativeFields, "thinking", losses)
	return w, err
}

func level(effort string, losses *codec.Losses) string {
	if effort == "xhigh" || effort == "max" {
		losses.Add("thinking.effort", "the highest level of the target protocol is high")
		effort = "high"
	}
	return strings.ToUpper(effort)
}

// Encrypted reasoning of another protocol's upstream travels as the signature of
// an empty text, which clients send back even when they drop thoughts. That is
// also where a chat upstream's own thought signature stands when there is no text
// (case R2), so that its encrypted reasoning has a mark behind the seal.
const encryptedMark = ".encrypted"

// hidden spells encrypted reasoning; the inverse is textPart's.
func (e *writer) hidden(s *genwayv1.Seal, path string) string {
	text := e.seal(s, path)
	if text == "" || s.Protocol != genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS {
		return text
	}
	return base64.StdEncoding.EncodeToString([]byte(codec.SealText(s, protocol, false) + encryptedMark))
}

// hiddenSeal reads a marked seal; nil for any other signature.
func hiddenSeal(signature string) *genwayv1.Seal {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return nil
	}
	text, ok := strings.CutSuffix(string(raw), encryptedMark)
	if !ok {
		return nil
	}
	if seal := codec.ParseSeal(text, protocol); foreign(seal) {
		return seal
	}
	return nil
}

// encrypts names the protocols whose seals of an empty text are encrypted
// reasoning without a mark.
func encrypts(origin genwayv1.Protocol) bool {
	return origin == genwayv1.Protocol_PROTOCOL_MESSAGES || origin == genwayv1.Protocol_PROTOCOL_RESPONSES
}

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
		case t.EncryptedContent.GetProtocol() == genwayv1.Protocol_PROTOCOL_RESPONSES:
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
		return foreign(e) && e.Protocol != genwayv1.Protocol_PROTOCOL_MESSAGES
	}
	return foreign(t.GetSignature())
}

func foreign(s *genwayv1.Seal) bool { return s != nil && s.Protocol != protocol }

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
func says(p *genwayv1.Part) bool { return len(p.NativeFields) > 0 || !codec.IsEmptyPart(p) }
