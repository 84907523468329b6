package chat

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// Objects nested in one that has a canonical message have none themselves
// (image_url in a content part, the message in a choice). Their unknown members
// become native fields of that message under a dotted name: image_url.min_pixels,
// message.executed_tools.

// bindingMembers are the unknown members of a request that bear on the answer:
// OpenAI's own that no other protocol has, and those of vLLM and OpenRouter that
// constrain the output or bring content into it.
var bindingMembers = map[string]bool{
	"logit_bias":             true,
	"web_search_options":     true,
	"moderation":             true,
	"previous_response_id":   true,
	"conversation":           true,
	"prompt":                 true,
	"plugins":                true,
	"structured_outputs":     true,
	"guided_json":            true,
	"guided_regex":           true,
	"guided_choice":          true,
	"guided_grammar":         true,
	"continue_final_message": true,
	"bad_words":              true,
	"allowed_token_ids":      true,
	"documents":              true,
	"chat_template":          true,
	"search_parameters":      true,
	"truncate_prompt_tokens": true,
}

func binding(name string) bool { return bindingMembers[name] }

// natives are the unknown members of an object.
func natives(extra jsontext.Value) []*genwayv1.NativeField {
	return member.Natives(protocol, extra, nil)
}

func mark(name string) *genwayv1.NativeField { return member.Mark(protocol, name) }

func marked(fields []*genwayv1.NativeField, name string) bool {
	return len(fields) > 0 && member.Marked(protocol, fields, name)
}

// native keeps a member that is known but could not be read as it should.
func native(name string, raw jsontext.Value) *genwayv1.NativeField {
	return &genwayv1.NativeField{Protocol: protocol, Name: name, Json: raw}
}

// hasNatives reports whether a field of this protocol has a value.
func hasNatives(fields []*genwayv1.NativeField) bool {
	for _, f := range fields {
		if f.Protocol == protocol && !member.IsMark(f) {
			return true
		}
	}
	return false
}

// extra returns the unknown members to write into an object, but for those that
// belong into objects nested in it (names that end with a dot) or are written
// with a field of their own. Fields of other protocols are refused or noted.
func extra(fields []*genwayv1.NativeField, path string, losses *codec.Losses, except ...string) (jsontext.Value, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	own := make([]*genwayv1.NativeField, 0, len(fields))
	for _, f := range fields {
		if f.Protocol != protocol || !excepted(f.Name, except) {
			own = append(own, f)
		}
	}
	return member.Extra(protocol, own, path, losses)
}

// inner returns the unknown members to write into the nested object of that
// prefix, but for those of objects nested deeper.
func inner(fields []*genwayv1.NativeField, prefix string, except ...string) jsontext.Value {
	var own []*genwayv1.NativeField
	for _, f := range fields {
		if f.Protocol == protocol && strings.HasPrefix(f.Name, prefix) && !excepted(f.Name, except) {
			own = append(own, native(f.Name[len(prefix):], f.Json))
		}
	}
	// Only fields of another protocol make Extra fail.
	value, _ := member.Extra(protocol, own, "", nil)
	return value
}

// reserved names the members of a message that native fields of odd types may
// bear, too: where the string is written, they are left out.
func (m *message) reserved() []string {
	names := []string{"extra_content"}
	if !m.ReasoningContent.IsZero() {
		names = append(names, "reasoning_content")
	}
	if !m.Reasoning.IsZero() {
		names = append(names, reasoningName)
	}
	return names
}

func excepted(name string, except []string) bool {
	for _, e := range except {
		if name == e || e[len(e)-1] == '.' && strings.HasPrefix(name, e) {
			return true
		}
	}
	return false
}

// given reports whether a raw member is there and not null.
func given(raw jsontext.Value) bool { return len(raw) > 0 && raw.Kind() != 'n' }
