package responses

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// encodeConversation writes the input; the system text that leads the
// conversation is the instructions, unless there is nothing else to put in.
func encodeConversation(w *member.Writer, req *genwayv1.GenerateTextRequest, losses *codec.Losses) error {
	e := inputEncoder{w: w, losses: losses, compact: req.Compact}
	first, all := 0, codec.Pair(req.Messages, nil)
	if len(req.Messages) > 0 {
		if text, ok := instructions(req.Messages[0]); ok && (len(req.Messages) > 1 || bringsConversation(req)) {
			w.Str("instructions", text)
			first = 1
		}
	}
	rest := all[first:]
	if len(rest) == 0 && bringsConversation(req) {
		return nil
	}
	w.Key("input")
	if len(rest) == 1 && rest[0].Role == genwayv1.Role_ROLE_USER && rest[0].Name == "" && len(rest[0].NativeFields) == 0 {
		if text, ok := plainText(rest[0].Parts); ok && rest[0].Parts[0].Id == "" {
			w.String(text)
			return nil
		}
	}
	w.BeginList()
	for i, m := range rest {
		if err := e.message(first+i, m); err != nil {
			return err
		}
	}
	w.EndList()
	return nil
}

func bringsConversation(req *genwayv1.GenerateTextRequest) bool {
	for _, name := range conversational {
		if member.Native(protocol, req.NativeFields, name) != nil {
			return true
		}
	}
	return false
}

// instructions returns the text of a system message that is nothing but text.
func instructions(m *genwayv1.Message) (string, bool) {
	if m.Role != genwayv1.Role_ROLE_SYSTEM || m.Name != "" || len(m.NativeFields) > 0 {
		return "", false
	}
	text, ok := plainText(m.Parts)
	return text, ok && text != "" && m.Parts[0].Id == ""
}

// plainText returns the text of content that is one text without any more to it.
func plainText(parts []*genwayv1.Part) (string, bool) {
	if len(parts) != 1 {
		return "", false
	}
	p := parts[0]
	t := p.GetText()
	if t == nil || len(t.Citations) > 0 || len(t.Logprobs) > 0 || p.CacheControl != nil || p.ThoughtSignature != nil || len(p.NativeFields) > 0 {
		return "", false
	}
	return t.Text, true
}
