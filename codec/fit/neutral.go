package fit

import (
	"slices"
	"sync"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// neutral is a setting that a protocol does without when it has the neutral value.
type neutral struct {
	// group is the message that the field is in, nil for the request itself.
	group, field protoreflect.FieldDescriptor
	// value is the neutral value; words are the elements of a neutral list.
	value protoreflect.Value
	words []string
}

// neutrals are the settings that each protocol does without. They are made when the first request is translated.
var neutrals = sync.OnceValue(func() map[genwayv1.Protocol][]neutral {
	all := map[genwayv1.Protocol][]neutral{}
	for _, c := range setting.Columns() {
		for i := range c.Settings {
			s := &c.Settings[i]
			if s.Neutral == "" || s.Of(c.Protocol).Written || c.Request.ProtoReflect().Descriptor() != (*genwayv1.GenerateTextRequest)(nil).ProtoReflect().Descriptor() {
				continue
			}
			path := s.Path(c.Request)
			n := neutral{field: path[len(path)-1]}
			if len(path) > 1 {
				n.group = path[0]
			}
			if n.field.IsList() {
				if err := json.Unmarshal([]byte(s.Neutral), &n.words); err != nil {
					panic("fit: " + s.Field + ": " + err.Error())
				}
			} else {
				of := holder(n)
				if err := protojson.Unmarshal([]byte(`{"`+string(n.field.Name())+`":`+s.Neutral+`}`), of.Interface()); err != nil {
					panic("fit: " + s.Field + ": " + err.Error())
				}
				n.value = of.Get(n.field)
			}
			all[c.Protocol] = append(all[c.Protocol], n)
		}
	}
	return all
})

// holder is a new message of the kind that has the field.
func holder(n neutral) protoreflect.Message {
	req := (&genwayv1.GenerateTextRequest{}).ProtoReflect()
	if n.group == nil {
		return req
	}
	return req.NewField(n.group).Message()
}

// Neutral returns a request, which was not made for the protocol, without the settings that say what is so
// without them: a vendor may refuse even the default of a parameter that a model of it does not have. Members that the
// protocol shares with the caller's become its own. It is the request itself if it has none of these.
func Neutral(req *genwayv1.GenerateTextRequest, to genwayv1.Protocol) *genwayv1.GenerateTextRequest {
	c := codec.Change{Req: req}
	for _, n := range neutrals()[to] {
		m := c.Req.ProtoReflect()
		if n.group != nil {
			if !m.Has(n.group) {
				continue
			}
			m = m.Get(n.group).Message()
		}
		if !m.Has(n.field) || !n.is(m.Get(n.field)) {
			continue
		}
		n.clear(c.Own().ProtoReflect())
	}
	fields, shared := codec.Rewritten(c.Req.GetNativeFields(), func(_ int, f *genwayv1.NativeField) *genwayv1.NativeField {
		if !setting.Shares(f.GetProtocol(), to, f.GetName(), f.GetJson()) {
			return nil
		}
		return &genwayv1.NativeField{Protocol: to, Name: f.GetName(), Json: f.GetJson(), Binding: f.GetBinding()}
	})
	if shared {
		c.Own().NativeFields = fields
	}
	if t := unsaid(c.Req.GetThinking(), to); t != c.Req.GetThinking() {
		c.Own().Thinking = t
	}
	if a := c.Req.GetAudioOutput(); a != nil && proto.Size(a) == 0 {
		c.Own().AudioOutput = nil
	}
	if to == genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS || to == genwayv1.Protocol_PROTOCOL_MESSAGES {
		for i, t := range c.Req.GetTools() {
			if f := t.GetFunction(); f != nil && f.Strict != nil && !f.GetStrict() {
				out := c.Own()
				if &out.Tools[0] == &req.Tools[0] {
					out.Tools = slices.Clone(out.Tools)
				}
				function := codec.Shared(f)
				function.Strict = nil
				out.Tools[i] = codec.Shared(t)
				out.Tools[i].Kind = &genwayv1.Tool_Function{Function: function}
			}
		}
	}
	return c.Req
}

// unsaid returns what is left of a thinking configuration without the members of another protocol that say nothing;
// nil if that is nothing.
func unsaid(t *genwayv1.ThinkingConfig, to genwayv1.Protocol) *genwayv1.ThinkingConfig {
	silent := func(f *genwayv1.NativeField) bool {
		return f.GetProtocol() != to && !setting.Says(f.GetProtocol(), "thinking", f.GetName(), f.GetJson())
	}
	if slices.ContainsFunc(t.GetNativeFields(), silent) {
		t = codec.Shared(t)
		t.NativeFields = slices.DeleteFunc(slices.Clone(t.NativeFields), silent)
	}
	if t != nil && proto.Size(t) == 0 {
		return nil
	}
	return t
}

// is reports whether a value is the neutral one.
func (n neutral) is(v protoreflect.Value) bool {
	if !n.field.IsList() {
		return v.Equal(n.value)
	}
	for i := range v.List().Len() {
		if !slices.Contains(n.words, v.List().Get(i).String()) {
			return false
		}
	}
	return true
}

// clear takes the field out of a request, and its group with it if that says nothing else. The group is
// another request's, too.
func (n neutral) clear(req protoreflect.Message) {
	if n.group == nil {
		req.Clear(n.field)
		return
	}
	group := proto.Clone(req.Get(n.group).Message().Interface()).ProtoReflect()
	group.Clear(n.field)
	if proto.Size(group.Interface()) == 0 {
		req.Clear(n.group)
		return
	}
	req.Set(n.group, protoreflect.ValueOfMessage(group))
}
