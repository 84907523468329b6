package generatecontent

import "github.com/genway/genway/codec/member"

func (c *content) write(to *member.Writer) {
	to.Begin()
	to.StrOpt("role", c.Role)
	to.List("parts")
	for i := range c.Parts {
		c.Parts[i].write(to)
	}
	to.EndList()
	to.Members(c.Extra)
	to.End()
}

// write writes an opaque part as it is.
func (w *part) write(to *member.Writer) {
	if w.raw != nil {
		to.CompactValue(w.raw)
		return
	}
	to.Begin()
	if w.Text != nil {
		to.Str("text", *w.Text)
	}
	if w.Thought {
		to.Bool("thought", true)
	}
	if b := w.InlineData; b != nil {
		to.Object("inlineData")
		to.StrOpt("mimeType", b.MIMEType)
		to.Base64("data", b.Data)
		to.StrOpt("displayName", b.DisplayName)
		to.Members(b.Extra)
		to.End()
	}
	if f := w.FileData; f != nil {
		to.Object("fileData")
		to.StrOpt("mimeType", f.MIMEType)
		to.Str("fileUri", f.FileURI)
		to.StrOpt("displayName", f.DisplayName)
		to.Members(f.Extra)
		to.End()
	}
	if c := w.FunctionCall; c != nil {
		to.Object("functionCall")
		to.StrOpt("id", c.ID)
		to.StrOpt("name", c.Name)
		to.CompactOpt("args", c.Args)
		to.Members(c.Extra)
		to.End()
	}
	if r := w.FunctionResponse; r != nil {
		to.Object("functionResponse")
		to.StrOpt("id", r.ID)
		to.StrOpt("name", r.Name)
		to.CompactOpt("response", r.Response)
		writeList(to, "parts", r.Parts, (*part).write)
		to.Members(r.Extra)
		to.End()
	}
	to.CompactOpt("audioTranscription", w.AudioTranscription)
	to.StrOpt("thoughtSignature", w.ThoughtSignature)
	to.Members(w.Extra)
	to.End()
}
