package fit

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// ImageSettings writes the settings of a request for images as members of an object of a protocol that draws in answers
// of text, by the last names of the members that the table of settings has. What the protocol has no member for
// is refused or named as lost, unless the value is the neutral one. Settings with a place by hand are the codec's.
func ImageSettings(w *member.Writer, req *genwayv1.GenerateImageRequest, protocol genwayv1.Protocol, losses *codec.Losses) error {
	m := req.ProtoReflect()
	rows := setting.Images()
	for i := range rows {
		s := &rows[i]
		place := s.Of(protocol)
		field := s.Path(req)[0]
		if place.ByHand || !m.Has(field) || field.IsList() {
			continue
		}
		if field.Message() != nil { // no value of it is neutral
			return fault.Unsupported(s.Field, "%s: %s", s.Field, place.Refused)
		}
		value, err := protojson.Marshal(alone(m, field))
		if err != nil {
			return fault.Wrap(err, fault.InvalidRequest, fault.ReasonInvalidMember, "%s: cannot be written as JSON", s.Field)
		}
		text := string(member.Value(value, field.JSONName()))
		switch _, name, _ := strings.Cut(place.Member, "."); {
		case text == s.Neutral, text == place.Implied:
		case place.Refused != "":
			return fault.Unsupported(s.Field, "%s: %s", s.Field, place.Refused)
		case place.Lost != "":
			losses.Add(s.Field, place.Lost)
		case name != "":
			w.RawText(name, text)
		}
	}
	return nil
}

// alone returns a request with one of its fields.
func alone(m protoreflect.Message, field protoreflect.FieldDescriptor) protoreflect.ProtoMessage {
	one := m.New()
	one.Set(field, m.Get(field))
	return one.Interface()
}
