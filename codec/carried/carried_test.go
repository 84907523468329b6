package carried

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/generatecontent"
	"github.com/genway/genway/codec/interactions"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/messages"
	"github.com/genway/genway/codec/responses"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

var codecs = []codec.Codec{chat.Codec{}, responses.Codec{}, messages.Codec{}, generatecontent.Codec{}, interactions.Codec{}}

// Each field of a text request and of its answer is in the body of each protocol, is named as
// lost, or is refused by name.
func TestEachFieldIsCarriedLostOrRefused(t *testing.T) {
	var table document
	for _, s := range requestSubjects() {
		walk(t, &table, s, impliedInRequests, encodeRequest)
	}
	table.answers = len(table.sections)
	for _, s := range answerSubjects() {
		walk(t, &table, s, impliedInAnswers, encodeAnswer, encodeStream)
	}
	table.check(t)
}

// encoding returns the body that a protocol has for a request or an answer.
type encoding func(codec.Codec, proto.Message, *codec.Losses) ([]byte, error)

func encodeRequest(c codec.Codec, m proto.Message, losses *codec.Losses) ([]byte, error) {
	return c.EncodeRequest(&codec.Request{GenerateTextRequest: m.(*genwayv1.GenerateTextRequest)}, losses)
}

func encodeAnswer(c codec.Codec, m proto.Message, losses *codec.Losses) ([]byte, error) {
	return c.EncodeResponse(m.(*genwayv1.GenerateTextResponse), codec.Answer{Request: asked(), Losses: losses})
}

// encodeStream encodes the answer as the events of a stream.
func encodeStream(c codec.Codec, m proto.Message, losses *codec.Losses) ([]byte, error) {
	encoder := c.NewStreamEncoder(codec.Answer{Request: asked(), Losses: losses})
	var all []byte
	for _, event := range codec.Events(m.(*genwayv1.GenerateTextResponse), nil) {
		frames, err := encoder.Encode(event)
		if err != nil {
			return nil, err
		}
		for _, f := range frames {
			all = append(append(all, f.Data...), '\n')
		}
	}
	return all, nil
}

// asked is the request of the answers.
func asked() *codec.Request {
	return &codec.Request{GenerateTextRequest: conversation(), IncludeUsage: true}
}

// walk sets each field of a subject alone and adds what becomes of it to the table. Several
// encodings must agree.
func walk(t *testing.T, table *document, s subject, implied []implication, encodings ...encoding) {
	t.Helper()
	table.section(s.title)
	_, target := s.make()
	for _, f := range fieldsOf(target.ProtoReflect().Descriptor(), target) {
		for i := range values(f.leaf(), genwayv1.Protocol_PROTOCOL_IMAGES) {
			row := table.row(f, i)
			for _, c := range codecs {
				var found finding
				for n, encode := range encodings {
					one := look(s, f, i, c, encode)
					if reason, ok := impliedBy(implied, row.name, c.Protocol()); ok && one.verdict == silent {
						one = finding{otherMember, reason}
					}
					if reason, ok := neutral(member.Join(s.path, row.name), c.Protocol()); ok && one.verdict == silent {
						one = finding{otherMember, reason}
					}
					declared(t, member.Join(s.path, row.name), c.Protocol(), one)
					if one.verdict == silent {
						t.Errorf("%s: %s, %v%s: the field is dropped silently (%s). Write it into the body, or have the encoder name it with losses.Add or refuse it with fault.Unsupported",
							s.title, row.name, c.Protocol(), []string{"", ", in a stream"}[n], one.reason)
					}
					if n > 0 && one != found {
						t.Errorf("%s: %s, %v: the two encoders differ: in a unary answer the field is %v, in a stream %v", s.title, row.name, c.Protocol(), found, one)
					}
					found = one
				}
				row.cells = append(row.cells, found)
			}
		}
	}
}

// declared holds what an encoder does with a setting to the table of settings.
func declared(t *testing.T, row string, protocol genwayv1.Protocol, found finding) {
	t.Helper()
	field, _, _ := strings.Cut(row, ":")
	for _, s := range setting.Texts() {
		place := s.Of(protocol)
		if s.Field != field || found.verdict == otherMember || found.verdict == impossible || place.ByHand || place.Member+place.Lost+place.Refused == "" {
			continue
		}
		if (place.Lost != "") != (found.verdict == lost && len(place.NoWords) == 0) || (place.Refused != "") != (found.verdict == refused) {
			t.Errorf("%s, %v: the table of settings says %q, %q, the encoder has it %v", row, protocol, place.Lost, place.Refused, found)
		}
	}
}

// path is a field below a subject: the fields on the way to it, the last one itself.
type path []protoreflect.FieldDescriptor

func (p path) leaf() protoreflect.FieldDescriptor { return p[len(p)-1] }

// String is the path as losses name it.
func (p path) String() string {
	var names []string
	for _, f := range p {
		name := string(f.Name())
		if f.IsList() && f.Kind() == protoreflect.MessageKind && f.Message().FullName() != "genway.v1.NativeField" {
			name += "[0]"
		}
		names = append(names, name)
	}
	return strings.Join(names, ".")
}

// fieldsOf returns the fields of a message and of those below it. Of a oneof whose arm decides
// what the subject is, only that arm is walked; of others each.
func fieldsOf(m protoreflect.MessageDescriptor, set proto.Message) []path {
	var all []path
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if notWalked[f.FullName()] != "" {
			continue
		}
		if o := f.ContainingOneof(); o != nil && o.Name() == "kind" && (set == nil || set.ProtoReflect().WhichOneof(o) != f) {
			continue
		}
		if hasValue(f) {
			all = append(all, path{f})
			continue
		}
		var below proto.Message
		if set != nil && !f.IsList() && set.ProtoReflect().Has(f) {
			below = set.ProtoReflect().Get(f).Message().Interface()
		}
		if own := ownSubject[f.FullName()]; own {
			continue
		}
		for _, p := range fieldsOf(f.Message(), below) {
			all = append(all, append(path{f}, p...))
		}
	}
	return all
}

// ownSubject are message fields of the request that have a subject each.
var ownSubject = map[protoreflect.FullName]bool{
	"genway.v1.GenerateTextRequest.tool_choice":     true,
	"genway.v1.GenerateTextRequest.response_format": true,
	"genway.v1.GenerateTextRequest.sampling":        true,
	"genway.v1.GenerateTextRequest.thinking":        true,
	"genway.v1.GenerateTextRequest.audio_output":    true,
}

// hasValue reports whether a field is set as a whole.
func hasValue(f protoreflect.FieldDescriptor) bool {
	return f.IsMap() || len(values(f, genwayv1.Protocol_PROTOCOL_IMAGES)) > 0
}

type verdict int

const (
	silent verdict = iota
	mapped
	otherMember // by another member, or by none
	lost
	refused
	impossible // what the field is in is refused already
)

func (v verdict) String() string {
	return [...]string{"dropped silently", "in the body", "expressed by another member", "lost", "refused", "in what is refused"}[v]
}

type finding struct {
	verdict verdict
	reason  string
}

// String names the verdict and its reason for errors.
func (f finding) String() string {
	if f.reason == "" {
		return f.verdict.String()
	}
	return fmt.Sprintf("%v (%s)", f.verdict, f.reason)
}

// look encodes a request or an answer for the protocol with the field and without it.
func look(s subject, p path, sample int, c codec.Codec, encode encoding) finding {
	without, target := s.make()
	open(target, p[:len(p)-1])
	base, err := encode(c, without, nil)
	if err != nil {
		return finding{impossible, ""}
	}
	bare, _ := s.make()
	var before codec.Losses
	if _, err := encode(c, bare, &before); err != nil {
		return finding{impossible, ""}
	}
	with, target := s.make()
	set(open(target, p[:len(p)-1]), p.leaf(), sample, c.Protocol())
	var after codec.Losses
	body, err := encode(c, with, &after)
	full := strings.Trim(s.path+"."+strings.TrimSuffix(p.String(), "native_fields"), ".") // native members are named beside the others
	if err != nil {
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.InvalidRequest || !related(f.Param, full) {
			return finding{silent, fmt.Sprintf("refused, not by its name: %v", err)}
		}
		return finding{refused, f.Message}
	}
	if bytes.Equal(base, body) && s.path != "" && names(before.List(), s.path) {
		return finding{impossible, ""}
	}
	var others []string
	for _, l := range after.List() {
		if l.GetMember() != full && slices.ContainsFunc(before.List(), func(b *genwayv1.Loss) bool { return proto.Equal(b, l) }) {
			continue
		}
		if related(l.GetMember(), full) {
			return finding{lost, l.GetReason()}
		}
		others = append(others, l.GetMember())
	}
	if !bytes.Equal(base, body) {
		return finding{verdict: mapped}
	}
	return finding{silent, fmt.Sprintf("losses name %q", others)}
}

// partKinds are the kinds of parts that losses name in place of the part.
var partKinds = map[string]bool{"thinking": true, "audio": true, "file": true, "video": true}

// names reports whether the losses name what is at the path.
func names(losses []*genwayv1.Loss, path string) bool {
	return slices.ContainsFunc(losses, func(l *genwayv1.Loss) bool {
		rest, inside := strings.CutPrefix(l.GetMember(), path+".")
		return within(path, l.GetMember()) || inside && partKinds[rest]
	})
}

// related reports whether a member that is named stands for the field: it, what it is in, or
// a part of it. Losses of a stream do not say which citation or token of a text it is.
func related(member, field string) bool {
	member, field = anyElement.Replace(member), anyElement.Replace(field)
	return member != "" && (field == "" || within(member, field) || within(field, member))
}

var anyElement = strings.NewReplacer("citations[0]", "citations", "logprobs[0]", "logprobs")

func within(inner, outer string) bool {
	rest, ok := strings.CutPrefix(inner, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// open returns the message at the end of the path, which is made as far as it is absent.
func open(m proto.Message, p path) protoreflect.Message {
	r := m.ProtoReflect()
	for _, f := range p {
		if !f.IsList() {
			r = r.Mutable(f).Message()
			continue
		}
		list := r.Mutable(f).List()
		if list.Len() == 0 {
			list.AppendMutable()
		}
		r = list.Get(0).Message()
	}
	return r
}

func set(m protoreflect.Message, f protoreflect.FieldDescriptor, sample int, to genwayv1.Protocol) {
	if f.IsMap() {
		m.Mutable(f).Map().Set(protoreflect.ValueOfString("key").MapKey(), protoreflect.ValueOfString("value"))
		return
	}
	v := values(f, otherThan(to))[sample]
	if f.IsList() {
		m.Mutable(f).List().Append(v)
		return
	}
	m.Set(f, v)
}

func otherThan(p genwayv1.Protocol) genwayv1.Protocol {
	if p == genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS {
		return genwayv1.Protocol_PROTOCOL_MESSAGES
	}
	return genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS
}
