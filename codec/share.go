package codec

import (
	"reflect"
	"slices"
	"sync"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/runtime/protoimpl"
)

// Share makes dst, an empty message, hold what src holds, a message of the same type,
// without copying what its fields point to: for handing a message over where an interface
// only offers one to fill. What they share must not be changed afterwards; to set fields of
// one of the two does not change the other.
func Share(dst, src proto.Message) {
	from, to := src.ProtoReflect(), reflect.ValueOf(dst)
	if _, generated := from.Type().(*protoimpl.MessageInfo); generated && to.Type() == reflect.TypeOf(src) {
		shareStruct(to.Elem(), reflect.ValueOf(src).Elem())
		return
	}
	into := dst.ProtoReflect()
	from.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		into.Set(field, value)
		return true
	})
}

// Shared returns a message that holds what src holds, as Share has it.
func Shared[M any, Message interface {
	*M
	proto.Message
}](src Message) Message {
	dst := Message(new(M))
	Share(dst, src)
	return dst
}

// Change is a request of which a copy is made before the first change. Its zero value with Req is ready for use.
type Change struct {
	// Req is the request as it is now, which is changed only through Own.
	Req   *genwayv1.GenerateTextRequest
	owned bool
}

// Own returns the request to change, which is not the caller's.
func (c *Change) Own() *genwayv1.GenerateTextRequest {
	if !c.owned {
		c.Req, c.owned = Shared(c.Req), true
	}
	return c.Req
}

// shareStruct copies the struct as a whole: field by field costs twenty times as much,
// at every step of every request.
func shareStruct(to, from reflect.Value) {
	to.Set(from)
	for _, i := range boxes(to.Type()) {
		box := to.Field(i)
		if box.IsNil() {
			continue
		}
		if box.Kind() == reflect.Interface { // the pointer in a oneof
			box.Set(unshared(box.Elem()))
		} else {
			box.Set(unshared(box))
		}
	}
}

// unshared returns a pointer to a copy of what a pointer points to.
func unshared(pointer reflect.Value) reflect.Value {
	own := reflect.New(pointer.Type().Elem())
	own.Elem().Set(pointer.Elem())
	return own
}

var boxesOf sync.Map // of reflect.Type to []int

// boxes are the fields of a generated message whose value is behind a pointer that
// protoreflect writes through when it sets the field: optional scalars and oneofs.
func boxes(message reflect.Type) []int {
	if known, ok := boxesOf.Load(message); ok {
		return known.([]int) //nolint:forcetypeassert // nothing else is stored
	}
	var found []int
	for i := range message.NumField() {
		f := message.Field(i)
		optional := f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() != reflect.Struct
		if f.IsExported() && (optional || f.Type.Kind() == reflect.Interface) {
			found = append(found, i)
		}
	}
	boxesOf.Store(message, found)
	return found
}

// Rewritten returns a list in which rewrite has replaced elements. Where rewrite gives nil the
// element stays. changed is false, and the result the list itself, if all stay; the list of the
// argument is never changed.
func Rewritten[T any](list []*T, rewrite func(i int, element *T) *T) (out []*T, changed bool) {
	out = list
	for i, element := range list {
		replacement := rewrite(i, element)
		if replacement == nil {
			continue
		}
		if !changed {
			out, changed = slices.Clone(list), true
		}
		out[i] = replacement
	}
	return out, changed
}

// RewrittenParts returns the messages in which rewrite has replaced parts, as Rewritten does.
// message is the number of the part's message.
func RewrittenParts(messages []*genwayv1.Message, rewrite func(message, i int, p *genwayv1.Part) *genwayv1.Part) (out []*genwayv1.Message, changed bool) {
	return Rewritten(messages, func(message int, m *genwayv1.Message) *genwayv1.Message {
		parts, changed := Rewritten(m.GetParts(), func(i int, p *genwayv1.Part) *genwayv1.Part { return rewrite(message, i, p) })
		if !changed {
			return nil
		}
		own := Shared(m)
		own.Parts = parts
		return own
	})
}

// WithCall returns a part whose tool call was replaced by a changed copy.
func WithCall(p *genwayv1.Part, change func(*genwayv1.ToolCall)) *genwayv1.Part {
	out, call := Shared(p), Shared(p.GetToolCall())
	change(call)
	out.Kind = &genwayv1.Part_ToolCall{ToolCall: call}
	return out
}

// WithResult returns a part whose tool result was replaced by a changed copy.
func WithResult(p *genwayv1.Part, change func(*genwayv1.ToolResult)) *genwayv1.Part {
	out, result := Shared(p), Shared(p.GetToolResult())
	change(result)
	out.Kind = &genwayv1.Part_ToolResult{ToolResult: result}
	return out
}
