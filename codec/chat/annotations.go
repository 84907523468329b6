package chat

import (
	"sort"
	"unicode/utf8"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

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

// distribute returns each citation to the text it is of. Their ranges count from
// the beginning of the message; canonical ones from that of their text.
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
// one is of the whole text. ok is false for what is not of the web.
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
