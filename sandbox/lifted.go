package sandbox

import (
	"slices"

	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// withoutLifted returns the request without parts that repeat what other fields have as
// well (an item that brought tools, which are among the tools).
func withoutLifted(req *genwayv1.GenerateTextRequest) *genwayv1.GenerateTextRequest {
	if !slices.ContainsFunc(req.GetMessages(), func(m *genwayv1.Message) bool { return slices.ContainsFunc(m.GetParts(), member.Lifted) }) {
		return req
	}
	out := shallow(req, &genwayv1.GenerateTextRequest{})
	out.Messages = nil
	for _, m := range req.GetMessages() {
		if member.AllLifted(m) {
			continue
		}
		if slices.ContainsFunc(m.GetParts(), member.Lifted) {
			m = shallow(m, &genwayv1.Message{})
			m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), member.Lifted)
		}
		out.Messages = append(out.Messages, m)
	}
	return out
}

// shallow returns the empty message the fields of m.
func shallow[T protoreflect.ProtoMessage](m, empty T) T {
	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		empty.ProtoReflect().Set(f, v)
		return true
	})
	return empty
}
