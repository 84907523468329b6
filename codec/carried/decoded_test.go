package carried

import (
	"bytes"
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// decoding returns the canonical message of a body.
type decoding func(codec.Codec, []byte) (proto.Message, error)

func decodeRequest(c codec.Codec, body []byte) (proto.Message, error) {
	req, err := c.DecodeRequest(body)
	if err != nil {
		return nil, err
	}
	return req.GenerateTextRequest, nil
}

func decodeAnswer(c codec.Codec, body []byte) (proto.Message, error) { return c.DecodeResponse(body) }

// sameWhenRead are fields whose sample changes a body that means the same.
var sameWhenRead = []implication{
	{"image.media_type", []genwayv1.Protocol{responsesAPI}, "a type that is no image's is left out, and without one the image is a PNG"},
}

// A member that a codec writes for a field it reads as well: the canonical message of the body with the
// field is another than that of the body without it. A member that the codec's struct has and that is
// mapped nowhere would be no native field either, and be dropped silently.
func TestEachFieldInABodyIsDecoded(t *testing.T) {
	for _, s := range requestSubjects() {
		decodesEachField(t, s, encodeRequest, decodeRequest)
	}
	for _, s := range answerSubjects() {
		decodesEachField(t, s, encodeAnswer, decodeAnswer)
	}
}

func decodesEachField(t *testing.T, s subject, encode encoding, decode decoding) {
	t.Helper()
	var table document
	table.section(s.title)
	_, target := s.make()
	for _, f := range fieldsOf(target.ProtoReflect().Descriptor(), target) {
		for i := range values(f.leaf(), genwayv1.Protocol_PROTOCOL_IMAGES) {
			name := table.row(f, i).name
			for _, c := range codecs {
				without, base := s.make()
				open(base, f[:len(f)-1])
				with, target := s.make()
				set(open(target, f[:len(f)-1]), f.leaf(), i, c.Protocol())
				before, err := encode(c, without, nil)
				if err != nil {
					continue
				}
				after, err := encode(c, with, nil)
				if err != nil || bytes.Equal(before, after) {
					continue
				}
				read, err := decode(c, before)
				if err != nil {
					t.Errorf("%s, %v: %v", s.title, c.Protocol(), err)
					continue
				}
				got, err := decode(c, after)
				if _, known := impliedBy(sameWhenRead, name, c.Protocol()); known {
					continue
				}
				if err != nil {
					t.Errorf("%s: %s, %v: %v", s.title, name, c.Protocol(), err)
				} else if proto.Equal(read, got) {
					t.Errorf("%s: %s, %v: the body has the field, and its decoder drops it silently: map the member where the codec decodes", s.title, name, c.Protocol())
				}
			}
		}
	}
}
