package responses

import (
	"bytes"
	"unicode/utf8"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	typeURLCitation  = "url_citation"
	typeFileCitation = "file_citation"
)

// decodeAnnotation reads an annotation of a text. What the canonical citation
// does not cover is kept whole beside it.
func decodeAnnotation(raw jsontext.Value, path string) (*genwayv1.Citation, error) {
	var w wireAnnotation
	if err := member.DecodeAt(raw, &w, member.Place{Path: path}); err != nil {
		return nil, err
	}
	c := &genwayv1.Citation{
		Title: w.Title, Url: w.URL, StartIndex: w.StartIndex, EndIndex: w.EndIndex,
		FileId: w.FileID, Filename: w.Filename, DocumentIndex: w.Index,
	}
	var covered bool
	switch w.Type {
	case typeURLCitation:
		covered = w.URL != "" && w.StartIndex != nil && w.EndIndex != nil && w.FileID == "" && w.Filename == "" && w.Index == nil
	case typeFileCitation:
		covered = w.FileID != "" && w.Index != nil && w.URL == "" && w.StartIndex == nil && w.EndIndex == nil && w.Title == ""
	}
	if !covered || len(w.Extra) > 0 {
		c.Native = native("annotations", bytes.Clone(raw))
	}
	return c, nil
}

// encodeAnnotation writes a citation of text and reports whether this protocol
// could hold it. A citation without bounds supports the whole text.
func encodeAnnotation(w *member.Writer, c *genwayv1.Citation, text string) bool {
	switch {
	case c.GetNative().GetProtocol() == protocol && c.Native.Json != nil:
		w.Value(c.Native.Json)
	case c.GetUrl() != "":
		start, end := int64(c.GetStartIndex()), int64(c.GetEndIndex())
		if c.EndIndex == nil {
			end = int64(utf8.RuneCountInString(text))
		}
		w.Begin()
		w.Str("type", typeURLCitation)
		w.Int("start_index", start)
		w.Int("end_index", end)
		w.Str("url", c.Url)
		w.Str("title", c.Title)
		w.End()
	case c.GetFileId() != "":
		w.Begin()
		w.Str("type", typeFileCitation)
		w.Str("file_id", c.FileId)
		w.Str("filename", c.Filename)
		w.Int("index", int64(c.GetDocumentIndex()))
		w.End()
	default:
		return false
	}
	return true
}

// encodeAnnotations writes the annotations member of a text; it is never absent
// (SDK: ResponseOutputText).
func encodeAnnotations(w *member.Writer, t *genwayv1.Text, path string, losses *codec.Losses) {
	w.List("annotations")
	for _, c := range t.GetCitations() {
		if !encodeAnnotation(w, c, t.Text) {
			losses.Add(path+".text.citations", "the target protocol cites URLs and files only")
		}
	}
	w.EndList()
}
