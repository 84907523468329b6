package messages

import (
	"bytes"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// decoder returns the part of a block of one kind.
type decoder func(kind string, raw jsontext.Value, place member.Place) (*genwayv1.Part, error)

// decodeContent returns the parts of a string or an array of blocks. An empty
// string has none.
func decodeContent(c content, in member.Place, name string, decode decoder) ([]*genwayv1.Part, error) {
	if c.text != nil {
		if *c.text == "" {
			return nil, nil
		}
		return []*genwayv1.Part{textPart(*c.text)}, nil
	}
	if len(c.blocks) == 0 {
		return nil, nil
	}
	return decodeBlocks(c.blocks, in.Join(name), decode)
}

func textPart(text string) *genwayv1.Part {
	return codec.TextPart(text)
}

// decodeBlocks returns the parts of blocks at a path, each by decode.
func decodeBlocks(blocks []jsontext.Value, path string, decode decoder) ([]*genwayv1.Part, error) {
	var parts partList
	for i, raw := range blocks {
		at := member.Place{Path: path, Element: i + 1}
		if raw.Kind() != '{' {
			return nil, fault.Invalid(at.String(), "%s: expected object", at)
		}
		kind := memberText(raw, "type")
		if seal, place := carried(kind, raw); seal != nil {
			parts.carry(seal, place)
			continue
		}
		p, err := decode(kind, raw, at)
		if err != nil {
			return nil, err
		}
		parts.add(p)
	}
	return parts.close(), nil
}

// decodeBlock returns the part of a block of one kind. Kinds without a canonical
// part, known to the vendor or not, are opaque.
func decodeBlock(kind string, raw jsontext.Value, place member.Place) (*genwayv1.Part, error) {
	switch kind {
	case "text":
		return decodeText(raw, place)
	case "image", "document":
		return decodeMedia(raw, place)
	case "thinking":
		return decodeThinking(raw, place)
	case "redacted_thinking":
		return decodeRedacted(raw, place)
	case "tool_use":
		return decodeToolUse(raw, place)
	case "tool_result":
		return decodeToolResult(raw, place)
	case "":
		return nil, fault.Missing(place.Join("type"))
	default:
		return opaque(kind, raw), nil
	}
}

// decodeInner returns the part of a block in a tool result. The vendor knows no tool result in
// another one: it is opaque, so that results of any depth cost what they are long.
func decodeInner(kind string, raw jsontext.Value, place member.Place) (*genwayv1.Part, error) {
	if kind == "tool_result" {
		return opaque(kind, raw), nil
	}
	return decodeBlock(kind, raw, place)
}

func opaque(kind string, raw jsontext.Value) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{
		Protocol: protocol, Type: kind, Json: bytes.Clone(raw)}}}
}

func decodeText(raw jsontext.Value, place member.Place) (*genwayv1.Part, error) {
	var b textBlock
	if err := member.DecodeAt(raw, &b, place); err != nil {
		return nil, err
	}
	p := textPart(b.Text)
	for i, c := range b.Citations {
		cited, err := decodeCitation(c, member.Index(place.Join("citations"), i))
		if err != nil {
			return nil, err
		}
		p.GetText().Citations = append(p.GetText().Citations, cited)
	}
	p.CacheControl, p.NativeFields = b.CacheControl.canonical(), natives(b.Extra)
	return p, nil
}

func decodeThinking(raw jsontext.Value, place member.Place) (*genwayv1.Part, error) {
	var b thinkingBlock
	if err := member.DecodeAt(raw, &b, place); err != nil {
		return nil, err
	}
	seal := codec.ParseSeal(b.Signature, protocol)
	t := &genwayv1.Thinking{Text: b.Thinking, Signature: seal}
	if seal.GetOrigin() == genwayv1.Protocol_PROTOCOL_RESPONSES {
		// That protocol seals reasoning as encrypted content beside a summary.
		t = &genwayv1.Thinking{Summary: []string{b.Thinking}, EncryptedContent: seal}
	}
	return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: t}, NativeFields: natives(b.Extra)}, nil
}

func decodeRedacted(raw jsontext.Value, place member.Place) (*genwayv1.Part, error) {
	var b redactedBlock
	if err := member.DecodeAt(raw, &b, place); err != nil {
		return nil, err
	}
	if b.Data == "" {
		return nil, fault.Missing(place.Join("data"))
	}
	return &genwayv1.Part{NativeFields: natives(b.Extra), Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{
		EncryptedContent: codec.ParseSeal(b.Data, protocol)}}}, nil
}

func decodeToolUse(raw jsontext.Value, place member.Place) (*genwayv1.Part, error) {
	var b toolUseBlock
	if err := member.DecodeAt(raw, &b, place); err != nil {
		return nil, err
	}
	switch {
	case b.ID == "":
		return nil, fault.Missing(place.Join("id"))
	case b.Name == "":
		return nil, fault.Missing(place.Join("name"))
	}
	p := codec.CallPart(b.Name, "{}")
	call := p.GetToolCall()
	call.Id = codec.DecodeToolID(b.ID)
	switch b.Input.Kind() {
	case '{':
		call.ArgumentsJson = member.Text(b.Input)
	case 0, 'n':
	default:
		return nil, fault.Invalid(place.Join("input"), "%s.input: expected object", place)
	}
	if b.PartialJSON != "" {
		call.ArgumentsJson = b.PartialJSON
	}
	p.CacheControl, p.NativeFields = b.CacheControl.canonical(), append(callerField(b.Caller), natives(b.Extra)...)
	return p, nil
}

// callerField keeps who called a tool unless it was the model itself, which is the
// default.
func callerField(raw jsontext.Value) []*genwayv1.NativeField {
	if raw.Kind() != '{' || memberText(raw, "type") == "direct" {
		return nil
	}
	return []*genwayv1.NativeField{whole("caller", raw)}
}

func decodeToolResult(raw jsontext.Value, place member.Place) (*genwayv1.Part, error) {
	var b toolResultBlock
	if err := member.DecodeAt(raw, &b, place); err != nil {
		return nil, err
	}
	if b.ToolUseID == "" {
		return nil, fault.Missing(place.Join("tool_use_id"))
	}
	parts, err := decodeContent(b.Content, place, "content", decodeInner)
	if err != nil {
		return nil, err
	}
	return &genwayv1.Part{
		Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{
			ToolCallId: codec.DecodeToolID(b.ToolUseID), Parts: parts, IsError: b.IsError}},
		CacheControl: b.CacheControl.canonical(),
		NativeFields: natives(b.Extra),
	}, nil
}
