package fit

import (
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Updates returns a request for an upstream of the protocol with what its conversation says about its own settings and
// tools folded into them, since only the vendor of the caller's protocol reads that where it is said:
//
//   - configuration_update of responses (ResponseConfigurationUpdateItemParam): the last effort and format count;
//   - output_config of a system turn of messages (BetaSystemMessageOutputConfig): the last effort counts;
//   - tool_addition and tool_removal of messages (BetaRequestToolAdditionBlock), in their order;
//   - a system turn of messages with clear_at next_user_message is not shown after the next turn of the user.
//
// Nothing of it is lost. The result is the request itself where there is nothing to fold; what cannot be read stays for
// the encoder.
func Updates(req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol) *genwayv1.GenerateTextRequest {
	if !slices.ContainsFunc(req.GetMessages(), ofVendor) {
		return req
	}
	u := updates{Change: codec.Change{Req: req}, protocol: protocol}
	lastUser := -1
	for i, m := range req.GetMessages() {
		if m.GetRole() == genwayv1.Role_ROLE_USER {
			lastUser = i
		}
	}
	turns, changed := codec.Rewritten(req.GetMessages(), func(i int, m *genwayv1.Message) *genwayv1.Message { return u.turn(m, i < lastUser) })
	if !changed {
		return req
	}
	u.Own().Messages = turns
	return u.Req
}

// ofVendor reports whether a turn has something that only its vendor can read.
func ofVendor(m *genwayv1.Message) bool {
	return m.GetNativeRole() != "" && len(m.GetNativeFields()) > 0 ||
		slices.ContainsFunc(m.GetParts(), func(p *genwayv1.Part) bool { return p.GetOpaque() != nil })
}

// updates is one pass over a conversation.
type updates struct {
	codec.Change
	protocol  genwayv1.Protocol
	ownsTools bool
}

// tools returns the tools to change, which are not the caller's.
func (u *updates) tools() []*genwayv1.Tool {
	if !u.ownsTools {
		u.Own().Tools, u.ownsTools = slices.Clone(u.Req.GetTools()), true
	}
	return u.Req.GetTools()
}

// turn returns a turn without what it says about the request; nil where it says nothing. answered says that a turn of
// the user follows.
func (u *updates) turn(m *genwayv1.Message, answered bool) *genwayv1.Message {
	parts, changed := codec.Rewritten(m.GetParts(), func(_ int, p *genwayv1.Part) *genwayv1.Part {
		if o := p.GetOpaque(); o != nil && o.GetProtocol() != u.protocol && u.reads(o) {
			return nothing()
		}
		return nil
	})
	fields := m.GetNativeFields()
	if u.protocol != messages && m.GetNativeRole() == "system" {
		fields = slices.DeleteFunc(slices.Clone(fields), func(f *genwayv1.NativeField) bool {
			switch {
			case f.GetProtocol() != messages:
				return false
			case f.GetName() == "output_config":
				return u.effort(f.GetJson())
			case f.GetName() == "clear_at":
				word := member.Raw(f.GetJson()).String()
				if cleared := word == "next_user_message" && answered; cleared {
					parts = []*genwayv1.Part{nothing()}
				}
				return word == "next_user_message" || word == "never"
			}
			return false
		})
	}
	if !changed && len(fields) == len(m.GetNativeFields()) {
		return nil
	}
	if len(parts) == 0 {
		parts = []*genwayv1.Part{nothing()}
	}
	own := codec.Shared(m)
	own.Parts, own.NativeFields = parts, fields
	return own
}

// reads reports whether an item is about the request, which has been changed then.
func (u *updates) reads(o *genwayv1.OpaquePart) bool {
	raw := o.GetJson()
	switch {
	case o.GetProtocol() == responses && o.GetType() == "configuration_update":
		format, known := formatOf(member.Value(member.Value(raw, "text"), "format"))
		effort := member.Value(raw, "reasoning")
		if !known || effort != nil && !u.effort(effort) {
			return false
		}
		if format != nil {
			u.Own().ResponseFormat = format
		}
		return true
	case o.GetProtocol() == messages && o.GetType() == "tool_addition":
		return u.add(member.Value(raw, "tool"))
	case o.GetProtocol() == messages && o.GetType() == "tool_removal":
		return u.change(member.Value(raw, "tool"), func(*genwayv1.Tool) *genwayv1.Tool {
			return &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Protocol: messages, Type: notLoaded}}}
		})
	}
	return false
}

// effort sets the effort that an object has as its only member. null leaves the effort as it is.
func (u *updates) effort(object []byte) bool {
	var said struct {
		Effort *string `json:"effort"`
	}
	if json.Unmarshal(object, &said, member.Options(), json.RejectUnknownMembers(true)) != nil {
		return false
	}
	if said.Effort != nil {
		t := &genwayv1.ThinkingConfig{}
		if thinking := u.Own().GetThinking(); thinking != nil {
			t = codec.Shared(thinking)
		}
		t.Effort = *said.Effort
		u.Req.Thinking = t
	}
	return true
}

// formatOf reads a format of responses (ResponseFormatText, ResponseFormatTextJSONSchemaConfig); nil and true for none.
func formatOf(raw jsontext.Value) (*genwayv1.ResponseFormat, bool) {
	if raw == nil || raw.Kind() == 'n' {
		return nil, true
	}
	var f struct {
		Type        string         `json:"type"`
		Name        string         `json:"name"`
		Description string         `json:"description"`
		Schema      jsontext.Value `json:"schema"`
		Strict      *bool          `json:"strict"`
	}
	if json.Unmarshal(raw, &f, member.Options(), json.RejectUnknownMembers(true)) != nil {
		return nil, false
	}
	switch {
	case f.Type == "text":
		return &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_TEXT}, true
	case f.Type == "json_schema" && f.Schema.Kind() == '{':
		return &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_SCHEMA, Name: f.Name, Description: f.Description, SchemaJson: string(f.Schema), Strict: f.Strict}, true
	}
	return nil, false
}

// add offers a tool from now on: one that is named and was deferred, or one that is defined.
func (u *updates) add(tool []byte) bool {
	if member.Raw(member.Value(tool, "type")).String() != "tool_definition" {
		return u.change(tool, loadedTool)
	}
	raw := jsontext.Value(member.Value(tool, "definition"))
	kind := member.Raw(member.Value(raw, "type")).String()
	var defined *genwayv1.Tool
	switch name := member.Raw(member.Value(raw, "name")).String(); {
	case kind != "" && kind != "custom":
		defined = &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Protocol: messages, Type: kind, Json: raw}}}
	case name == "" || jsontext.Value(member.Value(raw, "input_schema")).Kind() != '{':
		return false
	default:
		but := map[string]bool{"type": true, "name": true, "description": true, "input_schema": true, "strict": true, "cache_control": true, deferLoading: true}
		f := &genwayv1.FunctionTool{Name: name, Description: member.Raw(member.Value(raw, "description")).String(), ParametersJson: string(member.Value(raw, "input_schema"))}
		if strict := string(member.Value(raw, "strict")); strict == "true" || strict == "false" {
			f.Strict = new(strict == "true")
		}
		defined = &genwayv1.Tool{Kind: &genwayv1.Tool_Function{Function: f}, NativeFields: member.NativesBut(but, messages, raw, nil)}
	}
	offered := u.tools()
	u.Req.Tools = append(slices.DeleteFunc(offered, func(t *genwayv1.Tool) bool {
		return defined.GetFunction() != nil && t.GetFunction().GetName() == defined.GetFunction().GetName()
	}), defined)
	return true
}

// change changes the tool that a reference names; false if there is none.
func (u *updates) change(reference []byte, do func(*genwayv1.Tool) *genwayv1.Tool) bool {
	name := member.Raw(member.Value(reference, "name")).String()
	if member.Raw(member.Value(reference, "type")).String() != "tool_reference" || name == "" {
		return false
	}
	for i, t := range u.Req.GetTools() {
		if t.GetFunction().GetName() == name || t.GetHosted().GetProtocol() == messages && member.Raw(member.Value(t.GetHosted().GetJson(), "name")).String() == name {
			u.tools()[i] = do(t)
			return true
		}
	}
	return false
}

// checkCompaction refuses a request of messages to summarize the conversation in place of an answer
// (BetaSummarizeCompaction), since an upstream of another protocol would answer it.
func checkCompaction(req *genwayv1.GenerateTextRequest, protocol genwayv1.Protocol) error {
	if protocol != messages && member.Native(messages, req.GetNativeFields(), "compaction") != nil {
		return fault.Unsupported("compaction", "compaction: the upstream this model is routed to does not summarize conversations")
	}
	return nil
}
