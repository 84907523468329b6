// Package requests writes requests as a client of each protocol would: turns of the
// user, results of tools, definitions of tools. A body has neither "model" nor
// "stream": package harness adds them. Answers of the model are given back as
// transcript.Transcript.Echo has them.
//
// It must not import anything of ours but the harness beside it.
package requests

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/genway/genway/test/cases/harness"
)

// Body is a request with the given turns. Members are further members of the
// body: `"temperature":1`.
func Body(p harness.Protocol, members []string, turns ...string) string {
	list := "[" + strings.Join(turns, ",") + "]"
	switch p {
	case harness.Responses, harness.Interactions:
		members = append([]string{`"input":` + list}, members...)
	case harness.Messages:
		members = append([]string{`"max_tokens":4096`, `"messages":` + list}, members...)
	case harness.GenerateContent:
		members = append([]string{`"contents":` + list}, members...)
	default:
		members = append([]string{`"messages":` + list}, members...)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// User is a turn of the user.
func User(p harness.Protocol, text string) string {
	text = strconv.Quote(text)
	if p == harness.GenerateContent {
		return `{"role":"user","parts":[{"text":` + text + `}]}`
	}
	if p == harness.Interactions {
		return `{"type":"user_input","content":[{"type":"text","text":` + text + `}]}`
	}
	return `{"role":"user","content":` + text + `}`
}

// Call is a turn of the model with tool calls, each id, name and arguments (a JSON
// object).
func Call(p harness.Protocol, calls ...[3]string) string {
	var list []string
	for _, c := range calls {
		id, name, arguments := strconv.Quote(c[0]), strconv.Quote(c[1]), c[2]
		switch p {
		case harness.Responses:
			list = append(list, `{"type":"function_call","call_id":`+id+`,"name":`+name+`,"arguments":`+strconv.Quote(arguments)+`}`)
		case harness.Messages:
			list = append(list, `{"type":"tool_use","id":`+id+`,"name":`+name+`,"input":`+arguments+`}`)
		case harness.GenerateContent:
			list = append(list, `{"functionCall":{"id":`+id+`,"name":`+name+`,"args":`+arguments+`}}`)
		case harness.Interactions:
			list = append(list, `{"type":"function_call","id":`+id+`,"name":`+name+`,"arguments":`+arguments+`}`)
		default:
			list = append(list, `{"id":`+id+`,"type":"function","function":{"name":`+name+`,"arguments":`+strconv.Quote(arguments)+`}}`)
		}
	}
	all := strings.Join(list, ",")
	switch p {
	case harness.Responses, harness.Interactions:
		return all
	case harness.Messages:
		return `{"role":"assistant","content":[` + all + `]}`
	case harness.GenerateContent:
		return `{"role":"model","parts":[` + all + `]}`
	default:
		return `{"role":"assistant","content":null,"tool_calls":[` + all + `]}`
	}
}

// Result is a turn with the result of one tool call.
func Result(p harness.Protocol, id, name, text string) string {
	switch p {
	case harness.Responses:
		return fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":%q}`, id, text)
	case harness.Messages:
		return fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}`, id, text)
	case harness.GenerateContent:
		return fmt.Sprintf(`{"role":"user","parts":[{"functionResponse":{"id":%q,"name":%q,"response":{"output":%q}}}]}`, id, name, text)
	case harness.Interactions:
		return fmt.Sprintf(`{"type":"function_result","call_id":%q,"name":%q,"result":%q}`, id, name, text)
	default:
		return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%q}`, id, text)
	}
}

// Tool is a tool definition.
type Tool struct{ Name, Description, Schema string }

// Tools is the body's member with the definitions. Strict adds strict: true, where
// the protocol has it.
func Tools(p harness.Protocol, strict bool, tools ...Tool) string {
	mark := ""
	if strict {
		mark = `,"strict":true`
	}
	var list []string
	for _, t := range tools {
		head := fmt.Sprintf(`"name":%q,"description":%q`, t.Name, t.Description)
		switch p {
		case harness.Responses:
			list = append(list, `{"type":"function",`+head+`,"parameters":`+t.Schema+mark+`}`)
		case harness.Messages:
			list = append(list, `{`+head+`,"input_schema":`+t.Schema+mark+`}`)
		case harness.GenerateContent:
			list = append(list, `{`+head+`,"parametersJsonSchema":`+t.Schema+`}`)
		case harness.Interactions:
			list = append(list, `{"type":"function",`+head+`,"parameters":`+t.Schema+`}`)
		default:
			list = append(list, `{"type":"function","function":{`+head+`,"parameters":`+t.Schema+mark+`}}`)
		}
	}
	all := strings.Join(list, ",")
	if p == harness.GenerateContent {
		return `"tools":[{"functionDeclarations":[` + all + `]}]`
	}
	return `"tools":[` + all + `]`
}

// Choice is the body's member with a tool choice: auto, none, any, or the name of
// a tool.
func Choice(p harness.Protocol, choice string) string {
	named := choice != "auto" && choice != "none" && choice != "any"
	word := map[harness.Protocol]map[string]string{
		harness.Chat:            {"any": "required"},
		harness.Responses:       {"any": "required"},
		harness.GenerateContent: {"any": "ANY", "auto": "AUTO", "none": "NONE"},
	}[p][choice]
	if word == "" {
		word = choice
	}
	switch {
	case p == harness.Interactions && named:
		return fmt.Sprintf(`"generation_config":{"tool_choice":{"allowed_tools":{"mode":"any","tools":[%q]}}}`, choice)
	case p == harness.Interactions:
		return fmt.Sprintf(`"generation_config":{"tool_choice":%q}`, choice)
	case p == harness.GenerateContent && named:
		return fmt.Sprintf(`"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":[%q]}}`, choice)
	case p == harness.GenerateContent:
		return fmt.Sprintf(`"toolConfig":{"functionCallingConfig":{"mode":%q}}`, word)
	case p == harness.Messages && named:
		return fmt.Sprintf(`"tool_choice":{"type":"tool","name":%q}`, choice)
	case p == harness.Messages:
		return fmt.Sprintf(`"tool_choice":{"type":%q}`, word)
	case p == harness.Responses && named:
		return fmt.Sprintf(`"tool_choice":{"type":"function","name":%q}`, choice)
	case named:
		return fmt.Sprintf(`"tool_choice":{"type":"function","function":{"name":%q}}`, choice)
	}
	return fmt.Sprintf(`"tool_choice":%q`, word)
}
