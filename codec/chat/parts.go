package chat

import (
	"encoding/base64"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/durationpb"
)

// decoder reads a body; parts of unknown kinds are taken from it verbatim.
type decoder struct{ body []byte }

func textPart(s string) *genwayv1.Part {
	return codec.TextPart(s)
}

func refusalPart(s string) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{Text: s}}}
}

func opaquePart(kind string, raw jsontext.Value) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{Protocol: protocol, Type: kind, Json: raw}}}
}

// content reads a string or an array of parts.
func (d decoder) content(c content, message member.Place) ([]*genwayv1.Part, error) {
	switch {
	case c.is == isText:
		return []*genwayv1.Part{textPart(c.s)}, nil
	case len(c.parts) == 0:
		return nil, nil
	}
	return d.parts(c.parts, message.Join("content"))
}

func (d decoder) parts(list []part, path string) ([]*genwayv1.Part, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make([]*genwayv1.Part, len(list))
	for i := range list {
		p, err := d.part(&list[i], member.Index(path, i))
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	return out, nil
}

// part reads one content part. A part of an unknown type is kept whole.
func (d decoder) part(p *part, path string) (*genwayv1.Part, error) {
	out := &genwayv1.Part{}
	if p.Type == "text" && p.Text != nil {
		out = textPart(*p.Text)
	}
	out.CacheControl = decodeCacheControl(p.CacheControl, p.PromptCacheBreakpoint)
	var inside []*genwayv1.NativeField
	var media *genwayv1.Media
	var err error
	switch p.Type {
	case "":
		return nil, fault.Missing(path + ".type")
	case "text":
		if p.Text == nil {
			return nil, fault.Missing(path + ".text")
		}
	case "refusal":
		if p.Refusal == nil {
			return nil, fault.Missing(path + ".refusal")
		}
		out.Kind = &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{Text: *p.Refusal}}
	case "image_url":
		if media, inside, err = decodeLink(p.ImageURL, path, p.Type); err == nil {
			out.Kind = &genwayv1.Part_Image{Image: media}
		}
	case "video_url":
		if media, inside, err = decodeLink(p.VideoURL, path, p.Type); err == nil {
			out.Kind = &genwayv1.Part_Video{Video: media}
			out.NativeFields = append(out.NativeFields, mark("video_url"))
		}
	case "audio_url":
		if media, inside, err = decodeLink(p.AudioURL, path, p.Type); err == nil {
			out.Kind = &genwayv1.Part_Audio{Audio: media}
			out.NativeFields = append(out.NativeFields, mark("audio_url"))
		}
	case "input_audio":
		if p.InputAudio == nil {
			return nil, fault.Missing(path + ".input_audio")
		}
		if media, err = decodeInputAudio(p.InputAudio, path+".input_audio"); err == nil {
			out.Kind = &genwayv1.Part_Audio{Audio: media}
			if media.GetUrl() != "" {
				out.NativeFields = append(out.NativeFields, mark("audio_url"))
			}
			inside = member.NativesUnder(protocol, "input_audio.", p.InputAudio.Extra)
		}
	case "file":
		if p.File == nil {
			return nil, fault.Missing(path + ".file")
		}
		if media, err = decodeFile(p.File, path+".file"); err == nil {
			out.Kind = &genwayv1.Part_File{File: media}
			inside = member.NativesUnder(protocol, "file.", p.File.Extra)
		}
	case documentURL:
		if media = decodeDocument(p.Extra); media == nil {
			return opaquePart(p.Type, p.verbatim.of(d.body)), nil
		}
		out.Kind = &genwayv1.Part_File{File: media}
		out.NativeFields = append(member.NativesBut(ofDocument, protocol, p.Extra, nil), mark(documentURL))
		return out, nil
	default:
		return opaquePart(p.Type, p.verbatim.of(d.body)), nil
	}
	if err != nil {
		return nil, err
	}
	seal, content := decodeExtraContent(p.ExtraContent)
	out.ThoughtSignature = seal
	out.NativeFields = append(out.NativeFields, inside...)
	out.NativeFields = append(out.NativeFields, content...)
	out.NativeFields = append(out.NativeFields, natives(p.Extra)...)
	return out, nil
}

// documentURL is the type of Mistral's content with the address of a document, and its member with the address, alone
// or in an object (DocumentURLChunk).
const documentURL = "document_url"

const documentName = "document_name"

var ofDocument = map[string]bool{documentURL: true, documentName: true}

// encodeDocument adds a document's address and its name to the members of its part.
func encodeDocument(m *genwayv1.Media, members jsontext.Value) (jsontext.Value, error) {
	if len(members) == 0 {
		members = jsontext.Value("{}")
	}
	address := m.GetUrl()
	if address == "" {
		address = "data:" + m.GetMimeType() + ";base64," + base64.StdEncoding.EncodeToString(m.GetData())
	}
	change := []member.Member{{Name: documentURL, Value: member.AppendQuote(nil, address)}}
	if m.GetFilename() != "" {
		change = append(change, member.Member{Name: documentName, Value: member.AppendQuote(nil, m.GetFilename())})
	}
	return member.Patch(members, change...)
}

// decodeDocument reads the address and the name of a document; nil for another form.
func decodeDocument(members jsontext.Value) *genwayv1.Media {
	var w struct {
		DocumentURL  jsontext.Value `json:"document_url"`
		DocumentName string         `json:"document_name"`
	}
	if json.Unmarshal(members, &w, member.Options()) != nil {
		return nil
	}
	var inner struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(w.DocumentURL, &inner.URL) != nil && json.Unmarshal(w.DocumentURL, &inner) != nil {
		return nil
	}
	m, err := member.MediaFromURL(inner.URL, documentURL)
	if err != nil {
		return nil
	}
	if address, _, _ := strings.Cut(m.GetUrl(), "?"); strings.HasSuffix(strings.ToLower(address), ".pdf") {
		m.MimeType = "application/pdf"
	}
	m.Filename = w.DocumentName
	return m
}

func decodeLink(l *link, path, name string) (*genwayv1.Media, []*genwayv1.NativeField, error) {
	if l == nil {
		return nil, nil, fault.Missing(path + "." + name)
	}
	m, err := member.MediaFromURL(l.URL, path+"."+name+".url")
	if err != nil {
		return nil, nil, err
	}
	m.Detail = l.Detail
	return m, member.NativesUnder(protocol, name+".", l.Extra), nil
}

// part writes a part as an element of a content array. Tool calls, tool results
// and thinking are not content here and must have been taken out.
func (e *encoder) part(p *genwayv1.Part, path string) (part, error) {
	var out part
	switch k := p.Kind.(type) {
	case *genwayv1.Part_Text:
		out.Type, out.Text = "text", &k.Text.Text
	case *genwayv1.Part_Refusal:
		out.Type, out.Refusal = "refusal", &k.Refusal.Text
	case *genwayv1.Part_Image:
		out.Type, out.ImageURL = "image_url", e.link(k.Image, p, "image_url.")
	case *genwayv1.Part_Video:
		// The vendor takes none (ChatCompletionContentPartUnionParam); of some engines it is known that they do.
		if !marked(p.NativeFields, "video_url") && !e.linksTo("video_url") {
			return part{}, fault.Unsupported(path+".video", "%s.video: the upstream this model is routed to takes no video", path)
		}
		out.Type, out.VideoURL = "video_url", e.link(k.Video, p, "video_url.")
	case *genwayv1.Part_Audio:
		_, isData := k.Audio.GetSource().(*genwayv1.Media_Data)
		switch {
		case marked(p.NativeFields, "audio_url"), !isData && e.linksTo("audio_url"):
			out.Type, out.AudioURL = "audio_url", e.link(k.Audio, p, "audio_url.")
		case isData:
			out.Type = "input_audio"
			out.InputAudio = &inputAudio{data: k.Audio.GetData(), Format: audioFormat(k.Audio.MimeType), Extra: inner(p.NativeFields, "input_audio.")}
		default:
			return part{}, fault.Unsupported(path+".audio", "%s.audio: the upstream this model is routed to takes audio by its bytes only", path)
		}
	case *genwayv1.Part_File:
		if marked(p.NativeFields, documentURL) {
			out.Type = documentURL
			break
		}
		out.Type, out.File = "file", encodeFile(k.File)
		out.File.Extra = inner(p.NativeFields, "file.")
	case *genwayv1.Part_Opaque:
		if k.Opaque.Protocol == protocol {
			return part{verbatim: verbatim{raw: k.Opaque.Json}}, nil
		}
		return part{}, fault.Unsupported(path, "%s: content of type %q cannot be carried to the upstream this model is routed to", path, k.Opaque.Type)
	default:
		return part{}, fault.Unsupported(path, "%s: this kind of content has no place in this role", path)
	}
	if l := out.linked(); l != nil && !located(l.media) {
		return part{}, fault.Unsupported(path, "%s: chat completions takes media by its data or URL, not by a file id", path)
	}
	if f := out.File; f != nil && f.FileID == "" && f.FileData == "" && f.media == nil {
		return part{}, fault.Invalid(path, "%s: the file has neither data nor an id", path)
	}
	if err := e.placed(&out, path); err != nil {
		return part{}, err
	}
	var err error
	if out.CacheControl, out.PromptCacheBreakpoint, err = e.breakpoint(p.CacheControl, path); err != nil {
		return part{}, err
	}
	out.ExtraContent = e.extraContent(p, path)
	out.Extra, err = extra(p.NativeFields, path, e.losses, "image_url.", "video_url.", "audio_url.", "input_audio.", "file.", "extra_content")
	if err == nil && out.Type == documentURL {
		out.Extra, err = encodeDocument(p.GetFile(), out.Extra)
	}
	return out, err
}

func (p *part) linked() *link {
	for _, l := range []*link{p.ImageURL, p.VideoURL, p.AudioURL} {
		if l != nil {
			return l
		}
	}
	return nil
}

// linksTo reports whether the upstream is known to take a member of engines.
func (e *encoder) linksTo(name string) bool {
	return e.dialect != nil && e.dialect.Takes("messages.content."+name)
}

func (e *encoder) link(m *genwayv1.Media, p *genwayv1.Part, prefix string) *link {
	return &link{media: m, Detail: m.Detail, Extra: inner(p.NativeFields, prefix)}
}

// located reports whether media have an address or data, which makes one.
func located(m *genwayv1.Media) bool {
	_, isData := m.GetSource().(*genwayv1.Media_Data)
	return isData || m.GetUrl() != ""
}

// plainText reports whether nothing but its text would be written of a part.
func (p *part) plainText() bool {
	return p.Type == "text" && p.Text != nil && p.CacheControl == nil && p.PromptCacheBreakpoint == nil &&
		len(p.ExtraContent) == 0 && len(p.Extra) == 0
}

// contentOf writes a single plain text as a string, anything else as an array.
func contentOf(parts []part) content {
	switch {
	case len(parts) == 0:
		return content{is: isNull}
	case len(parts) == 1 && parts[0].plainText():
		return content{is: isText, s: *parts[0].Text}
	}
	return content{is: isParts, parts: parts}
}

const urlCitationType = "url_citation"

// citations reads the annotations of a message. One that is more than the
// vendor's url_citation is kept whole beside what is understood of it.
func (d decoder) citations(list []annotation) []*genwayv1.Citation {
	var out []*genwayv1.Citation
	for i := range list {
		a := &list[i]
		if a.Type == "" && a.URLCitation == nil {
			continue
		}
		c := &genwayv1.Citation{}
		whole := a.Type != urlCitationType || a.URLCitation == nil || len(a.Extra) > 0
		if u := a.URLCitation; u != nil {
			c.Title, c.Url, c.CitedText = u.Title, u.URL, u.Content
			c.StartIndex, c.EndIndex = u.StartIndex, u.EndIndex
			whole = whole || len(u.Extra) > 0
		}
		if whole {
			c.Native = native(a.Type, a.verbatim.of(d.body))
		}
		out = append(out, c)
	}
	return out
}

// distribute adds each citation to the text that it cites. Ranges of the message count from its beginning; canonical
// ranges count from the beginning of the text.
func distribute(citations []*genwayv1.Citation, texts []*genwayv1.Text) {
	if len(citations) == 0 {
		return
	}
	ends := make([]int32, len(texts)) // where each text ends in the message
	end := int32(0)
	for i, t := range texts {
		end += characters(t.Text)
		ends[i] = end
	}
	for _, c := range citations {
		at := len(texts) - 1
		if c.StartIndex != nil {
			at = min(at, sort.Search(len(ends), func(i int) bool { return *c.StartIndex < ends[i] }))
		}
		if offset := ends[at] - characters(texts[at].Text); c.StartIndex != nil && offset > 0 {
			c.StartIndex = new(*c.StartIndex - offset)
			if c.EndIndex != nil {
				c.EndIndex = new(*c.EndIndex - offset)
			}
		}
		texts[at].Citations = append(texts[at].Citations, c)
	}
}

// annotation writes a citation of a text that begins at offset characters into
// the message and is length long. The SDK demands a range: a citation without
// a range covers the whole text. ok is false unless the source is a page of the web.
func (e *encoder) annotation(c *genwayv1.Citation, offset, length int32, path string) (a annotation, ok bool) {
	if c.Native.GetProtocol() == protocol && len(c.Native.GetJson()) > 0 {
		return annotation{verbatim: verbatim{raw: c.Native.Json}}, true
	}
	if c.Url == "" {
		e.losses.Add(path, "chat completions cites web addresses only")
		return annotation{}, false
	}
	start, end := offset, offset+length
	if c.StartIndex != nil {
		start = offset + *c.StartIndex
	}
	if c.EndIndex != nil {
		end = offset + *c.EndIndex
	}
	return annotation{Type: urlCitationType, URLCitation: &urlCitation{
		StartIndex: &start, EndIndex: &end, Title: c.Title, URL: c.Url, Content: c.CitedText,
	}}, true
}

// characters counts text as citations do.
func characters(text string) int32 { return int32(utf8.RuneCountInString(text)) }

// extraContent is the member in which Google's OpenAI-compatible endpoint keeps
// thought signatures: of a tool call in the call, of a text in the message (R1).
//
//wire:read,write
type extraContent struct {
	Google *googleContent `json:"google"`
	Extra  jsontext.Value `json:",embed"`
}

type googleContent struct {
	ThoughtSignature string         `json:"thought_signature"`
	Extra            jsontext.Value `json:",embed"`
}

// decodeExtraContent takes the signature out of an extra_content member. What
// else is in it stays, as a native field of that name.
func decodeExtraContent(raw jsontext.Value) (*genwayv1.Seal, []*genwayv1.NativeField) {
	if !given(raw) {
		return nil, nil
	}
	var c extraContent
	if err := json.Unmarshal(raw, &c); err != nil || c.Google == nil || c.Google.ThoughtSignature == "" {
		return nil, []*genwayv1.NativeField{native("extra_content", raw)}
	}
	seal := codec.ParseSeal(c.Google.ThoughtSignature, protocol)
	c.Google.ThoughtSignature = ""
	if len(c.Google.Extra) == 0 {
		c.Google = nil
		if len(c.Extra) == 0 {
			return seal, nil
		}
	}
	rest := spelled(&c)
	if rest == nil {
		return seal, nil
	}
	return seal, []*genwayv1.NativeField{native("extra_content", rest)}
}

// encodeExtraContent is the inverse.
func encodeExtraContent(signature string, fields []*genwayv1.NativeField) jsontext.Value {
	var rest jsontext.Value
	for _, f := range fields {
		if f.Protocol == protocol && f.Name == "extra_content" {
			rest = f.Json
		}
	}
	if signature == "" {
		return rest
	}
	var c extraContent
	if len(rest) > 0 {
		if err := json.Unmarshal(rest, &c); err != nil {
			return rest
		}
	}
	if c.Google == nil {
		c.Google = &googleContent{}
	}
	c.Google.ThoughtSignature = signature
	if value := spelled(&c); value != nil {
		return value
	}
	return rest
}

// audioTypes are the formats whose MIME type is not audio/<format>.
var audioTypes = []struct{ format, mediaType string }{
	{"mp3", "audio/mpeg"},
	{"m4a", "audio/mp4"},
	{"pcm16", "audio/pcm"},
	{"wav", "audio/x-wav"},
	{"wav", "audio/wave"},
	{"wav", "audio/vnd.wave"},
	{"mp3", "audio/mp3"},
}

// audioType returns the MIME type of a format word.
func audioType(format string) string {
	for _, t := range audioTypes {
		if t.format == format && format != "wav" {
			return t.mediaType
		}
	}
	if format == "" {
		return ""
	}
	return "audio/" + format
}

// audioFormat returns the format word of a MIME type.
func audioFormat(mediaType string) string {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	for _, t := range audioTypes {
		if t.mediaType == mediaType {
			return t.format
		}
	}
	return strings.TrimPrefix(mediaType, "audio/")
}

func decodeInputAudio(a *inputAudio, path string) (*genwayv1.Media, error) {
	if a.Data == "" {
		return nil, fault.Missing(path + ".data")
	}
	if strings.HasPrefix(a.Data, "data:") || strings.HasPrefix(a.Data, "http") {
		m, err := member.MediaFromURL(a.Data, path+".data")
		if err == nil && a.Format != "" {
			m.MimeType = audioType(a.Format)
		}
		return m, err
	}
	return member.MediaFromBase64(audioType(a.Format), a.Data, path+".data")
}

// decodeFile reads a file. The vendor documents plain base64 and takes data: URLs
// in practice; OpenRouter takes web addresses, too.
func decodeFile(f *file, path string) (*genwayv1.Media, error) {
	m := &genwayv1.Media{}
	var err error
	switch {
	case f.FileID != "":
		m.Source = &genwayv1.Media_FileId{FileId: f.FileID}
	case f.FileData == "":
		return nil, fault.Missing(path + ".file_data")
	case strings.HasPrefix(f.FileData, "data:"), strings.HasPrefix(f.FileData, "http:"), strings.HasPrefix(f.FileData, "https:"):
		m, err = member.MediaFromURL(f.FileData, path+".file_data")
	default:
		m, err = member.MediaFromBase64("", f.FileData, path+".file_data")
	}
	if err != nil {
		return nil, err
	}
	m.Filename = f.Filename
	return m, nil
}

func encodeFile(m *genwayv1.Media) *file {
	f := &file{FileID: m.GetFileId(), Filename: m.Filename}
	switch m.Source.(type) {
	case *genwayv1.Media_Url:
		f.FileData = m.GetUrl()
	case *genwayv1.Media_Data:
		if m.MimeType != "" {
			f.media = m
		} else {
			f.FileData = base64.StdEncoding.EncodeToString(m.GetData())
		}
		if f.Filename == "" {
			// OpenAI demands a name beside the data.
			f.Filename = "file"
			if m.MimeType == "application/pdf" {
				f.Filename = "file.pdf"
			}
		}
	}
	return f
}

const (
	cacheControlName    = "cache_control"
	cacheBreakpointName = "prompt_cache_breakpoint"

	cacheType = "ephemeral" // of cache_control
	cacheMode = "explicit"  // of prompt_cache_breakpoint
)

// decodeCacheControl reads either member; the mark says which it was. A word other than the
// one that its vendor has stays a native field.
func decodeCacheControl(control, breakpoint *cacheControl) *genwayv1.CacheControl {
	c, name := control, cacheControlName
	if c == nil {
		c, name = breakpoint, cacheBreakpointName
	}
	if c == nil {
		return nil
	}
	out := &genwayv1.CacheControl{NativeFields: []*genwayv1.NativeField{mark(name)}}
	if d, err := time.ParseDuration(c.TTL); err == nil && d >= time.Second && d < 1<<31*time.Second {
		out.Ttl = durationpb.New(d.Truncate(time.Second))
	} else if c.TTL != "" {
		out.NativeFields = append(out.NativeFields, native("ttl", []byte(strconv.Quote(c.TTL))))
	}
	for _, m := range [...]struct{ of, name, said, known string }{
		{cacheControlName, "type", c.Type, cacheType},
		{cacheBreakpointName, "mode", c.Mode, cacheMode},
	} {
		if m.of == name && m.said != "" && m.said != m.known {
			out.NativeFields = append(out.NativeFields, native(m.name, member.AppendQuote(nil, m.said)))
		}
	}
	out.NativeFields = append(out.NativeFields, natives(c.Extra)...)
	return out
}

// cacheControl writes a breakpoint where it came from a caller of this protocol.
// Upstreams of the protocol differ in what they take, so that a breakpoint from
// elsewhere is left out and noted.
func (e *encoder) cacheControl(c *genwayv1.CacheControl, path string) (control, breakpoint *cacheControl, err error) {
	if c == nil {
		return nil, nil, nil
	}
	isControl, isBreakpoint := marked(c.NativeFields, cacheControlName), marked(c.NativeFields, cacheBreakpointName)
	if !isControl && !isBreakpoint {
		e.losses.Add(path+".cache_control", "chat completions has no common form for cache breakpoints")
		return nil, nil, nil
	}
	out := &cacheControl{TTL: ttl(int32(member.TTL(c) / time.Second))}
	if out.Extra, err = extra(c.NativeFields, path+".cache_control", e.losses); err != nil {
		return nil, nil, err
	}
	if isControl {
		if member.Native(protocol, c.NativeFields, "type") == nil {
			out.Type = cacheType
		}
		return out, nil, nil
	}
	if member.Native(protocol, c.NativeFields, "mode") == nil {
		out.Mode = cacheMode
	}
	return nil, out, nil
}

// ttl spells a lifetime as the vendors do: 5m, 1h.
func ttl(s int32) string {
	n := int(s)
	switch {
	case n == 0:
		return ""
	case n%3600 == 0:
		return strconv.Itoa(n/3600) + "h"
	case n%60 == 0:
		return strconv.Itoa(n/60) + "m"
	}
	return strconv.Itoa(n) + "s"
}
