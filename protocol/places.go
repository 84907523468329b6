package protocol

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// maxTraced bounds the bodies in which positions are traced, in bytes. In one that is larger they are named as
// the list they are in.
const maxTraced = 16 << 20

// markName is the member that marks an object. No protocol knows it, so that codecs keep it as a native field
// of what they make of the object, or within an opaque part.
const markName = "genway_place"

// Conversation is where bodies of a protocol have their conversation.
type Conversation struct {
	// System is the member that has system text outside of the messages.
	System string
	// Objects are the paths of the objects that become messages, parts or tools, in which [] is any element
	// and * any member.
	Objects []string
}

// place is where in the caller's body a value of the contract comes from.
type place struct {
	path string
	// around reports that the path names what the value is within.
	around bool
}

// trace returns the places of messages, parts and tools by their paths in the contract. The caller's body is
// decoded once more, with a mark in each of its objects, and the marks say which object became which message,
// part or tool. There are none if the marks have changed what was decoded.
func (n *Names) trace() map[string]place {
	root := n.root()
	if root.kind != '{' || n.decode == nil {
		return nil
	}
	plain, err := n.plain()
	if err != nil {
		return nil
	}
	t := tracer{Names: n, found: map[string]place{}}
	t.mark(root, "", "")
	marked, err := n.decode(append(t.marked, n.body[t.copied:]...))
	if err != nil || shape(plain) != shape(marked) {
		return nil
	}
	for i, m := range marked.GetMessages() {
		t.message(member.Index("messages", i), m)
	}
	for i, tool := range marked.GetTools() {
		t.tool(member.Index("tools", i), tool)
	}
	return t.found
}

// tool notes the place of a tool.
func (t *tracer) tool(path string, tool *genwayv1.Tool) {
	mark, around := t.markIn(path, tool.GetNativeFields())
	if raw := tool.GetHosted().GetJson(); mark == "" && raw != nil {
		mark = markOf(raw)
		for i, list := 0, t.of.request["tools"]; mark == ""; i++ { // a member of an element that is no object
			element, whole := t.follow(member.Index(list, i))
			if !whole {
				break
			}
			if known, whole := t.follow(member.Join(element, tool.GetHosted().GetType())); whole {
				mark = known
			}
		}
	}
	if mark == "" {
		mark = around // the deprecated functions of chat completions
	}
	if mark != "" {
		t.found[path] = place{path: mark}
	}
}

// tracer finds places.
type tracer struct {
	*Names
	found map[string]place
	// marked is the caller's body with marks, of which so many bytes are copied.
	marked []byte
	copied int
}

// mark marks the objects of a value at a path; general is the path with [] for its indices. An object for which
// an array of one is meant, as some protocols allow, is marked as its element.
func (t *tracer) mark(n *node, path, general string) {
	if n.kind == '[' {
		general += "[]"
	}
	within := func(general string) bool {
		return slices.ContainsFunc(t.conversation.Objects, func(object string) bool { return strings.HasPrefix(object, general) })
	}
	if n.kind == '{' && !slices.Contains(t.conversation.Objects, general) && within(general+"[]") {
		general += "[]"
	}
	marks := slices.Contains(t.conversation.Objects, general) || slices.Contains(t.conversation.Objects, up(general)+".*")
	if !marks && !within(general) || n.kind != '{' && n.kind != '[' {
		return
	}
	for i, value := range n.values {
		if n.kind == '[' {
			t.mark(value, member.Index(path, i), general)
		} else {
			t.mark(value, member.Join(path, n.names[i]), member.Join(general, t.of.spelled(n.names[i])))
		}
	}
	// Codecs leave out a text that says nothing, unless there is something else to it.
	if text, _ := n.member("text", t.of.spelled); n.kind != '{' || !marks || text != nil && text.isText("") {
		return
	}
	t.marked = append(t.marked, t.body[t.copied:n.end-1]...)
	if t.copied = n.end - 1; len(n.names) > 0 {
		t.marked = append(t.marked, ',')
	}
	t.marked = member.AppendQuote(append(member.AppendQuote(t.marked, markName), ':'), path)
}

// markIn finds the mark among the native fields of what has a path in the contract: the object's own, and the mark of
// an object around it, whose members the fields hold under its name (message.genway_place). It notes the place of the latter.
func (t *tracer) markIn(path string, fields []*genwayv1.NativeField) (own, around string) {
	for _, f := range fields {
		if f.GetName() == markName {
			own = member.Raw(f.GetJson()).String()
		} else if outer, ok := strings.CutSuffix(f.GetName(), "."+markName); ok {
			around = member.Raw(f.GetJson()).String()
			t.found[member.Join(path, outer)] = place{path: around}
		}
	}
	return own, around
}

// markOf finds the mark in JSON that was kept whole: its own, or the only object's in it.
func markOf(raw jsontext.Value) string {
	n := parse(raw)
	if n == nil {
		return ""
	}
	plain := func(name string) string { return name }
	value, _ := n.member(markName, plain)
	if value == nil && len(n.values) == 1 {
		value, _ = n.values[0].member(markName, plain)
	}
	if value == nil {
		return ""
	}
	return member.Raw(value.raw).String()
}

// shape spells the roles of a request's messages, the kinds of their parts, and how many tools it has.
func shape(req *genwayv1.GenerateTextRequest) string {
	var b strings.Builder
	var parts func(list []*genwayv1.Part)
	parts = func(list []*genwayv1.Part) {
		for _, p := range list {
			b.WriteString(kindOf(p) + "(")
			parts(p.GetToolResult().GetParts())
			b.WriteByte(')')
		}
	}
	for _, m := range req.GetMessages() {
		b.WriteString(m.GetRole().String())
		parts(m.GetParts())
	}
	return b.String() + strconv.Itoa(len(req.GetTools()))
}

// kindOf is the name of the field that a part has its kind in.
func kindOf(p *genwayv1.Part) string {
	m := p.ProtoReflect()
	if f := m.WhichOneof(m.Descriptor().Oneofs().ByName("kind")); f != nil {
		return string(f.Name())
	}
	return ""
}

func (t *tracer) message(path string, m *genwayv1.Message) {
	own, _ := t.markIn(path, m.GetNativeFields())
	var within []string
	for j, p := range m.GetParts() {
		if mark := t.part(member.Within(path, ".parts", j), p); mark != "" {
			within = append(within, mark)
		}
	}
	if own == "" {
		own = enclosing(within)
	}
	if own == "" && m.GetRole() == genwayv1.Role_ROLE_SYSTEM {
		own, _ = t.follow(t.conversation.System)
	}
	if own == "" {
		return
	}
	t.found[path] = place{path: own}
	for j, p := range m.GetParts() {
		at := member.Within(path, ".parts", j)
		if _, ok := t.found[at]; ok {
			continue
		}
		if holder := t.of.holder[kindOf(p)]; holder == setting.Itself {
			t.found[at] = place{path: own}
		} else {
			t.found[at] = place{path: t.held(own, holder), around: true}
		}
	}
}

// part notes the places of a part and of those within it, and returns its mark.
func (t *tracer) part(path string, p *genwayv1.Part) string {
	mark, around := t.markIn(path, p.GetNativeFields())
	if o := p.GetOpaque(); o != nil && mark == "" {
		mark = markOf(o.GetJson())
	}
	for i, inner := range p.GetToolResult().GetParts() {
		t.part(member.Within(path, ".tool_result.parts", i), inner)
	}
	switch {
	case mark != "":
		t.found[path] = place{path: mark}
	case around != "":
		mark = around
		t.found[path] = place{path: around, around: true}
	}
	return mark
}

// held is the member of a message's object that a part is in which has no object of its own; the message itself
// if that is not certain.
func (t *tracer) held(message, holder string) string {
	for name := range strings.SplitSeq(holder, "|") {
		if path, whole := t.follow(member.Join(message, name)); whole && name != "" {
			return path
		}
	}
	return message
}

// enclosing is the object of a message, by the marks of its parts: what they are all elements of.
func enclosing(marks []string) string {
	object := ""
	for _, mark := range marks {
		around := up(up(mark)) // the index in a list, and the list
		if around == "" || object != "" && object != around {
			return ""
		}
		object = around
	}
	return object
}

// node is a value of a caller's body. The members of objects keep their order, and scalars their spelling.
type node struct {
	kind   jsontext.Kind
	names  []string // of an object's members
	values []*node  // an object's members or an array's elements
	raw    jsontext.Value
	end    int // where the value ends in the body
}

// parse reads a body; nil when it is no JSON. What is raw is not copied.
func parse(body []byte) *node {
	return read(jsontext.NewDecoder(bytes.NewBuffer(body), member.Options()), body)
}

func read(d *jsontext.Decoder, body []byte) *node {
	n := &node{kind: d.PeekKind()}
	if n.kind != '{' && n.kind != '[' {
		value, err := d.ReadValue()
		if err != nil {
			return nil
		}
		n.end = int(d.InputOffset())
		n.raw = body[n.end-len(value) : n.end]
		return n
	}
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for d.PeekKind() != '}' && d.PeekKind() != ']' {
		if n.kind == '{' {
			name, err := d.ReadToken()
			if err != nil {
				return nil
			}
			n.names = append(n.names, name.String())
		}
		value := read(d, body)
		if value == nil {
			return nil
		}
		n.values = append(n.values, value)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	n.end = int(d.InputOffset())
	return n
}

// isText reports whether the value is that string.
func (n *node) isText(text string) bool {
	return n.kind == '"' && member.Raw(n.raw).String() == text
}

// member finds a member of an object, and how the caller spells its name; nil for none.
func (n *node) member(name string, spelled func(string) string) (*node, string) {
	for i, own := range n.names {
		if own == name || spelled(own) == name {
			return n.values[i], own
		}
	}
	return nil, ""
}

// follow goes along a path in the caller's body as far as there are members, and returns that much of it in the
// caller's spelling.
func (n *Names) follow(path string) (known string, whole bool) {
	known, _, whole = n.root().follow(path, n.of.spelled)
	return known, whole
}

func (n *node) follow(path string, spelled func(string) string) (known string, end *node, whole bool) {
	for rest := path; rest != ""; {
		var step string
		step, rest = nextStep(rest)
		if step[0] == '[' {
			i, err := strconv.Atoi(strings.Trim(step, "[]"))
			if err != nil || n.kind != '[' || i < 0 || i >= len(n.values) {
				return known, n, false
			}
			known, n = known+step, n.values[i]
			continue
		}
		value, own := n.member(step, spelled)
		if value == nil {
			return known, n, false
		}
		known, n = member.Join(known, own), value
	}
	return known, n, true
}

// nextStep takes the first step of a path: a member's name, or an index in its brackets.
func nextStep(path string) (step, rest string) {
	end := strings.IndexAny(path, ".[")
	if end == 0 { // an index
		end = strings.IndexByte(path, ']') + 1
	}
	if end <= 0 {
		return path, ""
	}
	return path[:end], strings.TrimPrefix(path[end:], ".")
}
