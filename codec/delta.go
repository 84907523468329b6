package codec

import genwayv1 "github.com/genway/genway/gen/genway/v1"

// TextDelta is a delta of text, made in one allocation: most events of a stream are such.
func TextDelta(text string) *genwayv1.PartDelta {
	d := &struct {
		delta genwayv1.PartDelta
		text  genwayv1.PartDelta_Text
	}{}
	d.text.Text = text
	d.delta.Delta = &d.text
	return &d.delta
}

// RefusalDelta adds to a refusal.
func RefusalDelta(text string) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Refusal{Refusal: text}}
}

// ThinkingDelta adds to the text of thinking.
func ThinkingDelta(text string) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Thinking{Thinking: text}}
}

// SummaryDelta adds to one of the summaries of thinking.
func SummaryDelta(index int, text string) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Summary{Summary: &genwayv1.SummaryDelta{Index: int32(index), Text: text}}}
}

// ArgumentsDelta adds to the JSON text of a call's arguments.
func ArgumentsDelta(text string) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_ArgumentsJson{ArgumentsJson: text}}
}

// InputDelta adds to the input of a custom tool's call.
func InputDelta(text string) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Input{Input: text}}
}

// CitationDelta adds a citation to a text.
func CitationDelta(c *genwayv1.Citation) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Citation{Citation: c}}
}

// SignatureDelta sets the signature of thinking.
func SignatureDelta(s *genwayv1.Seal) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Signature{Signature: s}}
}

// EncryptedDelta sets the encrypted content of thinking.
func EncryptedDelta(s *genwayv1.Seal) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_EncryptedContent{EncryptedContent: s}}
}

// ThoughtSignatureDelta sets the thought signature of a part.
func ThoughtSignatureDelta(s *genwayv1.Seal) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_ThoughtSignature{ThoughtSignature: s}}
}

// NativeDelta adds a member without a field of the contract to a part.
func NativeDelta(f *genwayv1.NativeField) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Native{Native: f}}
}
