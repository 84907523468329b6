package member

import genwayv1 "github.com/genway/genway/gen/genway/v1"

// The lengths of bodies are estimated from the lengths of the long parts of messages. An
// estimate that is too small costs a copy, one that is too large costs memory.

// SizeOfRequest is about how long the body of a request will be.
func SizeOfRequest(r *genwayv1.GenerateTextRequest) int {
	size := 256 + len(r.GetExtraJson()) + len(r.GetResponseFormat().GetSchemaJson()) + sizeOfNatives(r.GetNativeFields())
	for _, m := range r.GetMessages() {
		size += 48 + sizeOfParts(m.GetParts()) + sizeOfNatives(m.GetNativeFields())
	}
	for _, t := range r.GetTools() {
		f, c := t.GetFunction(), t.GetCustom()
		size += 128 + len(f.GetDescription()) + len(f.GetParametersJson()) + len(c.GetDescription()) + len(c.GetFormatJson()) + len(t.GetHosted().GetJson())
	}
	return size
}

// SizeOfResponse is about how long the body of an answer will be, of which its protocol needs so many bytes around the candidates.
func SizeOfResponse(r *genwayv1.GenerateTextResponse, frame int) int {
	size := frame + sizeOfNatives(r.GetNativeFields())
	for _, c := range r.GetCandidates() {
		size += 256 + sizeOfParts(c.GetParts()) + sizeOfNatives(c.GetNativeFields())
	}
	return size
}

func sizeOfParts(parts []*genwayv1.Part) int {
	size := 0
	for _, p := range parts {
		size += 64 + sizeOfPart(p) + sizeOfNatives(p.NativeFields)
		if p.ThoughtSignature != nil {
			size += 128 + len(p.ThoughtSignature.Value)*4/3
		}
	}
	return size
}

func sizeOfPart(p *genwayv1.Part) int {
	switch k := p.Kind.(type) {
	case *genwayv1.Part_Text:
		return sizeOfText(k.Text.GetText()) + 128*len(k.Text.GetCitations()) + 128*len(k.Text.GetLogprobs())
	case *genwayv1.Part_Refusal:
		return sizeOfText(k.Refusal.GetText())
	case *genwayv1.Part_Thinking:
		size := sizeOfText(k.Thinking.GetText()) + len(k.Thinking.GetSignature().GetValue())*4/3 + len(k.Thinking.GetEncryptedContent().GetValue())*4/3
		for _, s := range k.Thinking.GetSummary() {
			size += 64 + sizeOfText(s)
		}
		return size
	case *genwayv1.Part_Image:
		return sizeOfMedia(k.Image)
	case *genwayv1.Part_Audio:
		return sizeOfMedia(k.Audio)
	case *genwayv1.Part_Video:
		return sizeOfMedia(k.Video)
	case *genwayv1.Part_File:
		return sizeOfMedia(k.File)
	case *genwayv1.Part_ToolCall:
		return 64 + sizeOfText(k.ToolCall.GetArgumentsJson())*9/8 + sizeOfText(k.ToolCall.GetInput())
	case *genwayv1.Part_ToolResult:
		return 64 + sizeOfText(k.ToolResult.GetResultJson()) + sizeOfParts(k.ToolResult.GetParts())
	case *genwayv1.Part_Opaque:
		return len(k.Opaque.GetJson())
	}
	return 0
}

// sizeOfText reckons with an escape in thirty-two characters, and with the room that
// AppendQuote wants.
func sizeOfText(s string) int { return len(s) + len(s)/32 + room + 1 }

func sizeOfMedia(m *genwayv1.Media) int {
	return 64 + len(m.GetData())/3*4 + len(m.GetUrl()) + len(m.GetTranscript())
}

func sizeOfNatives(fields []*genwayv1.NativeField) int {
	size := 0
	for _, f := range fields {
		size += len(f.Name) + len(f.Json) + 4
	}
	return size
}
