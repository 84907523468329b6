package chat

import (
	"slices"

	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// messageEncoder writes a turn of the model.
type messageEncoder struct {
	*encoder
	message
	parts   []part // of the content, in their order
	texts   []*genwayv1.Text
	refusal []string
	path    string
	index   int32 // of the candidate
}

// assistant writes a turn of the model: the inverse of decoder.assistant. A message has its texts
// in one member and its calls in another. So text that follows a call comes to stand before it,
// which is noted as a loss.
func (e *encoder) assistant(list []*genwayv1.Part, fields []*genwayv1.NativeField, path string) (message, error) {
	return e.candidate(list, fields, path, 0)
}

func (e *encoder) candidate(list []*genwayv1.Part, fields []*genwayv1.NativeField, path string, index int32) (message, error) {
	s := &messageEncoder{encoder: e, path: path, index: index}
	if err := s.reasoning(list); err != nil {
		return message{}, err
	}
	last := lastText(list)
	signature := ""
	for i, p := range list {
		at := member.Within(path, ".parts", i)
		switch k := p.Kind.(type) {
		case *genwayv1.Part_Thinking:
			continue
		case *genwayv1.Part_ToolCall:
			s.call(p, int32(i))
			continue
		case *genwayv1.Part_Image:
			if err := s.image(p, at); err != nil {
				return message{}, err
			}
			continue
		case *genwayv1.Part_Audio:
			if s.audio(p, k.Audio, at) {
				continue
			}
		case *genwayv1.Part_Opaque:
			if member.Lifted(p) || s.opaque(p, k.Opaque) {
				continue
			}
		case *genwayv1.Part_Text:
			if p == last {
				if signature = e.seal(p.ThoughtSignature); signature != "" && !e.dialect.Takes("messages.extra_content") {
					e.lose(at + ".thought_signature")
					signature = ""
				}
				p = unsigned(p)
			}
			s.cite(k.Text, at)
		}
		if empty(p) {
			continue
		}
		if err := s.content(p, at); err != nil {
			return message{}, err
		}
	}
	s.ExtraContent = encodeExtraContent(signature, fields)
	s.finish()
	return s.message, nil
}

func lastText(list []*genwayv1.Part) *genwayv1.Part {
	for _, p := range slices.Backward(list) {
		if p.GetText() != nil {
			return p
		}
	}
	return nil
}

// unsigned is the part without its signature, which stands in the message.
func unsigned(p *genwayv1.Part) *genwayv1.Part {
	if p.ThoughtSignature == nil {
		return p
	}
	return &genwayv1.Part{Id: p.Id, Kind: p.Kind, CacheControl: p.CacheControl, NativeFields: p.NativeFields}
}

// content adds a part to the content. An answer's content is one string, so that
// its parts are joined; what cannot be is noted.
func (s *messageEncoder) content(p *genwayv1.Part, path string) error {
	out, err := s.part(p, path)
	if err != nil || s.answer && out.Type == "file" {
		if s.answer {
			s.losses.Add(path, "an answer of chat completions has no place for this kind of content")
			return nil
		}
		return err
	}
	if len(s.ToolCalls) > 0 && !s.answer {
		s.losses.Add(s.path+".parts", "text behind a tool call moves ahead of it")
	}
	if s.answer && out.Type == "refusal" {
		s.unsigned(p, path)
		s.refusal = append(s.refusal, *out.Refusal)
		return nil
	}
	if s.answer && out.Type == "text" && len(out.ExtraContent) > 0 {
		s.losses.Add(path+".thought_signature", "a message of chat completions has one signature of its text")
	}
	s.parts = append(s.parts, out)
	return nil
}

// unsigned names the signature of a part that has no place for one.
func (s *messageEncoder) unsigned(p *genwayv1.Part, path string) {
	if p.ThoughtSignature != nil {
		s.losses.Add(path+".thought_signature", unsignable)
	}
}

// unsignable is why the signature of a refusal or of audio is lost.
const unsignable = "chat completions has no place for a signature here"

// cite writes the citations of a text, whose ranges count from the beginning of
// the message here.
func (s *messageEncoder) cite(t *genwayv1.Text, path string) {
	if len(t.Citations) > 0 && !s.dialect.Takes("messages.annotations") {
		s.lose(path + ".text.citations")
	} else if len(t.Citations) > 0 {
		var offset int32
		for _, before := range s.texts {
			offset += characters(before.Text)
		}
		length := characters(t.Text)
		for _, c := range t.Citations {
			if a, ok := s.annotation(c, offset, length, path+".text.citations"); ok {
				s.Annotations = append(s.Annotations, a)
			}
		}
	}
	s.texts = append(s.texts, t)
}

// finish puts the content together.
func (s *messageEncoder) finish() {
	if s.answer {
		s.Content = joined(s.parts)
		s.Refusal = text{is: isNull}
		if len(s.refusal) > 0 {
			s.Refusal = textOf(concat(s.refusal))
		}
		if s.Annotations == nil {
			s.Annotations = []annotation{}
		}
		return
	}
	// A refusal at the end stands in the member of its own, where every engine
	// looks for it.
	if n := len(s.parts); s.dialect.Takes("messages.refusal") && n > 0 && s.parts[n-1].Refusal != nil && (n == 1 || s.parts[n-2].Refusal == nil) && len(s.parts[n-1].Extra) == 0 {
		s.Refusal = textOf(*s.parts[n-1].Refusal)
		s.parts = s.parts[:n-1]
	}
	s.Content = s.contentOf(s.parts, "")
	if len(s.parts) == 0 && s.Refusal.IsZero() && s.ToolCalls == nil && s.FunctionCall == nil && s.Audio == nil {
		s.Content = content{is: isText}
	}
}

// joined is the content of an answer: its texts as one string, or an array when
// there are parts of a kind only this protocol knows.
func joined(parts []part) content {
	if len(parts) == 0 {
		return content{is: isNull}
	}
	texts := make([]string, 0, len(parts))
	for i := range parts {
		if parts[i].Type != "text" {
			return content{is: isParts, parts: parts}
		}
		texts = append(texts, *parts[i].Text)
	}
	return content{is: isText, s: concat(texts)}
}

func concat(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	var all []byte
	for _, s := range list {
		all = append(all, s...)
	}
	return string(all)
}
