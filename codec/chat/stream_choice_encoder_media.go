package chat

import (
	"strconv"

	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// voice opens audio.
func (s *choiceEncoder) voice(p *genwayv1.Part, m *genwayv1.Media) error {
	if s.audios++; s.audios > 1 {
		s.losses.Add(s.path(), "a message of chat completions has one audio")
		s.skipped = true
		return nil
	}
	a := s.audioOf(p, m)
	if member.Native(protocol, p.NativeFields, "expires_at") == nil {
		a.ExpiresAt = nil // comes as a delta, if at all
	}
	switch m.GetSource().(type) {
	case *genwayv1.Media_Url, *genwayv1.Media_FileId:
		s.losses.Add(s.path(), notWithin)
	}
	a.data = m.GetData()
	return s.write(&message{Audio: a}, nil)
}

// sound adds bytes or words to the open audio or image.
func (s *choiceEncoder) sound(data []byte, words string) error {
	if image := s.current.GetImage(); image != nil {
		image.Source = &genwayv1.Media_Data{Data: append(image.GetData(), data...)}
		return nil
	}
	if s.current.GetAudio() == nil {
		return nil
	}
	return s.write(&message{Audio: &audio{data: data, Transcript: words}}, nil)
}

// opaque writes a part only this protocol knows into the list it came from.
func (s *choiceEncoder) opaque(p *genwayv1.Part, o *genwayv1.OpaquePart) error {
	whole := verbatim{raw: o.Json}
	switch {
	case o.Protocol != protocol:
		s.losses.Add(s.path(), "an answer of chat completions has no place for this kind of content")
		return nil
	case marked(p.NativeFields, toolCallsName):
		raw, err := member.Patch(o.Json, member.Member{Name: "index", Value: strconv.AppendInt(nil, int64(s.calls), 10)})
		if err != nil {
			return err
		}
		s.calls++
		return s.write(&message{ToolCalls: []toolCall{{verbatim: verbatim{raw: raw}}}}, nil)
	case opaqueDetail(p):
		s.thought.index++
		s.thought.count++
		return s.write(&message{ReasoningDetails: []detail{{verbatim: whole}}}, nil)
	}
	return s.write(&message{Content: content{is: isParts, parts: []part{{verbatim: whole}}}}, nil)
}
