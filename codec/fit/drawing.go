package fit

import (
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
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

// ImageTool is the tool by which models of responses draw (openai-go: ToolImageGeneration).
const ImageTool = "image_generation"

// Drawn returns the request as the protocol asks for images in an answer of text. Responses have a tool for what
// the others say by modalities: the model must call it where images alone are asked for. Where a caller demands that tool of
// Google's protocols, images alone are asked for, and losses name the tool's settings.
func Drawn(req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol, losses *codec.Losses) *genwayv1.GenerateTextRequest {
	at := slices.IndexFunc(req.GetTools(), isImageTool)
	switch {
	case protocol == responses && DrawsBesideText(req):
		out := codec.Shared(req)
		out.Modalities = nil
		if at < 0 {
			out.Tools = append(slices.Clip(req.GetTools()), &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{
				Protocol: responses, Type: ImageTool, Json: []byte(`{"type":"` + ImageTool + `"}`),
			}}})
		}
		if choice := req.GetToolChoice(); !slices.Contains(req.GetModalities(), "text") && choice.GetMode() == 0 && choice.GetNative() == nil {
			out.ToolChoice = &genwayv1.ToolChoice{Native: &genwayv1.NativeField{Protocol: responses, Name: "tool_choice", Json: []byte(`{"type":"` + ImageTool + `"}`), Binding: true}}
			if choice != nil {
				out.ToolChoice.Parallel = choice.Parallel
			}
		}
		return out
	case googles(protocol) && at >= 0 && (demanded(req, protocol) || demandsImage(req.GetToolChoice())):
		_ = member.Walk(req.GetTools()[at].GetHosted().GetJson(), func(name string, value jsontext.Value) bool {
			if text := string(value); name != "type" && !slices.Contains([]string{"null", `"auto"`, "0"}, text) {
				losses.Add(member.Index("tools", at)+"."+name, noPlace)
			}
			return true
		})
		out := codec.Shared(req)
		out.Modalities, out.ToolChoice = []string{"image"}, nil
		out.Tools = slices.DeleteFunc(slices.Clone(req.GetTools()), isImageTool)
		return out
	}
	return req
}

func isImageTool(t *genwayv1.Tool) bool {
	return t.GetHosted().GetProtocol() == responses && t.GetHosted().GetType() == ImageTool
}

// demandsImage reports whether a choice is the tool itself.
func demandsImage(choice *genwayv1.ToolChoice) bool {
	native := choice.GetNative()
	return native.GetProtocol() == responses && member.Raw(member.Value(native.GetJson(), "type")).String() == ImageTool
}

// DrawsBesideText reports whether an answer is to have images, and nothing else beside them but text.
func DrawsBesideText(req *genwayv1.GenerateTextRequest) bool {
	return slices.Contains(req.GetModalities(), "image") &&
		!slices.ContainsFunc(req.GetModalities(), func(word string) bool { return word != "image" && word != "text" })
}
