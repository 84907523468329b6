package protocol

import (
	"bytes"
	"strings"
	"sync"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Models declares the members of a protocol's bodies that name models, beside the model that the
// request is for. Each field is a list of paths, separated by white space, in which [] is any
// element: fallbacks[].model. A path in lowerCamelCase is for snake_case, too.
//
// A member whose name contains the word model, and that is in none of the lists, is a member that
// chooses a model in a way that the gateway does not know.
type Models struct {
	// Named are the members whose value is the name of a model, or a list of names.
	Named string
	// Chosen are the members by which the vendor chooses a model that the body does not name.
	Chosen string
	// Schemas are JSON Schemas, in which the names of properties are the caller's.
	Schemas string
	// Own are the members whose value is the caller's own JSON, or says which model has taken
	// part already, so that no member in them asks for a model.
	Own string
	// Bodies are the members whose value is a body, too.
	Bodies string

	compile sync.Once
	root    modelMember
}

// modelMember is what Models declare of the members and elements of one value.
type modelMember struct {
	named, chosen, schema, own, body bool
	members                          map[string]*modelMember
	elements                         *modelMember
}

// add declares a path, and returns what is declared of its value.
func (m *modelMember) add(path string) *modelMember {
	if path == "" {
		return m
	}
	if rest, ok := strings.CutPrefix(path, "[]"); ok {
		if m.elements == nil {
			m.elements = &modelMember{}
		}
		return m.elements.add(strings.TrimPrefix(rest, "."))
	}
	end := strings.IndexAny(path+".", ".[")
	if m.members == nil {
		m.members = map[string]*modelMember{}
	}
	if m.members[path[:end]] == nil {
		m.members[path[:end]] = &modelMember{}
	}
	return m.members[path[:end]].add(strings.TrimPrefix(path[end:], "."))
}

// merge adds what is declared of the members of another value. What one of them takes for the
// caller's own JSON is not if the other knows of models in it.
func (m *modelMember) merge(other *modelMember) {
	knows := func(m *modelMember) bool {
		return m.named || m.chosen || m.schema || m.body || m.members != nil || m.elements != nil
	}
	if m.own != other.own {
		m.own = !knows(m) && !knows(other)
	}
	m.named, m.chosen, m.schema, m.body = m.named || other.named, m.chosen || other.chosen, m.schema || other.schema, m.body || other.body
	for name, below := range other.members {
		m.add(name).merge(below)
	}
	if other.elements != nil {
		m.add("[]").merge(other.elements)
	}
}

// each calls visit with what is declared of all values below.
func (m *modelMember) each(visit func(*modelMember)) {
	visit(m)
	for _, below := range m.members {
		below.each(visit)
	}
	if m.elements != nil {
		m.elements.each(visit)
	}
}

// below returns what is declared of a member; nil for nothing.
func (m *modelMember) below(name []byte) *modelMember {
	if m == nil || m.members == nil {
		return nil
	}
	if below := m.members[string(name)]; below != nil || bytes.IndexByte(name, '_') < 0 {
		return below
	}
	camel, upper := make([]byte, 0, len(name)), false
	for i, c := range name {
		if c == '_' && i > 0 {
			upper = true
			continue
		}
		if upper && c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		camel, upper = append(camel, c), false
	}
	return m.members[string(camel)]
}

// containsModel reports whether a name contains the word model, in any case of its letters.
func containsModel(name []byte) bool {
	const word = "model"
	for i := 0; i+len(word) <= len(name); i++ {
		if name[i]|0x20 == word[0] && bytes.EqualFold(name[i:i+len(word)], []byte(word)) {
			// In modeLabel another word begins with its last letter.
			if l := name[i+len(word)-1]; l == 'l' || name[i+len(word)-2] == 'E' {
				return true
			}
		}
	}
	return false
}

// callersNames are the members of JSON Schemas below which names and values are the caller's.
var callersNames = map[string]bool{
	"properties": true, "patternProperties": true, "$defs": true, "definitions": true, "dependentSchemas": true,
	"dependentRequired": true, "dependencies": true, "default": true, "example": true, "examples": true, "const": true, "enum": true,
}

// A ModelVisitor is called with each member of a body that names or chooses a model: its path, and
// the model. named is false, and the model empty, if which model it is cannot be known. The error of a
// visitor ends the visit.
type ModelVisitor func(path, model string, named bool) error

// EachModel calls visit for each member of a body, a JSON object, that names or chooses a model
// beside the model that the request is for. The error is visit's, or a *fault.Error for a body
// that is no JSON.
func (p *Protocol) EachModel(body []byte, visit ModelVisitor) error {
	return eachModel(body, "", p.modelMembers(), func(path, model string, named bool) error {
		if p.NamesModelInPath() { // publishers/google/models/NAME
			if i := strings.LastIndex(model, "models/"); i >= 0 {
				model = model[i+len("models/"):]
			}
		}
		return visit(path, model, named)
	})
}

// modelMembers returns what the protocol declares of its bodies.
func (p *Protocol) modelMembers() *modelMember {
	m := p.Models
	if m == nil {
		m = &Models{}
	}
	m.compile.Do(func() {
		for _, list := range []struct {
			paths string
			set   func(*modelMember)
		}{
			{m.Named, func(m *modelMember) { m.named = true }},
			{m.Chosen, func(m *modelMember) { m.chosen = true }},
			{m.Schemas, func(m *modelMember) { m.schema = true }},
			{m.Own, func(m *modelMember) { m.own = true }},
			{m.Bodies, func(m *modelMember) { m.body = true }},
		} {
			for path := range strings.FieldsSeq(list.paths) {
				list.set(m.root.add(path))
			}
		}
		if !p.NamesModelInPath() { // the model that the request is for
			m.root.add("model").own = true
		}
	})
	return &m.root
}

// modelState is what is declared of a value, and whether it is part of a JSON Schema.
type modelState struct {
	declared *modelMember
	schema   bool
}

// eachModel is EachModel for a value at a path, in the words of its sender.
func eachModel(value []byte, at string, declared *modelMember, visit ModelVisitor) error {
	var err error
	ok := member.Descend(value, modelState{declared: declared}, func(path, name, value []byte, state modelState) (modelState, bool) {
		if err != nil || value[0] == 'n' {
			return state, false
		}
		d := state.declared
		if name != nil {
			d = d.below(name)
		} else if d != nil && (d.elements != nil || !d.named) {
			d = d.elements // else an element of a list of names
		}
		switch {
		case d == nil:
		case d.body:
			d = declared
		case value[0] == '{' && d.members == nil && d.elements != nil:
			d = d.elements // an object stands for an array of it
		}
		inner := modelState{declared: d, schema: state.schema && d == nil || d != nil && d.schema}
		switch {
		case d != nil && d.own, state.schema && d == nil && callersNames[string(name)]:
			return inner, false
		case value[0] == '[' && d != nil && (d.named || d.chosen && d.elements != nil), value[0] == '{' && d != nil && d.named && d.members != nil:
			return inner, true
		case d != nil && d.named && value[0] == '"':
			err = visit(member.Join(at, string(path)), member.Raw(value).String(), true)
			return inner, false
		case d != nil && (d.named || d.chosen), containsModel(name):
			err = visit(member.Join(at, string(path)), "", false)
			return inner, false
		}
		return inner, true
	})
	if err == nil && !ok {
		err = fault.New(fault.InvalidRequest, fault.ReasonMalformedJSON, "the body is not a JSON object")
	}
	return err
}

// directModels are what the protocols declare, together: of bodies, and of any object in one. Which
// protocol a direct caller's request is encoded in is not known before it is routed.
var directModels = sync.OnceValue(func() *struct{ body, object modelMember } {
	var all struct{ body, object modelMember }
	for _, p := range All() {
		all.body.merge(p.modelMembers())
	}
	all.object.merge(&all.body)
	all.body.each(func(m *modelMember) {
		for name, below := range m.members {
			all.object.add(name).merge(below)
		}
	})
	return &all
})

// EachModelOf is EachModel of a request in the contract: of its text in JSON, which upstreams get
// as it is. The paths are the contract's, and go on into the JSON.
func EachModelOf(req proto.Message, visit ModelVisitor) error {
	return eachModelOf(req.ProtoReflect(), "", visit)
}

func eachModelOf(m protoreflect.Message, at string, visit ModelVisitor) error {
	switch v := m.Interface().(type) {
	case *genwayv1.NativeField: // the member of an object whose place is not known
		if member.IsMark(v) {
			return nil
		}
		value := v.GetJson()
		var text string
		if v.GetProtocol() == genwayv1.Protocol_PROTOCOL_IMAGES && json.Unmarshal(value, &text) == nil && jsontext.Value(text).IsValid() {
			value = []byte(text) // a form has texts alone, and the upstream may read one as JSON
		}
		quoted := append(append(member.AppendQuote([]byte{'{'}, v.GetName()), ':'), value...)
		return eachModel(append(quoted, '}'), at, &directModels().object, visit)
	case *genwayv1.OpaquePart:
		return eachModel(v.GetJson(), member.Join(at, "json"), &directModels().object, visit)
	case *genwayv1.HostedTool:
		return eachModel(v.GetJson(), member.Join(at, "json"), &directModels().object, visit)
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if !m.Has(field) || field.IsMap() {
			continue
		}
		path := member.Join(at, string(field.Name()))
		if field.Name() == "extra_json" {
			if err := eachModel([]byte(m.Get(field).String()), path, &directModels().body, visit); err != nil {
				return err
			}
		}
		if field.Message() == nil {
			continue
		}
		if !field.IsList() {
			if err := eachModelOf(m.Get(field).Message(), path, visit); err != nil {
				return err
			}
			continue
		}
		for k, list := 0, m.Get(field).List(); k < list.Len(); k++ {
			path := member.Index(path, k)
			if field.Name() == "native_fields" {
				path = at
			}
			if err := eachModelOf(list.Get(k).Message(), path, visit); err != nil {
				return err
			}
		}
	}
	return nil
}
