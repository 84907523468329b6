package messages

import (
	"bytes"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

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
