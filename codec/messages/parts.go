package messages

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// The types a document may have (Base64PDFSource, PlainTextSource).
const (
	pdf   = "application/pdf"
	plain = "text/plain"
)

// decodeMedia reads an image or a document. A source of a type without a
// canonical form (content blocks, what this version does not know) makes the whole
// block opaque.
func decodeMedia(raw jsontext.Value, place member.Place) (*genwayv1.Part, error) {
	var b mediaBlock
	if err := member.DecodeAt(raw, &b, place); err != nil {
		return nil, err
	}
	if b.Source == nil {
		return nil, fault.Missing(place.Join("source"))
	}
	m := &genwayv1.Media{MimeType: b.Source.MediaType}
	at := place.Join("source")
	switch b.Source.Type {
	case "base64":
		data, err := member.DecodeBase64(b.Source.Data)
		if err != nil {
			return nil, fault.Invalid(at+".data", "%s.data is not valid base64", at)
		}
		m.Source = &genwayv1.Media_Data{Data: data}
	case "text":
		m.Source = &genwayv1.Media_Data{Data: []byte(b.Source.Data)}
	case "url":
		if b.Source.URL == "" {
			return nil, fault.Missing(at + ".url")
		}
		m.Source = &genwayv1.Media_Url{Url: b.Source.URL}
		if b.Type == "document" && m.MimeType == "" {
			m.MimeType = pdf // URLPDFSource
		}
	case "file":
		if b.Source.FileID == "" {
			return nil, fault.Missing(at + ".file_id")
		}
		m.Source = &genwayv1.Media_FileId{FileId: b.Source.FileID}
	case "":
		return nil, fault.Missing(at + ".type")
	default:
		return opaque(b.Type, raw), nil
	}
	p := &genwayv1.Part{CacheControl: b.CacheControl.canonical(), NativeFields: natives(b.Extra)}
	if b.Type == "document" {
		m.Filename = b.Title
		p.Kind = &genwayv1.Part_File{File: m}
	} else {
		p.Kind = &genwayv1.Part_Image{Image: m}
		if b.Title != "" {
			p.NativeFields = append(p.NativeFields, word("title", b.Title))
		}
	}
	p.NativeFields = append(p.NativeFields, nested("source", b.Source.Extra)...)
	return p, nil
}

// media writes an image or a document block into the open object.
func (w *writer) media(p *genwayv1.Part, path string, losses *codec.Losses) {
	m, image := p.GetImage(), true
	if m == nil {
		m = p.GetFile()
		image = strings.HasPrefix(m.GetMimeType(), "image/")
	}
	if image {
		w.Str("type", "image")
		path += ".image"
	} else {
		w.Str("type", "document")
		path += ".file"
	}
	w.Object("source")
	w.source(m, image, path, losses)
	w.merge(p.NativeFields, "source", path)
	w.End()
	switch {
	case !image:
		w.StrOpt("title", m.GetFilename())
	case m.GetFilename() != "":
		losses.Add(path+".filename", "images have no name in the messages protocol")
	}
	if codec.Detail(m) != "" {
		losses.Add(path+".detail", "the messages protocol has no image detail")
	}
}

func (w *writer) source(m *genwayv1.Media, image bool, path string, losses *codec.Losses) {
	switch s := m.GetSource().(type) {
	case *genwayv1.Media_Url:
		w.Str("type", "url")
		w.Str("url", s.Url)
	case *genwayv1.Media_FileId:
		w.Str("type", "file")
		w.Str("file_id", s.FileId)
	case *genwayv1.Media_Data:
		mediaType := m.MimeType
		switch {
		case image:
			if mediaType == "" {
				mediaType = sniffImage(s.Data)
			}
			if mediaType == "" {
				w.Fail(fault.Invalid(path+".mime_type", "%s.mime_type is missing, and the data is of no image type the messages protocol takes", path))
			}
		case mediaType == "" && bytes.HasPrefix(s.Data, []byte("%PDF-")):
			mediaType = pdf
		case mediaType != pdf && utf8.Valid(s.Data):
			if mediaType != "" && mediaType != plain {
				losses.Add(path+".mime_type", "text documents are text/plain in the messages protocol")
			}
			w.Str("type", "text")
			w.Str("media_type", plain)
			w.Str("data", string(s.Data))
			return
		case mediaType != pdf:
			w.Fail(fault.Unsupported(path, "%s: the messages protocol takes PDF and plain text documents only", path))
		}
		w.Str("type", "base64")
		w.Str("media_type", mediaType)
		w.Base64("data", s.Data)
	default:
		w.Fail(fault.Missing(path))
	}
}

// sniffImage tells the image types of Base64ImageSourceMediaType by their first
// bytes, for senders that did not say.
func sniffImage(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF8")):
		return "image/gif"
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// decodeCitation reads one TextCitationUnion, which stays whole beside the
// canonical fields.
func decodeCitation(raw jsontext.Value, path string) (*genwayv1.Citation, error) {
	var c citation
	if err := member.DecodeAt(raw, &c, member.Place{Path: path}); err != nil {
		return nil, err
	}
	out := &genwayv1.Citation{
		Title: c.Title, Url: c.URL, CitedText: c.CitedText, FileId: c.FileID,
		DocumentIndex: c.DocumentIndex,
		Native:        &genwayv1.NativeField{Protocol: protocol, Name: "citations", Json: bytes.Clone(raw)},
	}
	if out.Title == "" {
		out.Title = c.DocumentTitle
	}
	if out.Url == "" {
		out.Url = c.Source
	}
	return out, nil
}

// citations writes the citations of a text. One made by another vendor is written as
// a web search result when it has an address, and is lost otherwise: this
// protocol has no other citation that needs no document of its own request.
func (w *writer) citations(list []*genwayv1.Citation, path string, losses *codec.Losses) {
	w.List("citations")
	for i, c := range list {
		w.citation(c, member.Within(path, ".citations", i), losses)
	}
	w.EndList()
}

func (w *writer) citation(c *genwayv1.Citation, path string, losses *codec.Losses) {
	if c.GetNative().GetProtocol() == protocol {
		w.value(c.Native.Json, path)
		return
	}
	if !carriesCitation(c) {
		losses.Add(path, unciteable)
		return
	}
	w.Begin()
	w.Str("type", "web_search_result_location")
	w.Str("cited_text", c.CitedText)
	w.Str("encrypted_index", "")
	w.Str("title", c.Title)
	w.Str("url", c.Url)
	w.End()
}

// carriesCitation reports whether an answer can show the citation.
func carriesCitation(c *genwayv1.Citation) bool {
	return c.GetNative().GetProtocol() == protocol || c.GetUrl() != ""
}

// verifiable returns the citations of a request that the vendor takes back: its own,
// but not those citation made up, whose encrypted index is empty.
func verifiable(list []*genwayv1.Citation, path string, losses *codec.Losses) []*genwayv1.Citation {
	var kept []*genwayv1.Citation
	for i, c := range list {
		own := c.GetNative().GetProtocol() == protocol
		if own && memberText(c.Native.Json, "type") == "web_search_result_location" && memberText(c.Native.Json, "encrypted_index") == "" {
			own = false
		}
		if !own {
			losses.Add(member.Within(path, ".citations", i), "the citation was made by another vendor")
			continue
		}
		kept = append(kept, c)
	}
	return kept
}

// word keeps a string this version does not know.
func word(name, value string) *genwayv1.NativeField {
	return &genwayv1.NativeField{Protocol: protocol, Name: name, Json: member.AppendQuote(nil, value)}
}
