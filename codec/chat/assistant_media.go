package chat

import (
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// image adds an image the model made, in OpenRouter's member for it.
func (s *messageEncoder) image(p *genwayv1.Part, path string) error {
	if !s.dialect.Takes("messages.images") {
		s.lose(path + ".image")
		return nil
	}
	out, err := s.part(p, path)
	if err != nil {
		if s.answer {
			s.losses.Add(path, "the image has neither data nor an address")
			return nil
		}
		return err
	}
	s.Images = append(s.Images, out)
	return nil
}

// audio writes speech of the model; the vendor takes back only its id.
// It reports whether the part is done.
func (s *messageEncoder) audio(p *genwayv1.Part, m *genwayv1.Media, path string) bool {
	if !s.answer {
		if p.Id != "" && !s.dialect.Takes("messages.audio") {
			s.lose(path + ".audio")
		} else if p.Id != "" {
			s.Audio = &audio{ID: p.Id}
		}
		return p.Id != ""
	}
	if s.Audio != nil {
		s.losses.Add(path, "a message of chat completions has one audio")
		return true
	}
	s.unsigned(p, path)
	s.Audio = s.audioOf(p, m)
	if _, ok := m.GetSource().(*genwayv1.Media_Data); ok {
		s.Audio.data = m.GetData()
	} else {
		s.losses.Add(path, notWithin)
	}
	return true
}

// notWithin is why audio that an answer refers to is lost.
const notWithin = "an answer of chat completions has its audio within it"

// audioOf is the audio without its data. The SDK demands an id and an expiry.
func (e *encoder) audioOf(p *genwayv1.Part, m *genwayv1.Media) *audio {
	a := &audio{ID: p.Id, Transcript: m.GetTranscript(), ExpiresAt: member.Native(protocol, p.NativeFields, "expires_at")}
	if a.ID == "" {
		a.ID = "audio_" + e.id
	}
	if a.ExpiresAt == nil {
		a.ExpiresAt = []byte("0")
	}
	if out, err := extra(p.NativeFields, "", nil, "expires_at"); err == nil {
		a.Extra = out
	}
	return a
}

// opaque writes an element of another list of the message than its content. It
// reports whether the part was one.
func (s *messageEncoder) opaque(p *genwayv1.Part, o *genwayv1.OpaquePart) bool {
	if o.Protocol != protocol {
		return false
	}
	switch {
	case marked(p.NativeFields, toolCallsName):
		s.ToolCalls = append(s.ToolCalls, toolCall{verbatim: verbatim{raw: o.Json}})
		return true
	case marked(p.NativeFields, detailsName):
		return true // with the thinking
	}
	return false
}
