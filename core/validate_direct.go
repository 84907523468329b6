package core

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
)

// checkDirect demands of a direct caller's request what the codec of a JSON caller sees to: that
// each value is one that the contract has, and that texts of JSON are JSON. Without it the answer
// would depend on the upstream, and some would leave out what they do not know.
func checkDirect(req *genwayv1.GenerateTextRequest) error {
	for i, m := range req.GetMessages() {
		if err := checkMessage(m, i); err != nil {
			return err
		}
	}
	for i, t := range req.GetTools() {
		if err := checkTool(t, i); err != nil {
			return err
		}
	}
	if err := checkSettings(req); err != nil {
		return err
	}
	if err := checkNatives("", req.GetNativeFields()); err != nil {
		return err
	}
	if c := req.GetCacheControl(); c != nil {
		if err := checkCache(c, func() string { return "" }); err != nil {
			return err
		}
	}
	return checkExtra(req, req.GetExtraJson())
}

// checkCache checks the time to live of the breakpoint of what is at a path.
func checkCache(c *genwayv1.CacheControl, path func() string) error {
	if c.Ttl == nil || c.Ttl.CheckValid() == nil && c.Ttl.GetSeconds() > 0 && c.Ttl.GetSeconds() <= math.MaxInt32 && c.Ttl.GetNanos() == 0 {
		return nil
	}
	at := member.Join(path(), "cache_control.ttl")
	return fault.Invalid(at, "%s: expected whole seconds from 1 to %d", at, math.MaxInt32)
}

func checkMessage(m *genwayv1.Message, i int) error {
	if _, known := genwayv1.Role_name[int32(m.GetRole())]; !known {
		return unknownValue(messageAt(i)+".role", int32(m.GetRole()))
	}
	for j, p := range m.GetParts() {
		if result := p.GetToolResult(); result != nil {
			for k, inner := range result.GetParts() {
				if err := checkInner(inner, func() string {
					return member.Within(partAt(i, j), ".tool_result.parts", k)
				}); err != nil {
					return err
				}
			}
		}
		if err := checkPart(p, func() string { return partAt(i, j) }); err != nil {
			return err
		}
	}
	if len(m.GetNativeFields()) == 0 {
		return nil
	}
	return checkNatives(messageAt(i), m.GetNativeFields())
}

// checkInner checks a part of a tool result. No protocol has a result in a result, so that
// requests are no deeper than that.
func checkInner(p *genwayv1.Part, path func() string) error {
	switch {
	case p.GetKind() == nil:
		return fault.Missing(path() + ".kind")
	case p.GetToolResult() != nil:
		at := path() + ".tool_result"
		return fault.Invalid(at, "%s: a tool result cannot stand in another one", at)
	}
	return checkPart(p, path)
}

// checkPart checks the JSON of a part; path is only called for its name in an error.
func checkPart(p *genwayv1.Part, path func() string) error {
	if o := p.GetOpaque(); o != nil && !member.Valid(o.GetJson()) {
		return notJSON(path() + ".opaque.json")
	}
	if c := p.GetCacheControl(); c != nil {
		if err := checkCache(c, path); err != nil {
			return err
		}
	}
	if len(p.GetNativeFields()) == 0 {
		return nil
	}
	return checkNatives(path(), p.GetNativeFields())
}

func checkTool(t *genwayv1.Tool, i int) error {
	var name, json string
	switch k := t.GetKind().(type) {
	case nil:
		return fault.Missing(member.Index("tools", i) + ".kind")
	case *genwayv1.Tool_Function:
		name, json = ".function.parameters_json", k.Function.GetParametersJson()
	case *genwayv1.Tool_Custom:
		name, json = ".custom.format_json", k.Custom.GetFormatJson()
	case *genwayv1.Tool_Hosted:
		if !member.Valid(k.Hosted.GetJson()) {
			return notJSON(member.Index("tools", i) + ".hosted.json")
		}
	}
	if json != "" && !member.Valid([]byte(json)) {
		return notJSON(member.Index("tools", i) + name)
	}
	if c := t.GetCacheControl(); c != nil {
		if err := checkCache(c, func() string { return member.Index("tools", i) }); err != nil {
			return err
		}
	}
	if len(t.GetNativeFields()) == 0 {
		return nil
	}
	return checkNatives(member.Index("tools", i), t.GetNativeFields())
}

func checkSettings(req *genwayv1.GenerateTextRequest) error {
	choice, format, thinking := req.GetToolChoice(), req.GetResponseFormat(), req.GetThinking()
	if _, known := genwayv1.ToolChoice_Mode_name[int32(choice.GetMode())]; !known {
		return unknownValue("tool_choice.mode", int32(choice.GetMode()))
	}
	if _, known := genwayv1.ResponseFormat_Kind_name[int32(format.GetKind())]; !known {
		return unknownValue("response_format.kind", int32(format.GetKind()))
	}
	if _, known := genwayv1.ThinkingConfig_Mode_name[int32(thinking.GetMode())]; !known {
		return unknownValue("thinking.mode", int32(thinking.GetMode()))
	}
	switch {
	case format != nil && format.GetKind() == genwayv1.ResponseFormat_KIND_UNSPECIFIED && format.GetNative() == nil:
		return fault.Missing("response_format.kind")
	case format.GetNative() != nil && !member.Valid(format.GetNative().GetJson()):
		return notJSON("response_format.native.json")
	case format.GetSchemaJson() != "" && !member.Valid([]byte(format.GetSchemaJson())):
		return notJSON("response_format.schema_json")
	case choice.GetNative() != nil && !member.Valid(choice.GetNative().GetJson()):
		return notJSON("tool_choice.native.json")
	}
	if budget, effort := thinking.GetBudgetTokens(), thinking.GetEffort(); effort != "" && thinking.BudgetTokens != nil && (effort == "none") != (budget == 0) {
		return fault.Invalid("thinking.budget_tokens", "thinking.budget_tokens: %d contradicts the effort %q; set one of them, or both to think or not to think", budget, effort)
	}
	if err := checkNatives("thinking", thinking.GetNativeFields()); err != nil {
		return err
	}
	return checkNatives("audio_output", req.GetAudioOutput().GetNativeFields())
}

// checkNatives checks members of the object at a path that the contract has no field for.
func checkNatives(path string, fields []*genwayv1.NativeField) error {
	for _, f := range fields {
		if !member.IsMark(f) && !member.Valid(f.GetJson()) {
			return notJSON(member.Join(path, f.GetName()))
		}
	}
	return nil
}

// checkExtra refuses options of extra_json that the request has a field for, in any spelling. Encoders refuse those that their
// protocol has another name for.
func checkExtra(req proto.Message, text string) error {
	if text == "" {
		return nil
	}
	var options map[string]jsontext.Value
	if json.Unmarshal([]byte(text), &options) != nil || options == nil {
		return fault.Invalid("extra_json", "extra_json: expected the text of a JSON object that has each member once")
	}
	fields := req.ProtoReflect().Descriptor().Fields()
	for _, name := range slices.Sorted(maps.Keys(options)) {
		for i := range fields.Len() {
			if strings.EqualFold(strings.ReplaceAll(name, "_", ""), fields.Get(i).JSONName()) {
				return fault.Invalid("extra_json."+name, "extra_json.%s: the request has a field for it", name)
			}
		}
	}
	return nil
}

func messageAt(i int) string { return fmt.Sprintf("messages[%d]", i) }

func partAt(i, j int) string { return fmt.Sprintf("messages[%d].parts[%d]", i, j) }

func unknownValue(path string, value int32) error {
	return fault.Invalid(path, "%s: the contract has no value %d", path, value)
}

func notJSON(path string) error { return fault.Invalid(path, "%s is not valid JSON", path) }
