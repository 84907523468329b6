package interactions

import (
	"math"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/google"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// uploaded begins the names of files that the vendor keeps.
const uploaded = "files/"

// decodeContent reads a content of one type. Types without a canonical part are opaque, but for results of functions, which
// some clients send in the user's turn. before is the text that annotations of a stream are about.
func decodeContent(kind string, raw jsontext.Value, place member.Place, before string) (*genwayv1.Part, error) {
	switch kind {
	case "":
		return nil, fault.Missing(place.Join("type"))
	case functionResult:
		return decodeResult(raw, place)
	case "text", "image", "audio", "video", "document":
	default:
		return opaque(kind, raw), nil
	}
	var c content
	if err := member.DecodeAt(raw, &c, place); err != nil {
		return nil, err
	}
	p := &genwayv1.Part{}
	if kind == "text" {
		if c.Text == nil {
			return nil, fault.Missing(place.Join("text"))
		}
		p = codec.TextPart(*c.Text)
		var err error
		if p.GetText().Citations, err = citations(c.Annotations, before+*c.Text, place); err != nil {
			return nil, err
		}
	} else if err := c.media(kind, p, place); err != nil {
		return nil, err
	}
	fields, err := natives(c.Extra, place)
	p.NativeFields = append(p.NativeFields, fields...)
	return p, err
}

// media reads an image, audio, a video or a document into a part.
func (c *content) media(kind string, p *genwayv1.Part, place member.Place) error {
	m := &genwayv1.Media{MimeType: c.MIMEType}
	switch {
	case c.Data != nil && c.URI != "":
		return fault.Invalid(place.String(), "%s has both data and uri", place)
	case c.Data != nil:
		data, err := member.DecodeBase64(*c.Data)
		if err != nil {
			return fault.Invalid(place.Join("data"), "%s.data is not valid base64", place)
		}
		m.Source = &genwayv1.Media_Data{Data: data}
	case strings.HasPrefix(c.URI, uploaded):
		m.Source = &genwayv1.Media_FileId{FileId: c.URI}
	case c.URI != "":
		m.Source = &genwayv1.Media_Url{Url: c.URI}
	default:
		return fault.Missing(place.Join("data"))
	}
	switch kind {
	case "image":
		m.Detail = c.Resolution
		p.Kind = &genwayv1.Part_Image{Image: m}
	case "audio":
		p.Kind = &genwayv1.Part_Audio{Audio: m}
	case "video":
		m.Detail = c.Resolution
		p.Kind = &genwayv1.Part_Video{Video: m}
	default:
		p.Kind = &genwayv1.Part_File{File: m}
	}
	if c.Resolution != "" && m.Detail == "" {
		p.NativeFields = append(p.NativeFields, native("resolution", member.AppendQuote(nil, c.Resolution)))
	}
	return nil
}

// citations reads annotations of a text, which stay whole beside the canonical fields. Offsets count bytes.
func citations(list []jsontext.Value, of string, place member.Place) ([]*genwayv1.Citation, error) {
	var out []*genwayv1.Citation
	for i, raw := range list {
		var a annotation
		at := member.Index(place.Join("annotations"), i)
		if raw.Kind() != '{' {
			return nil, fault.Invalid(at, "%s: expected an object", at)
		}
		member.Fit(raw, &a)
		c := &genwayv1.Citation{Title: a.Title, Url: a.URL, Filename: a.FileName, Native: native("annotations", raw)}
		if c.Title == "" {
			c.Title = a.Name // of a place
		}
		if c.Url == "" {
			c.Url = a.DocumentURI
		}
		if a.EndIndex <= math.MaxInt32 && a.StartIndex <= math.MaxInt32 {
			c.StartIndex, c.EndIndex = google.Characters(of, int(a.StartIndex), int(a.EndIndex))
		}
		out = append(out, c)
	}
	return out, nil
}

// carriesCitation reports whether an annotation can say what a citation says.
func carriesCitation(c *genwayv1.Citation) bool {
	return c.GetNative().GetProtocol() == protocol || c.GetUrl() != "" || c.GetFilename() != ""
}

const uncitable = "the target protocol has citations of addresses and files alone"

// annotation writes a citation of a text as an element.
func (w *writer) annotation(c *genwayv1.Citation, of, path string) {
	if c.GetNative().GetProtocol() == protocol {
		w.value(c.GetNative().GetJson(), path)
		return
	}
	w.Begin()
	if c.GetUrl() != "" {
		w.Str("type", "url_citation")
		w.Str("url", c.GetUrl())
		w.StrOpt("title", c.GetTitle())
	} else {
		w.Str("type", "file_citation")
		w.Str("file_name", c.GetFilename())
	}
	if c.StartIndex != nil && c.EndIndex != nil {
		from, to := google.Bytes(of, c.GetStartIndex(), c.GetEndIndex())
		w.Int("start_index", int64(from))
		w.Int("end_index", int64(to))
	}
	w.End()
}

// annotations writes the citations of a text that the protocol carries, and names the others.
func (w *writer) annotations(list []*genwayv1.Citation, of, path string) {
	open := false
	for i, c := range list {
		at := member.Index(path, i)
		if !carriesCitation(c) {
			w.losses.Add(at, uncitable)
			continue
		}
		if !open {
			w.List("annotations")
			open = true
		}
		w.annotation(c, of, at)
	}
	if open {
		w.EndList()
	}
}

// kindOf returns the type of content that a part of media is, and the name of its field.
func kindOf(p *genwayv1.Part) (kind, field string) {
	switch {
	case p.GetImage() != nil:
		return "image", "image"
	case p.GetAudio() != nil:
		return "audio", "audio"
	case p.GetVideo() != nil:
		return "video", "video"
	}
	m := p.GetFile()
	for _, kind := range []string{"image", "audio", "video"} {
		if strings.HasPrefix(strings.ToLower(m.GetMimeType()), kind+"/") {
			return kind, "file"
		}
	}
	return "document", "file"
}

// resolutions are the words of a content for how closely it is looked at (SDK: MediaResolution).
var resolutions = map[string]bool{"low": true, "medium": true, "high": true, "ultra_high": true}

// media writes the members of media into an open object, and names what has no place there.
func (w *writer) media(p *genwayv1.Part, path string) {
	m := codec.MediaOf(p)
	kind, field := kindOf(p)
	path += "." + field
	w.Str("type", kind)
	switch s := m.GetSource().(type) {
	case *genwayv1.Media_Data:
		w.Base64("data", s.Data)
	case *genwayv1.Media_Url:
		w.Str("uri", s.Url)
	case *genwayv1.Media_FileId:
		w.Str("uri", s.FileId)
	}
	w.StrOpt("mime_type", m.GetMimeType())
	if detail := codec.Detail(m); detail != "" {
		if resolutions[detail] && (kind == "image" || kind == "video") {
			w.Str("resolution", detail)
		} else {
			w.losses.Add(path+".detail", noPlace)
		}
	}
	if m.GetFilename() != "" {
		w.losses.Add(path+".filename", "contents have no name in the target protocol")
	}
	if m.GetTranscript() != "" {
		w.losses.Add(path+".transcript", noPlace)
	}
}

// sourced reports whether media have a source that the protocol can name. Others are refused, or named as lost in an answer.
func (w *writer) sourced(p *genwayv1.Part, path string) bool {
	m := codec.MediaOf(p)
	_, field := kindOf(p)
	switch s := m.GetSource().(type) {
	case *genwayv1.Media_FileId:
		if !strings.HasPrefix(s.FileId, uploaded) {
			return w.refuse(path+"."+field+".file_id", "a file kept by another vendor cannot be sent")
		}
	case nil:
		return w.refuse(path+"."+field, "the media has neither data nor a reference")
	}
	return true
}

const noPlace = "the target protocol has no place for it"
