package responses

import (
	"bytes"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// decodeReasoning reads a reasoning item. Its texts are one canonical text; when
// there are several, a native field keeps their bounds. Parts of types that are not known
// are kept likewise.
func decodeReasoning(raw jsontext.Value, place member.Place) (item, error) {
	var w wireReasoningItem
	if err := member.DecodeAt(raw, &w, place); err != nil {
		return item{}, err
	}
	sealed := parseSealed(w.EncryptedContent)
	if sealed.thought != nil {
		return item{role: genwayv1.Role_ROLE_ASSISTANT, thought: sealed.thought, late: sealed.late}, nil
	}
	thinking := &genwayv1.Thinking{Signature: sealed.signature, EncryptedContent: sealed.encrypted}
	var kept []*genwayv1.NativeField
	for _, s := range w.Summary {
		thinking.Summary = append(thinking.Summary, s.Text)
		if s.Type != "" && s.Type != typeSummaryText && kept == nil {
			kept = append(kept, native("summary", member.Value(raw, "summary")))
		}
	}
	bounds := len(w.Content) > 1
	for i, content := range w.Content {
		var line wireLine
		if err := member.DecodeAt(content, &line, member.Place{Path: place.Join("content"), Element: i + 1}); err != nil {
			return item{}, err
		}
		thinking.Text += line.Text
		bounds = bounds || line.Type != "" && line.Type != typeReasoningText
	}
	if bounds {
		kept = append(kept, nativeContent(w.Content))
	}
	if sealed.summary && thinking.Text == "" && len(thinking.Summary) > 0 {
		thinking.Text, thinking.Summary = thinking.Summary[0], thinking.Summary[1:]
	}
	if w.ID == "" && sealed.signature == nil && sealed.encrypted == nil && len(w.Summary) == 0 && thinking.Text == "" && len(kept) == 0 {
		return item{role: genwayv1.Role_ROLE_ASSISTANT}, nil // says nothing, and cannot be sent again
	}
	it := assistantItem(w.ID, w.Status, w.Extra, &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: thinking}})
	it.parts[0].NativeFields = append(it.parts[0].NativeFields, kept...)
	return it, nil
}

func nativeContent(content []jsontext.Value) *genwayv1.NativeField {
	return native("content", append(append([]byte{'['}, bytes.Join(asBytes(content), []byte{','})...), ']'))
}

func asBytes(values []jsontext.Value) [][]byte {
	out := make([][]byte, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// encrypted_content is the one place of this protocol for a value that must come
// back. Values of other protocols that have a place of their own there have a word in
// front of their seal; this protocol's own has none.
const (
	// sealedSignature: the signature of the thinking in the same item; what
	// follows a blank is its encrypted content.
	sealedSignature = "signature."
	// sealedSummary: likewise, where the thinking is written as the item's summary.
	sealedSummary = "signature-summary."
	// sealedThought: the thought signature of the item behind. An item of its own
	// carries it, since clients give back of a call what they know and no more. It
	// stands ahead because some take the last item of an answer for its message;
	// a text's signature, which a stream learns of too late for that and which its
	// vendor does not demand back, is named as lost.
	sealedThought = "thought."
	// sealedLate: the seal of the item before, for a stream that learns of it late.
	sealedLate = "thought-late."
)

type sealed struct {
	signature, encrypted, thought *genwayv1.Seal
	late                          bool
	// summary says that the first summary is the text that was signed.
	summary bool
}

// mayBeSealed reports whether a string may be what parseSealed finds a seal of another
// protocol in.
func mayBeSealed(text []byte) bool {
	for _, word := range []string{"", sealedSignature, sealedSummary, sealedThought, sealedLate} {
		if len(text) > len(word) && string(text[:len(word)]) == word && codec.MaySeal(text[len(word):]) {
			return true
		}
	}
	return false
}

func parseSealed(text string) sealed {
	for _, word := range []string{sealedSignature, sealedSummary} {
		if rest, ok := strings.CutPrefix(text, word); ok {
			first, second, _ := strings.Cut(rest, " ")
			if s := foreignSeal(first); s != nil {
				return sealed{signature: s, encrypted: codec.ParseSeal(second, protocol), summary: word == sealedSummary}
			}
		}
	}
	for _, word := range []string{sealedThought, sealedLate} {
		if rest, ok := strings.CutPrefix(text, word); ok {
			if s := foreignSeal(rest); s != nil {
				return sealed{thought: s, late: word == sealedLate}
			}
		}
	}
	return sealed{encrypted: codec.ParseSeal(text, protocol)}
}

func foreignSeal(text string) *genwayv1.Seal {
	if s := codec.ParseSeal(text, protocol); s.GetProtocol() != protocol {
		return s
	}
	return nil
}

// sealedText spells the seals of a thinking part, whose text is written as a summary or
// not; the inverse of parseSealed.
func sealedText(t *genwayv1.Thinking, summary bool) string {
	encrypted := codec.SealText(t.EncryptedContent, protocol, false)
	if t.Signature == nil {
		return encrypted
	}
	word := sealedSignature
	if summary {
		word = sealedSummary
	}
	text := word + codec.SealText(t.Signature, protocol, false)
	if encrypted != "" {
		text += " " + encrypted
	}
	return text
}

// canonical returns nil for a configuration that says nothing.
func (r *wireReasoning) canonical() *genwayv1.ThinkingConfig {
	c := &genwayv1.ThinkingConfig{Effort: r.Effort, Summary: r.Summary, NativeFields: member.Natives(protocol, r.Extra, nil)}
	if c.Effort == "" && c.Summary == "" && len(c.NativeFields) == 0 {
		return nil
	}
	return c
}

// encodeReasoning writes the request's reasoning. A budget becomes the effort
// that stands for it; thoughts that are to be shown are shown as a summary, which
// is all the vendor shows.
func encodeReasoning(w *member.Writer, t *genwayv1.ThinkingConfig, losses *codec.Losses) error {
	if t == nil {
		return nil
	}
	effort, known := codec.Effort(t)
	if !known && t.Mode == genwayv1.ThinkingConfig_MODE_ENABLED {
		losses.Add("thinking.mode", "the target protocol can ask for an effort only")
	}
	summary := t.Summary
	if summary == "" && t.GetIncludeThoughts() {
		summary = "auto"
	}
	extra, err := member.Extra(protocol, t.NativeFields, "thinking", losses)
	if err != nil {
		return err
	}
	if effort == "" && summary == "" && extra == nil {
		return nil
	}
	w.Object("reasoning")
	w.StrOpt("effort", effort)
	w.StrOpt("summary", summary)
	w.Spliced(extra)
	w.End()
	return nil
}

// Callers that ask for a summary of the reasoning (reasoning.summary) show summaries,
// and no reasoning_text, which they do not expect of models they ask so. Upstreams of
// other protocols show their thinking as it is: to these callers it is the summary.

// summarizes reports whether the answer's caller asked for a summary.
func summarizes(to codec.Answer) bool {
	return to.Request != nil && to.Request.GetThinking().GetSummary() != ""
}

// thoughtElsewhere reports whether a part is not a reasoning item of an upstream of
// this protocol, which knows itself what of it is the summary.
func thoughtElsewhere(p *genwayv1.Part) bool {
	return p.GetThinking() != nil && (!strings.HasPrefix(p.Id, prefixReasoning) || IsSyntheticID(p.Id))
}

// asSummary returns thinking whose text is written as the first of its summaries.
func asSummary(t *genwayv1.Thinking) *genwayv1.Thinking {
	return &genwayv1.Thinking{Summary: append([]string{t.GetText()}, t.GetSummary()...),
		Signature: t.GetSignature(), EncryptedContent: t.GetEncryptedContent()}
}
