package generatecontent_test

import (
	"encoding/json"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"pgregory.net/rapid"
)

// The generators below draw canonical messages in this protocol's normal form:
// what decoding gives for some body.

func words(t *rapid.T, label string) string {
	return rapid.StringN(1, 12, -1).Draw(t, label)
}

func chance(t *rapid.T, label string) bool { return rapid.Bool().Draw(t, label) }

func maybe[T any](t *rapid.T, label string, g *rapid.Generator[T]) *T {
	if !chance(t, label+"?") {
		return nil
	}
	v := g.Draw(t, label)
	return &v
}

// jsonObject draws the text of an object that is not one of a plain result.
func jsonObject(t *rapid.T, label string) string {
	quoted, err := json.Marshal(words(t, label))
	if err != nil {
		t.Fatal(err)
	}
	return rapid.SampledFrom([]string{
		`{}`, `{"a":1.50,"b":[null,true]}`, `{"b":{"a":"\u00e9"},"a":1e400}`, `{"text":` + string(quoted) + `}`,
	}).Draw(t, label+" object")
}

func ownNatives(t *rapid.T, names ...string) []*genwayv1.NativeField {
	var fields []*genwayv1.NativeField
	for _, name := range names {
		if rapid.IntRange(0, 4).Draw(t, "native "+name) == 0 {
			fields = append(fields, &genwayv1.NativeField{Protocol: own, Name: name, Json: []byte(jsonObject(t, name))})
		}
	}
	return fields
}

func seal(t *rapid.T, origins ...genwayv1.Protocol) *genwayv1.Seal {
	origin := rapid.SampledFrom(origins).Draw(t, "origin")
	if origin == own {
		return &genwayv1.Seal{Protocol: own, Value: []byte(rapid.StringMatching(`[A-Ya-z0-9+/_-]{4,12}`).Draw(t, "signature"))}
	}
	return &genwayv1.Seal{Protocol: origin, Value: rapid.SliceOfN(rapid.Byte(), 1, 8).Draw(t, "sealed")}
}

func maybeSeal(t *rapid.T, origins ...genwayv1.Protocol) *genwayv1.Seal {
	if !chance(t, "sealed?") {
		return nil
	}
	return seal(t, origins...)
}

func textPart(text string) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: text}}}
}

func drawText(t *rapid.T) *genwayv1.Part {
	p := textPart(words(t, "text"))
	p.NativeFields = ownNatives(t, "partMetadata")
	p.ThoughtSignature = maybeSeal(t, own)
	if p.ThoughtSignature != nil && chance(t, "signature alone?") {
		p.GetText().Text = ""
	}
	return p
}

func drawMedia(t *rapid.T) *genwayv1.Part {
	kind := rapid.SampledFrom([]string{"image/png", "audio/wav", "video/mp4", "application/pdf", ""}).Draw(t, "type")
	m := &genwayv1.Media{MimeType: kind, Filename: rapid.SampledFrom([]string{"", "a.bin"}).Draw(t, "name")}
	p := &genwayv1.Part{}
	switch rapid.IntRange(0, 2).Draw(t, "source") {
	case 0:
		m.Source = &genwayv1.Media_Data{Data: rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "data")}
		p.NativeFields = ownNatives(t, "mediaResolution", "inlineData.xNew")
	case 1:
		m.Source = &genwayv1.Media_Url{Url: "https://a.example/" + words(t, "url")}
		p.NativeFields = ownNatives(t, "videoMetadata", "fileData.xNew")
	default:
		m.Source = &genwayv1.Media_FileId{FileId: "files/" + words(t, "file")}
	}
	switch kind {
	case "image/png":
		p.Kind = &genwayv1.Part_Image{Image: m}
	case "audio/wav":
		p.Kind = &genwayv1.Part_Audio{Audio: m}
	case "video/mp4":
		p.Kind = &genwayv1.Part_Video{Video: m}
	default:
		p.Kind = &genwayv1.Part_File{File: m}
	}
	return p
}

func drawCall(t *rapid.T) *genwayv1.Part {
	return &genwayv1.Part{
		Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{
			Id: rapid.SampledFrom([]string{"", "c1", "toolu_2"}).Draw(t, "id"), Name: words(t, "function"), Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: jsonObject(t, "args")},
		}},
		ThoughtSignature: maybeSeal(t, own),
		NativeFields:     ownNatives(t, "partMetadata", "functionCall.xNew"),
	}
}

func drawOpaque(t *rapid.T) *genwayv1.Part {
	kind := rapid.SampledFrom([]string{"executableCode", "toolResponse", "hologram"}).Draw(t, "kind")
	return &genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{
		Protocol: own, Type: kind, Json: []byte(`{"thoughtSignature":"c2ln","` + kind + `":` + jsonObject(t, kind) + `}`),
	}}}
}

func drawThinking(t *rapid.T, origins ...genwayv1.Protocol) *genwayv1.Part {
	think := &genwayv1.Thinking{Text: words(t, "thought"), Signature: maybeSeal(t, origins...)}
	return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: think}}
}

func drawResult(t *rapid.T) *genwayv1.Part {
	r := &genwayv1.ToolResult{ToolCallId: rapid.SampledFrom([]string{"", "c1"}).Draw(t, "id"), Name: words(t, "function")}
	if chance(t, "structured") {
		whole := jsonObject(t, "response")
		r.ResultJson = &whole
	} else {
		r.IsError = chance(t, "error")
		for range rapid.IntRange(1, 3).Draw(t, "texts") {
			r.Parts = append(r.Parts, textPart(rapid.String().Draw(t, "output")))
		}
	}
	if chance(t, "media?") {
		r.Parts = append(r.Parts, drawMedia(t))
	}
	return &genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: r}, NativeFields: ownNatives(t, "partMetadata", "functionResponse.scheduling")}
}
