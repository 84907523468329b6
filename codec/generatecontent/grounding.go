package generatecontent

import (
	"unicode/utf8"

	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
)

// The members of a candidate that say what supports it. They stay native fields,
// and callers of other protocols see them as citations of the text; where a
// native field is there, it and not the citations is written back.
const (
	groundingMember = "groundingMetadata"
	citationMember  = "citationMetadata"
)

// groundingMetadata is the part of SDK type GroundingMetadata that has a place in
// citations: offsets count bytes of one part's text.
//
//wire:read,write
type groundingMetadata struct {
	GroundingChunks   []groundingChunk   `json:"groundingChunks"`
	GroundingSupports []groundingSupport `json:"groundingSupports"`
}

type groundingChunk struct {
	Web              *groundingSource `json:"web"`
	RetrievedContext *groundingSource `json:"retrievedContext"`
	Maps             *groundingSource `json:"maps"`
}

type groundingSource struct {
	URI   string `json:"uri"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

type groundingSupport struct {
	Segment               groundingSegment `json:"segment"`
	GroundingChunkIndices []int            `json:"groundingChunkIndices"`
}

type groundingSegment struct {
	PartIndex  int    `json:"partIndex"`
	StartIndex int    `json:"startIndex"`
	EndIndex   int    `json:"endIndex"`
	Text       string `json:"text"`
}

// citationMetadata is SDK type CitationMetadata; citationSources is how the list
// was called before.
//
//wire:read
type citationMetadata struct {
	Citations       []citationSource `json:"citations"`
	CitationSources []citationSource `json:"citationSources"`
}

type citationSource struct {
	StartIndex int    `json:"startIndex"`
	EndIndex   int    `json:"endIndex"`
	URI        string `json:"uri"`
	Title      string `json:"title"`
}

// citations are what the natives of a candidate say supports a text. Metadata
// that cannot be read says nothing here; it is still a native field.
func citations(fields []*genwayv1.NativeField, text string) []*genwayv1.Citation {
	var out []*genwayv1.Citation
	var g groundingMetadata
	if raw := member.Native(protocol, fields, groundingMember); raw != nil && json.Unmarshal(raw, &g, member.Options()) == nil {
		for _, s := range g.GroundingSupports {
			for _, i := range s.GroundingChunkIndices {
				if i < 0 || i >= len(g.GroundingChunks) {
					continue
				}
				out = append(out, g.GroundingChunks[i].citation(text, s.Segment))
			}
		}
	}
	var c citationMetadata
	if raw := member.Native(protocol, fields, citationMember); raw != nil && json.Unmarshal(raw, &c, member.Options()) == nil {
		for _, s := range append(c.Citations, c.CitationSources...) {
			cited := &genwayv1.Citation{Title: s.Title, Url: s.URI}
			cited.StartIndex, cited.EndIndex = characters(text, s.StartIndex, s.EndIndex)
			out = append(out, cited)
		}
	}
	return out
}

func (c *groundingChunk) citation(text string, s groundingSegment) *genwayv1.Citation {
	out := &genwayv1.Citation{}
	for _, source := range []*groundingSource{c.Web, c.RetrievedContext, c.Maps} {
		if source != nil {
			out.Title, out.Url, out.CitedText = source.Title, source.URI, source.Text
			break
		}
	}
	out.StartIndex, out.EndIndex = characters(text, s.StartIndex, s.EndIndex)
	return out
}

// characters turns a range of bytes into one of characters; nothing for a range
// the text does not have.
func characters(text string, start, end int) (*int32, *int32) {
	if start < 0 || end < start || end > len(text) || end == 0 {
		return nil, nil
	}
	from := int32(utf8.RuneCountInString(text[:start]))
	to := from + int32(utf8.RuneCountInString(text[start:end]))
	return &from, &to
}

// bytesOf turns a range of characters into one of bytes.
func bytesOf(text string, start, end int32) (from, to int) {
	from, to = len(text), len(text)
	n := int32(0)
	for i := range text {
		if n == start {
			from = i
		}
		if n == end {
			to = i
		}
		n++
	}
	return min(from, to), to
}

// groundingBuilder gathers citations of other protocols into grounding metadata.
type groundingBuilder struct{ groundingMetadata }

func (b *groundingBuilder) add(text string, partIndex int, cited []*genwayv1.Citation) {
	for _, c := range cited {
		source := &groundingSource{URI: c.Url, Title: c.Title, Text: c.CitedText}
		chunk := groundingChunk{RetrievedContext: source}
		if c.Url != "" {
			chunk = groundingChunk{Web: &groundingSource{URI: c.Url, Title: c.Title}}
		}
		if c.Title == "" {
			source.Title = c.Filename
		}
		support := groundingSupport{GroundingChunkIndices: []int{len(b.GroundingChunks)}}
		support.Segment.PartIndex = partIndex
		if c.StartIndex != nil && c.EndIndex != nil {
			from, to := bytesOf(text, c.GetStartIndex(), c.GetEndIndex())
			support.Segment.StartIndex, support.Segment.EndIndex, support.Segment.Text = from, to, text[from:to]
		}
		b.GroundingChunks = append(b.GroundingChunks, chunk)
		b.GroundingSupports = append(b.GroundingSupports, support)
	}
}

// field returns the metadata as a native field; nil when there is none, or when
// fields has the vendor's own.
func (b *groundingBuilder) field(fields []*genwayv1.NativeField) *genwayv1.NativeField {
	if len(b.GroundingSupports) == 0 || hasSupport(fields) {
		return nil
	}
	raw, err := spelled(&b.groundingMetadata)
	if err != nil {
		return nil
	}
	return native(groundingMember, raw)
}

func hasSupport(fields []*genwayv1.NativeField) bool {
	return member.Native(protocol, fields, groundingMember) != nil || member.Native(protocol, fields, citationMember) != nil
}
