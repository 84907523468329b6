package chat

import "github.com/genway/genway/codec/member"

func (m *message) write(w *member.Writer) {
	w.Begin()
	w.StrOpt("role", m.Role)
	w.StrOpt("name", m.Name)
	m.Content.write(w)
	m.ReasoningContent.writeOpt(w, "reasoning_content")
	m.Reasoning.writeOpt(w, reasoningName)
	writeListOpt(w, "reasoning_details", m.ReasoningDetails, (*detail).write)
	m.Refusal.writeOpt(w, "refusal")
	writeListOpt(w, "annotations", m.Annotations, (*annotation).write)
	writeListOpt(w, "images", m.Images, (*part).write)
	if a := m.Audio; a != nil {
		w.Object("audio")
		w.StrOpt("id", a.ID)
		if len(a.data) > 0 {
			w.Base64("data", a.data)
		}
		w.CompactOpt("expires_at", a.ExpiresAt)
		w.StrOpt("transcript", a.Transcript)
		w.Members(a.Extra)
		w.End()
	}
	writeListOpt(w, toolCallsName, m.ToolCalls, (*toolCall).write)
	m.FunctionCall.write(w, functionCallName)
	w.StrOpt("tool_call_id", m.ToolCallID)
	w.CompactOpt("extra_content", m.ExtraContent)
	w.Members(m.Extra)
	w.End()
}

// write writes the content unless it is absent.
func (c *content) write(w *member.Writer) {
	switch c.is {
	case absent:
	case isText:
		w.Str("content", c.s)
	case isParts:
		writeList(w, "content", c.parts, (*part).write)
	case isNull, isOther:
		w.Null("content")
	}
}

// write writes null for what is absent.
func (t *text) write(w *member.Writer, name string) {
	switch t.is {
	case isText:
		w.Str(name, t.s)
	case isOther:
		w.Compact(name, t.raw)
	case absent, isNull, isParts:
		w.Null(name)
	}
}

// writeOpt leaves out what is absent.
func (t *text) writeOpt(w *member.Writer, name string) {
	if t.is != absent {
		t.write(w, name)
	}
}

func (p *part) write(w *member.Writer) {
	if p.verbatim.raw != nil {
		w.CompactValue(p.verbatim.raw)
		return
	}
	w.Begin()
	w.Str("type", p.Type)
	writeStrOpt(w, "text", p.Text)
	writeStrOpt(w, "refusal", p.Refusal)
	p.ImageURL.write(w, "image_url")
	p.VideoURL.write(w, "video_url")
	p.AudioURL.write(w, "audio_url")
	if a := p.InputAudio; a != nil {
		w.Object("input_audio")
		w.Base64("data", a.data)
		w.StrOpt("format", a.Format)
		w.Members(a.Extra)
		w.End()
	}
	if f := p.File; f != nil {
		w.Object("file")
		if f.media != nil {
			w.DataURL("file_data", f.media)
		} else {
			w.StrOpt("file_data", f.FileData)
		}
		w.StrOpt("file_id", f.FileID)
		w.StrOpt("filename", f.Filename)
		w.Members(f.Extra)
		w.End()
	}
	p.CacheControl.write(w, cacheControlName)
	p.PromptCacheBreakpoint.write(w, cacheBreakpointName)
	w.CompactOpt("extra_content", p.ExtraContent)
	w.Members(p.Extra)
	w.End()
}

func writeStrOpt(w *member.Writer, name string, s *string) {
	if s != nil {
		w.Str(name, *s)
	}
}

func (l *link) write(w *member.Writer, name string) {
	if l == nil {
		return
	}
	w.Object(name)
	w.DataURL("url", l.media)
	w.StrOpt("detail", l.Detail)
	w.Members(l.Extra)
	w.End()
}

func (c *cacheControl) write(w *member.Writer, name string) {
	if c == nil {
		return
	}
	w.Object(name)
	w.StrOpt("type", c.Type)
	w.StrOpt("mode", c.Mode)
	w.StrOpt("ttl", c.TTL)
	w.Members(c.Extra)
	w.End()
}

func (c *toolCall) write(w *member.Writer) {
	if c.verbatim.raw != nil {
		w.CompactValue(c.verbatim.raw)
		return
	}
	w.Begin()
	member.IntOpt(w, "index", c.Index)
	w.StrOpt("id", c.ID)
	w.StrOpt("type", c.Type)
	c.Function.write(w, "function")
	if c := c.Custom; c != nil {
		w.Object("custom")
		w.StrOpt("name", c.Name)
		c.Input.writeOpt(w, "input")
		w.Members(c.Extra)
		w.End()
	}
	w.CompactOpt("extra_content", c.ExtraContent)
	w.Members(c.Extra)
	w.End()
}

func (f *functionCall) write(w *member.Writer, name string) {
	if f == nil {
		return
	}
	w.Object(name)
	w.StrOpt("name", f.Name)
	f.Arguments.writeOpt(w, "arguments")
	w.Members(f.Extra)
	w.End()
}

func (r *detail) write(w *member.Writer) {
	if r.verbatim.raw != nil {
		w.CompactValue(r.verbatim.raw)
		return
	}
	w.Begin()
	w.Str("type", r.Type)
	w.StrOpt("id", r.ID)
	member.IntOpt(w, "index", r.Index)
	writeStrOpt(w, "summary", r.Summary)
	if r.SummaryIndex != 0 {
		w.Int("summary_index", int64(r.SummaryIndex))
	}
	writeStrOpt(w, "text", r.Text)
	writeStrOpt(w, "data", r.Data)
	w.StrOpt("signature", r.Signature)
	w.StrOpt("thought_signature", r.ThoughtSignature)
	w.Members(r.Extra)
	w.End()
}

func (a *annotation) write(w *member.Writer) {
	if a.verbatim.raw != nil {
		w.CompactValue(a.verbatim.raw)
		return
	}
	w.Begin()
	w.Str("type", a.Type)
	if u := a.URLCitation; u != nil {
		w.Object(urlCitationType)
		member.IntOpt(w, "end_index", u.EndIndex)
		member.IntOpt(w, "start_index", u.StartIndex)
		w.Str("title", u.Title)
		w.Str("url", u.URL)
		w.StrOpt("content", u.Content)
		w.Members(u.Extra)
		w.End()
	}
	w.Members(a.Extra)
	w.End()
}

func (c *extraContent) write(w *member.Writer) {
	w.Begin()
	if g := c.Google; g != nil {
		w.Object("google")
		w.StrOpt("thought_signature", g.ThoughtSignature)
		w.Members(g.Extra)
		w.End()
	}
	w.Members(c.Extra)
	w.End()
}
