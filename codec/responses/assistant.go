package responses

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// isContent reports whether a part is content of an assistant's message item.
func isContent(p *genwayv1.Part) bool {
	return p.GetText() != nil || p.GetRefusal() != nil || p.GetOpaque() != nil && p.Id != ""
}

// joins reports whether next is in the same message item as the part before it.
func joins(prev, next *genwayv1.Part) bool {
	if !isContent(prev) || !isContent(next) || prev.Id != next.Id || prev.ThoughtSignature != nil {
		return false
	}
	_, own := split(next.NativeFields, ofMessage)
	return own == nil
}

// assistant writes the assistant's turn as items again. Thinking goes back only
// to an upstream that can read it: sealed by one of this protocol, or kept by it under
// the item's id (case R7).
func (e *inputEncoder) assistant(index int, parts []*genwayv1.Part) error {
	base := member.Index("messages", index) + ".parts"
	for i := 0; i < len(parts); {
		part, path := parts[i], member.Index(base, i)
		if part.ThoughtSignature != nil {
			e.losses.Add(path+".thought_signature", "made by another upstream")
			if t := part.GetText(); t != nil && t.Text == "" {
				i++
				continue
			}
		}
		switch {
		case skipped(part):
		case isContent(part):
			next := i + 1
			for next < len(parts) && joins(parts[next-1], parts[next]) {
				next++
			}
			if e.plain(parts[i:next]) {
				next = i + 1
			}
			if err := e.messageItem(base, parts, i, next); err != nil {
				return err
			}
			i = next
			continue
		case part.GetThinking() != nil:
			if err := e.thinking(part, path); err != nil {
				return err
			}
		default:
			if err := e.ownItem(index, i, part); err != nil {
				return err
			}
		}
		i++
	}
	return nil
}

// plain reports whether all parts are texts that a message of its own can say as a
// string. The vendor's type of a message with a list has an id, which other
// protocols do not have (ResponseOutputMessageParam).
func (e *inputEncoder) plain(parts []*genwayv1.Part) bool {
	for _, p := range parts {
		if _, ok := bareText(p); !ok || p.Id != "" && !IsSyntheticID(p.Id) {
			return false
		}
	}
	return true
}

// bareText returns the text of a part that has nothing else that this protocol could
// hold.
func bareText(p *genwayv1.Part) (string, bool) {
	bare := &genwayv1.Part{Kind: p.Kind}
	for _, f := range p.NativeFields {
		if f.Protocol == protocol && !strings.HasPrefix(f.Name, ofMessage) {
			bare.NativeFields = append(bare.NativeFields, f)
		}
	}
	if c := p.CacheControl; c != nil && extras(c.NativeFields, "", nil) != nil {
		bare.CacheControl = c
	}
	return plainText([]*genwayv1.Part{bare})
}

func (e *inputEncoder) messageItem(base string, parts []*genwayv1.Part, start, end int) error {
	first := parts[start]
	_, outer := split(first.NativeFields, ofMessage)
	outer, status := without(outer, "status")
	extra, err := member.Extra(protocol, outer, member.Index(base, start), e.losses)
	if err != nil {
		return err
	}
	id := first.Id
	if IsSyntheticID(id) {
		id = ""
	}
	w := e.w
	w.Begin()
	w.StrOpt("id", id)
	w.Str("type", typeMessage)
	w.Str("role", "assistant")
	switch {
	case status != nil:
		w.Raw("status", status.Json)
	case id != "":
		w.Str("status", statusCompleted)
	}
	if text, ok := bareText(first); ok && end == start+1 && id == "" {
		path := member.Index(base, start)
		if _, err := member.Extra(protocol, foreign(first.NativeFields), path, e.losses); err != nil {
			return err
		}
		encodeBreakpoint(w, first.CacheControl, path, e.losses)
		w.Str("content", text)
	} else {
		w.List("content")
		for i := start; i < end; i++ {
			if err := e.saidContent(parts[i], member.Index(base, i)); err != nil {
				return err
			}
		}
		w.EndList()
	}
	w.Spliced(extra)
	w.End()
	return nil
}

func (e *inputEncoder) saidContent(part *genwayv1.Part, path string) error {
	if o := part.GetOpaque(); o != nil && o.Protocol != protocol {
		return unknownPart(path, o.Type)
	}
	if _, err := member.Extra(protocol, foreign(part.NativeFields), path, e.losses); err != nil {
		return err
	}
	encodeSaid(e.w, part, path, e.losses, false)
	return nil
}

// encodeSaid writes a part of the assistant's message. In answers the log
// probabilities of a text are never absent.
func encodeSaid(w *member.Writer, part *genwayv1.Part, path string, losses *codec.Losses, answer bool) {
	natives, _ := split(part.NativeFields, ofMessage)
	switch k := part.Kind.(type) {
	case *genwayv1.Part_Opaque:
		w.Value(k.Opaque.Json)
		return
	case *genwayv1.Part_Refusal:
		w.Begin()
		w.Str("type", typeRefusal)
		w.Str("refusal", k.Refusal.Text)
		if len(k.Refusal.Logprobs) > 0 {
			losses.Add(path+".refusal.logprobs", noPlace)
		}
	case *genwayv1.Part_Text:
		w.Begin()
		w.Str("type", typeOutputText)
		encodeAnnotations(w, k.Text, path, losses)
		if answer || len(k.Text.Logprobs) > 0 {
			encodeLogprobs(w, "logprobs", k.Text.Logprobs)
		}
		w.Str("text", k.Text.Text)
	}
	encodeBreakpoint(w, part.CacheControl, path, losses)
	w.Spliced(extras(natives, path, losses))
	w.End()
}

func (e *inputEncoder) thinking(part *genwayv1.Part, path string) error {
	t := part.GetThinking()
	own := t.EncryptedContent.GetProtocol() == protocol
	sealed := t.EncryptedContent != nil || t.Signature != nil
	id := part.Id
	if IsSyntheticID(id) {
		id = ""
	}
	if !own && (sealed || id == "") {
		e.losses.Add(path+".thinking", "only reasoning this upstream has sealed or kept can be given back to it")
		return nil
	}
	if _, err := member.Extra(protocol, foreign(part.NativeFields), path, e.losses); err != nil {
		return err
	}
	kept := &genwayv1.Thinking{Text: t.Text, Summary: t.Summary, EncryptedContent: t.EncryptedContent}
	encodeReasoningItem(e.w, kept, false, id, part.NativeFields, path, e.losses)
	return nil
}

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

// logprobs reads log probabilities. The bytes of a token are numbers here.
func logprobs(wire []wireLogprob) []*genwayv1.TokenLogprob {
	if len(wire) == 0 {
		return nil
	}
	out := make([]*genwayv1.TokenLogprob, len(wire))
	for i, l := range wire {
		p := &genwayv1.TokenLogprob{Token: l.Token, Logprob: l.Logprob, Top: logprobs(l.TopLogprobs)}
		if l.Bytes != nil {
			p.Utf8 = make([]byte, len(l.Bytes))
			for j, b := range l.Bytes {
				p.Utf8[j] = byte(b)
			}
		}
		out[i] = p
	}
	return out
}

// encodeLogprobs writes log probabilities; bytes the upstream did not give are
// those of the token's text.
func encodeLogprobs(w *member.Writer, name string, list []*genwayv1.TokenLogprob) {
	w.Key(name)
	w.BeginList()
	for _, p := range list {
		w.Begin()
		encodeToken(w, p)
		encodeTop(w, p.Top)
		w.End()
	}
	w.EndList()
}

func encodeTop(w *member.Writer, list []*genwayv1.TokenLogprob) {
	w.List("top_logprobs")
	for _, p := range list {
		w.Begin()
		encodeToken(w, p)
		w.End()
	}
	w.EndList()
}

func encodeToken(w *member.Writer, p *genwayv1.TokenLogprob) {
	w.Str("token", p.Token)
	w.ShortFloat("logprob", codec.Logprob(p.Logprob))
	utf8 := p.Utf8
	if utf8 == nil {
		utf8 = []byte(p.Token)
	}
	w.List("bytes")
	for _, b := range utf8 {
		w.Element(int64(b))
	}
	w.EndList()
}
