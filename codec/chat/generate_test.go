package chat_test

import (
	"fmt"
	"unicode/utf8"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"
)

// The generators draw canonical messages in this protocol's normal form: what
// decoding gives, so that decode∘encode is the identity on them.

const own = genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS

var c = chat.Codec{}

var (
	words   = rapid.StringMatching(`[a-z]{1,8}`)
	texts   = rapid.SampledFrom([]string{"x", "Grüße\n\"quoted\"\\", "\u2028 <&> \U0001F600", "  ", "line\r\nmore\t\x00", `"parameters":"\u0067enway"`})
	schemas = rapid.SampledFrom([]string{`{"type":"object"}`, `{"type": "object", "required":["b","a"],"properties":{"b":{"maximum":1.50},"a":{"const":"\u00e9\/"}}}`})
	objects = rapid.SampledFrom([]string{`{}`, `{"a":1.0,"b":[1e3,null]}`, `{"ключ":"\u00e9\/"}`, `7`, `"s"`})
	tokens  = rapid.Int64Range(0, 1<<40)
)

func some[T any](t *rapid.T, name string, draw func() T) *T {
	if !rapid.Bool().Draw(t, name+" given") {
		return nil
	}
	v := draw()
	return &v
}

func drawn[T any](t *rapid.T, name string, g *rapid.Generator[T]) *T {
	return some(t, name, func() T { return g.Draw(t, name) })
}

func maybe(t *rapid.T, name string, g *rapid.Generator[string]) string {
	if !rapid.Bool().Draw(t, name+" given") {
		return ""
	}
	return g.Draw(t, name)
}

func listOf[T any](t *rapid.T, name string, least, most int, draw func(i int) T) []T {
	var out []T
	for i := range rapid.IntRange(least, most).Draw(t, name+" count") {
		out = append(out, draw(i))
	}
	return out
}

func drawNatives(t *rapid.T, names ...string) []*genwayv1.NativeField {
	var out []*genwayv1.NativeField
	for _, name := range names {
		if rapid.IntRange(0, 3).Draw(t, name) == 0 {
			out = append(out, &genwayv1.NativeField{Protocol: own, Name: name, Json: []byte(objects.Draw(t, name+" value"))})
		}
	}
	return out
}

func drawSeal(t *rapid.T) *genwayv1.Seal {
	if !rapid.Bool().Draw(t, "sealed") {
		return nil
	}
	return &genwayv1.Seal{Protocol: own, Value: []byte(words.Draw(t, "seal"))}
}

func drawCache(t *rapid.T) *genwayv1.CacheControl {
	name := rapid.SampledFrom([]string{"", "", "cache_control", "prompt_cache_breakpoint"}).Draw(t, "cache member")
	if name == "" {
		return nil
	}
	return &genwayv1.CacheControl{
		Ttl:          lifetime(rapid.SampledFrom([]int64{0, 300, 1800, 3600, 43200, 7}).Draw(t, "ttl")),
		NativeFields: append([]*genwayv1.NativeField{member.Mark(own, name)}, drawNatives(t, "scope")...),
	}
}

func drawText(t *rapid.T) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: texts.Draw(t, "text")}}}
}

func drawMedia(t *rapid.T, mediaType string, withURL bool) *genwayv1.Media {
	m := &genwayv1.Media{MimeType: mediaType, Source: &genwayv1.Media_Data{Data: []byte(texts.Draw(t, "data"))}}
	if withURL && rapid.Bool().Draw(t, "by url") {
		m.MimeType, m.Source = "", &genwayv1.Media_Url{Url: "https://a.example/" + words.Draw(t, "path")}
	}
	return m
}

func drawImage(t *rapid.T) *genwayv1.Part {
	m := drawMedia(t, "image/png", true)
	m.Detail = rapid.SampledFrom([]string{"", "low", "original"}).Draw(t, "detail")
	return &genwayv1.Part{Kind: &genwayv1.Part_Image{Image: m}, NativeFields: drawNatives(t, "image_url.min_pixels", "uuid")}
}

func drawUserPart(t *rapid.T) *genwayv1.Part {
	var p *genwayv1.Part
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		p = drawImage(t)
	case 1:
		mediaType := rapid.SampledFrom([]string{"audio/wav", "audio/mpeg", "audio/flac"}).Draw(t, "audio type")
		p = &genwayv1.Part{Kind: &genwayv1.Part_Audio{Audio: drawMedia(t, mediaType, false)}, NativeFields: drawNatives(t, "input_audio.rate")}
	case 2:
		m := drawMedia(t, "application/pdf", true)
		if m.GetData() != nil {
			m.Filename = words.Draw(t, "filename")
		}
		if rapid.Bool().Draw(t, "by id") {
			m = &genwayv1.Media{Source: &genwayv1.Media_FileId{FileId: "file-" + words.Draw(t, "id")}}
		}
		p = &genwayv1.Part{Kind: &genwayv1.Part_File{File: m}, NativeFields: drawNatives(t, "file.pages")}
	case 3:
		p = &genwayv1.Part{Kind: &genwayv1.Part_Video{Video: drawMedia(t, "video/mp4", true)}, NativeFields: []*genwayv1.NativeField{member.Mark(own, "video_url")}}
	case 4:
		kind := "document_" + words.Draw(t, "opaque type")
		return &genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{Protocol: own, Type: kind,
			Json: fmt.Appendf(nil, `{"x":%s,"type":%q}`, objects.Draw(t, "opaque"), kind)}}}
	default:
		p = drawText(t)
		p.NativeFields = drawNatives(t, "lang")
	}
	p.CacheControl = drawCache(t)
	return p
}

// drawThinking draws what one message thinks. Only the last part may be the plain
// text alone, and only when it is the only one: others have what tells them apart.
func drawThinking(t *rapid.T) []*genwayv1.Part {
	n := rapid.IntRange(0, 3).Draw(t, "thinking parts")
	var parts []*genwayv1.Part
	for i := range n {
		k := &genwayv1.Thinking{}
		p := &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: k}}
		switch rapid.IntRange(0, 3).Draw(t, "thinking kind") {
		case 0:
			if n == 1 {
				k.Text = words.Draw(t, "unsigned") + texts.Draw(t, "unsigned")
				parts = append(parts, p)
				continue
			}
			fallthrough
		case 1:
			k.Text = fmt.Sprintf("%d%s", i, texts.Draw(t, "signed"))
			k.Signature = &genwayv1.Seal{Protocol: own, Value: []byte(words.Draw(t, "signature"))}
		case 2:
			k.EncryptedContent = &genwayv1.Seal{Protocol: own, Value: []byte(words.Draw(t, "encrypted"))}
		default:
			k.Summary = listOf(t, "summary", 1, 3, func(j int) string { return fmt.Sprintf("%d.%d%s", i, j, words.Draw(t, "summary")) })
			k.EncryptedContent = drawSeal(t)
		}
		p.Id = maybe(t, "thinking id", words)
		p.ThoughtSignature = drawSeal(t)
		p.NativeFields = drawNatives(t, "format")
		parts = append(parts, p)
	}
	if rapid.Bool().Draw(t, "named reasoning") {
		for _, p := range parts {
			if k := p.GetThinking(); k.Text != "" || len(k.Summary) > 0 {
				p.NativeFields = append([]*genwayv1.NativeField{member.Mark(own, "reasoning")}, p.NativeFields...)
				break
			}
		}
	}
	return parts
}

func drawCall(t *rapid.T, i int, custom bool) *genwayv1.Part {
	call := &genwayv1.ToolCall{Id: fmt.Sprintf("call_%d%s", i, words.Draw(t, "call id")), Name: words.Draw(t, "function")}
	p := &genwayv1.Part{Kind: &genwayv1.Part_ToolCall{ToolCall: call}, ThoughtSignature: drawSeal(t)}
	if custom {
		call.Name, call.Arguments = "shell", &genwayv1.ToolCall_Input{Input: texts.Draw(t, "input")}
		p.NativeFields = drawNatives(t, "custom.note", "extra")
		return p
	}
	call.Arguments = &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: rapid.SampledFrom([]string{"{}", `{"a": 1.0 }`, `{"q":"\u00e9"}`, `{"cut":`}).Draw(t, "arguments")}
	p.NativeFields = drawNatives(t, "function.parsed_arguments", "extra")
	return p
}

func drawCitation(t *rapid.T) *genwayv1.Citation {
	cite := &genwayv1.Citation{
		Title: words.Draw(t, "title"), Url: "https://c.example/" + words.Draw(t, "url"), CitedText: maybe(t, "cited", words),
		StartIndex: new(int32(0)), EndIndex: new(int32(1)),
	}
	if rapid.IntRange(0, 3).Draw(t, "unknown annotation") == 0 {
		cite = &genwayv1.Citation{Native: &genwayv1.NativeField{Protocol: own, Name: "file", Json: []byte(`{"type":"file","file":{"hash":"x"}}`)}}
	}
	return cite
}

func drawLogprobs(t *rapid.T) []*genwayv1.TokenLogprob {
	one := func(int) *genwayv1.TokenLogprob {
		l := &genwayv1.TokenLogprob{Token: words.Draw(t, "token"), Logprob: rapid.SampledFrom([]float64{0, -0.25, -1e-9, -9999}).Draw(t, "logprob")}
		if rapid.Bool().Draw(t, "bytes") {
			l.Utf8 = []byte(l.Token)
		}
		return l
	}
	return listOf(t, "logprobs", 0, 2, func(i int) *genwayv1.TokenLogprob {
		l := one(i)
		l.Top = listOf(t, "top", 0, 2, one)
		return l
	})
}

func drawSplit(t *rapid.T) codec.Splitter {
	size := rapid.IntRange(1, 9).Draw(t, "piece")
	return func(text string) []string {
		var out []string
		for len(text) > size {
			n := size
			for n < len(text) && !utf8.RuneStart(text[n]) {
				n++
			}
			out, text = append(out, text[:n]), text[n:]
		}
		return append(out, text)
	}
}

func drawTime(t *rapid.T) *timestamppb.Timestamp {
	return &timestamppb.Timestamp{Seconds: rapid.Int64Range(1, 1<<33).Draw(t, "created")}
}

// lifetime is a time to live of so many seconds; nil for 0.
func lifetime(seconds int64) *durationpb.Duration {
	if seconds == 0 {
		return nil
	}
	return &durationpb.Duration{Seconds: seconds}
}
