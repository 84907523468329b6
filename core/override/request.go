package override

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Text returns the request with the rules applied, and what the caller loses by them.
// req is not changed; the result shares what the rules do not touch.
func (o *Overrides) Text(req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextRequest, []*genwayv1.Loss, error) {
	if o == nil || len(o.text) == 0 {
		return req, nil, nil
	}
	out := codec.Shared(req)
	out.Sampling, out.Thinking = proto.CloneOf(req.GetSampling()), proto.CloneOf(req.GetThinking())
	losses := applied(o.text, out.ProtoReflect())
	for _, r := range o.text {
		if r.verb == drop && len(r.path) > 0 {
			out.NativeFields, losses = withoutNative(out.NativeFields, r.path, losses)
			out.ExtraJson, losses = withoutExtra(out.ExtraJson, r.path, losses)
		}
	}
	if len(req.GetWire().GetJson()) == 0 {
		return out, losses, nil
	}
	c := protocol.Of(req.GetWire().GetProtocol()).Codec
	if c == nil {
		out.Wire = nil
		return out, losses, nil
	}
	var known, found codec.Losses
	before, err := c.EncodeRequest(bare(req, o.text), &known)
	if err != nil {
		return nil, nil, err
	}
	after, err := c.EncodeRequest(bare(out, o.text), &found)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range found.List() {
		if !slices.ContainsFunc(append(known.List(), losses...), func(k *genwayv1.Loss) bool { return k.GetMember() == l.GetMember() }) {
			losses = append(losses, l)
		}
	}
	out.Wire, err = follow(req.GetWire(), before, after, c)
	return out, losses, err
}

// Followed returns a request in which settings were changed, or the choice of tools, with the change made in the caller's
// body as well.
func Followed(before, after *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextRequest, error) {
	if before == after || len(before.GetWire().GetJson()) == 0 {
		return after, nil
	}
	c := protocol.Of(before.GetWire().GetProtocol()).Codec
	from, to := bare(before, nil), bare(after, nil)
	if before.GetToolChoice() != after.GetToolChoice() {
		from.Tools, from.ToolChoice, to.Tools, to.ToolChoice = before.GetTools(), before.GetToolChoice(), after.GetTools(), after.GetToolChoice()
	}
	was, err := c.EncodeRequest(from, nil)
	if err != nil {
		return nil, err
	}
	is, err := c.EncodeRequest(to, nil)
	if err != nil {
		return nil, err
	}
	out := codec.Shared(after)
	out.Wire, err = follow(before.GetWire(), was, is, c)
	return out, err
}

// WithLimit returns the request with a limit of tokens within the rules, for an upstream
// that demands one where the caller names none: most is what it would get otherwise. req
// is not changed.
func (o *Overrides) WithLimit(req *genwayv1.GenerateTextRequest, most int64) *genwayv1.GenerateTextRequest {
	if o == nil || req.MaxOutputTokens != nil {
		return req
	}
	bounded, ok := o.rules.Bound["max_output_tokens"]
	if !ok || bounded.Max == nil || *bounded.Max >= float64(most) {
		return req
	}
	out := codec.Shared(req)
	out.MaxOutputTokens = new(int64(*bounded.Max))
	return out
}

// Number returns what becomes of a parameter that is a whole number. given means that the request has the value; the result
// says so of what the upstream gets, 0 if it gets none.
func (o *Overrides) Number(name string, value int64, given bool) (int64, bool) {
	if o == nil {
		return value, given
	}
	if ruled, ok := o.ruled(name, given); ok {
		value, given = ruled.(int64)
	} else {
		given = given && !o.Drops(name)
	}
	if !given {
		return 0, false
	}
	if r := o.rules.Bound[name]; r.Min != nil {
		value = max(value, int64(*r.Min))
	}
	if r := o.rules.Bound[name]; r.Max != nil {
		value = min(value, int64(*r.Max))
	}
	return value, true
}

// Word returns what becomes of a parameter that is a text; empty is none.
func (o *Overrides) Word(name, value string) string {
	if o == nil {
		return value
	}
	if ruled, ok := o.ruled(name, value != ""); ok {
		value, _ = ruled.(string)
		return value
	}
	if o.Drops(name) {
		return ""
	}
	return value
}

// ruled returns the value that the rules give a parameter; false if they leave the caller's, or none.
func (o *Overrides) ruled(name string, given bool) (any, bool) {
	if value, ok := o.rules.Set[name]; ok {
		return value, true
	}
	if given && !o.Drops(name) {
		return nil, false
	}
	value, ok := o.rules.Default[name]
	return value, ok
}

// Drops reports whether a parameter is left out of every request.
func (o *Overrides) Drops(name string) bool { return o != nil && slices.Contains(o.rules.Drop, name) }

// Image does so for images.
func (o *Overrides) Image(req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageRequest, []*genwayv1.Loss, error) {
	if o == nil || len(o.image) == 0 {
		return req, nil, nil
	}
	out := codec.Shared(req)
	losses := applied(o.image, out.ProtoReflect())
	if len(req.GetWire().GetJson()) == 0 {
		return out, losses, nil
	}
	if images.FormType(req.GetWire().GetJson()) != "" { // a form is made anew
		out.Wire = codec.Shared(req.GetWire())
		out.Wire.Json = nil
		return out, losses, nil
	}
	before, err := images.Codec{}.EncodeRequest(bareImage(req), nil)
	if err != nil {
		return nil, nil, err
	}
	after, err := images.Codec{}.EncodeRequest(bareImage(out), nil)
	if err != nil {
		return nil, nil, err
	}
	out.Wire, err = follow(req.GetWire(), before, after, images.Codec{})
	return out, losses, err
}

func applied(rules []rule, m protoreflect.Message) (losses []*genwayv1.Loss) {
	for _, r := range rules {
		if reason := r.apply(m); reason != "" {
			losses = append(losses, &genwayv1.Loss{Member: r.path.String(), Reason: reason})
		}
	}
	return losses
}

// follow makes the change between two encodings on the caller's body.
func follow(wire *genwayv1.WireMessage, before, after []byte, c any) (*genwayv1.WireMessage, error) {
	var spelled func(string) string
	if s, ok := c.(interface{ Spelled(name string) string }); ok {
		spelled = s.Spelled
	}
	body, err := member.Follow(wire.GetJson(), before, after, spelled)
	if err != nil {
		return nil, err
	}
	return &genwayv1.WireMessage{Protocol: wire.GetProtocol(), Json: body, Headers: wire.GetHeaders(), Extension: wire.GetExtension()}, nil
}

// bare is a request with only its parameters, as its codec takes one: what the
// difference of two encodings is to be found in.
func bare(req *genwayv1.GenerateTextRequest, rules []rule) *codec.Request {
	out := codec.Shared(req)
	out.Messages = []*genwayv1.Message{{
		Role:  genwayv1.Role_ROLE_USER,
		Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "-"}}}},
	}}
	out.Tools, out.ToolChoice, out.ExtraJson, out.Wire = nil, nil, "", nil
	out.NativeFields = nil
	for _, f := range req.GetNativeFields() {
		named := slices.ContainsFunc(rules, func(r rule) bool { return string(r.path.field().Name()) == f.GetName() })
		if named || member.IsMark(f) {
			out.NativeFields = append(out.NativeFields, f)
		}
	}
	return &codec.Request{GenerateTextRequest: out}
}

func bareImage(req *genwayv1.GenerateImageRequest) *genwayv1.GenerateImageRequest {
	out := codec.Shared(req)
	out.Prompt, out.Images, out.Mask, out.ExtraJson, out.NativeFields, out.Wire = "-", nil, nil, "", nil, nil
	return out
}

// withoutNative leaves out a member of the caller's that has a dropped parameter's
// name and no field in the contract: top_k of a chat completion, say.
func withoutNative(fields []*genwayv1.NativeField, p path, losses []*genwayv1.Loss) ([]*genwayv1.NativeField, []*genwayv1.Loss) {
	name := string(p.field().Name())
	at := slices.IndexFunc(fields, func(f *genwayv1.NativeField) bool { return f.GetName() == name && !member.IsMark(f) })
	if at < 0 {
		return fields, losses
	}
	losses = append(losses, &genwayv1.Loss{Member: name, Reason: Reason + " leaves it out"})
	return slices.Delete(slices.Clone(fields), at, at+1), losses
}

// withoutExtra leaves out of extra_json a member with a dropped parameter's name: top_k for
// a chat upstream, which the contract's own top_k does not reach. What is no object is left
// to the target's codec to refuse.
func withoutExtra(extra string, p path, losses []*genwayv1.Loss) (string, []*genwayv1.Loss) {
	name := string(p.field().Name())
	if extra == "" || !member.Valid([]byte(extra)) || member.Value([]byte(extra), name) == nil {
		return extra, losses
	}
	rest, err := member.Patch([]byte(extra), member.Member{Name: name})
	if err != nil {
		return extra, losses
	}
	return string(rest), append(losses, &genwayv1.Loss{Member: "extra_json." + name, Reason: Reason + " leaves it out"})
}

// path leads to a parameter's field: through the message it is grouped in, if it is.
type path []protoreflect.FieldDescriptor

// String spells the path as losses do: sampling.temperature.
func (p path) String() string {
	var names []string
	for _, f := range p {
		names = append(names, string(f.Name()))
	}
	return strings.Join(names, ".")
}

func (p path) field() protoreflect.FieldDescriptor { return p[len(p)-1] }

func (p path) has(m protoreflect.Message) bool {
	for _, f := range p[:len(p)-1] {
		if !m.Has(f) {
			return false
		}
		m = m.Get(f).Message()
	}
	return m.Has(p.field())
}

func (p path) get(m protoreflect.Message) protoreflect.Value {
	for _, f := range p[:len(p)-1] {
		m = m.Get(f).Message()
	}
	return m.Get(p.field())
}

func (p path) set(m protoreflect.Message, v protoreflect.Value) {
	for _, f := range p[:len(p)-1] {
		m = m.Mutable(f).Message()
	}
	m.Set(p.field(), v)
}

// clear takes the field away, and the group with the last of its fields.
func (p path) clear(m protoreflect.Message) {
	if len(p) == 1 {
		m.Clear(p[0])
		return
	}
	inner := m.Mutable(p[0]).Message()
	p[1:].clear(inner)
	empty := true
	inner.Range(func(protoreflect.FieldDescriptor, protoreflect.Value) bool {
		empty = false
		return false
	})
	if empty {
		m.Clear(p[0])
	}
}

// valueFor returns a value as the field holds it.
func valueFor(f protoreflect.FieldDescriptor, value any) (protoreflect.Value, error) {
	switch v := value.(type) {
	case float64:
		if f.Kind() == protoreflect.DoubleKind {
			return protoreflect.ValueOfFloat64(v), nil
		}
	case int64:
		switch {
		case f.Kind() == protoreflect.Int64Kind:
			return protoreflect.ValueOfInt64(v), nil
		case f.Kind() == protoreflect.Int32Kind && v >= math.MinInt32 && v <= math.MaxInt32:
			return protoreflect.ValueOfInt32(int32(v)), nil
		}
	case bool:
		if f.Kind() == protoreflect.BoolKind {
			return protoreflect.ValueOfBool(v), nil
		}
	case string:
		if f.Kind() == protoreflect.StringKind && !f.IsList() {
			return protoreflect.ValueOfString(v), nil
		}
	case []string:
		if f.Kind() == protoreflect.StringKind && f.IsList() {
			l := (&genwayv1.GenerateTextRequest{}).ProtoReflect().NewField(f).List()
			for _, text := range v {
				l.Append(protoreflect.ValueOfString(text))
			}
			return protoreflect.ValueOfList(l), nil
		}
	}
	return protoreflect.Value{}, fmt.Errorf("expected %s, got %v", f.Kind(), value)
}

// clamp returns the nearest value within the range, and whether v is outside of it.
func (r Range) clamp(f protoreflect.FieldDescriptor, v protoreflect.Value) (protoreflect.Value, bool) {
	var number float64
	switch f.Kind() {
	case protoreflect.DoubleKind:
		number = v.Float()
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		number = float64(v.Int())
	default:
		return v, false
	}
	to := number
	if r.Min != nil && to < *r.Min {
		to = *r.Min
	}
	if r.Max != nil && to > *r.Max {
		to = *r.Max
	}
	if to == number {
		return v, false
	}
	switch f.Kind() {
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(to)), true
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(int64(to)), true
	default:
		return protoreflect.ValueOfFloat64(to), true
	}
}
