package responses

import (
	"slices"

	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// typeAdditionalTools is the item that offers tools within the conversation (SDK:
// ResponseInputItemAdditionalToolsParam). Its tools are lifted into those of the
// request, where every upstream finds them; the item stays what it was for upstreams
// of this protocol.
const typeAdditionalTools = "additional_tools"

// wireAdditionalTools is what is read of the item.
//
//wire:read
type wireAdditionalTools struct {
	Tools []jsontext.Value `json:"tools"`
	Extra jsontext.Value   `json:",embed"`
}

func decodeAdditionalTools(raw jsontext.Value, place member.Place) (item, error) {
	var w wireAdditionalTools
	if err := member.DecodeAt(raw, &w, place); err != nil {
		return item{}, err
	}
	tools, err := decodeTools(w.Tools, place.Join("tools"))
	if err != nil {
		return item{}, err
	}
	it := opaqueItem(raw, typeAdditionalTools)
	it.parts[0].NativeFields = append(it.parts[0].NativeFields, member.Mark(protocol, member.LiftedMark))
	for _, t := range tools {
		t.NativeFields = append(t.NativeFields, member.Mark(protocol, typeAdditionalTools))
	}
	it.tools = tools
	return it, nil
}

// lift adds the tools of an item to those known. A tool of the same place is the
// same tool, newly defined.
func lift(tools, lifted []*genwayv1.Tool) []*genwayv1.Tool {
	for _, t := range lifted {
		name, at := toolName(t), spacedIn(t.NativeFields)
		if name != "" {
			tools = slices.DeleteFunc(tools, func(known *genwayv1.Tool) bool {
				return toolName(known) == name && spacedIn(known.NativeFields) == at
			})
		}
		tools = append(tools, t)
	}
	return tools
}

// offered reports for each tool whether it belongs into the member tools: those that
// an item of the conversation brings do not, nor hosted ones of other protocols.
func offered(req *genwayv1.GenerateTextRequest) func(*genwayv1.Tool) bool {
	brought := slices.ContainsFunc(req.Messages, func(m *genwayv1.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p *genwayv1.Part) bool {
			return p.GetOpaque().GetType() == typeAdditionalTools
		})
	})
	return func(t *genwayv1.Tool) bool {
		return !fit.Hosted(t, protocol) && (!brought || !member.Marked(protocol, t.NativeFields, typeAdditionalTools))
	}
}
