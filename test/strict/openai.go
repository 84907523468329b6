package strict

import (
	"regexp"
	"slices"
	"strings"

	"github.com/genway/genway/core/catalog"
)

// Pages of OpenAI's documentation.
const (
	docChat      = "developers.openai.com/api/reference/chat-completions"
	docResponses = "developers.openai.com/api/reference/responses"
	docFunctions = "developers.openai.com/api/docs/guides/function-calling"
	docSchemas   = "developers.openai.com/api/docs/guides/structured-outputs"
	docReasoning = "developers.openai.com/api/docs/guides/reasoning"
)

var openAIName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// openAIKeywords are what strict schemas may not have.
var openAIKeywords = []string{"allOf", "not", "if", "then", "else", "oneOf", "dependentRequired", "dependentSchemas", "dependencies", "patternProperties"}

// form is where the two protocols of OpenAI have the same thing.
type form struct {
	// function returns the function of a tool, called the names in calls of the history, effort, format and limit the members.
	function func(tool value) value
	effort   []string
	format   []string
	schema   []string
	limit    []string
	turns    string
	// strict reports whether a function is held to its schema.
	strict func(function value) bool
}

var forms = map[string]form{
	"chat": {
		function: func(t value) value { return t.at("function") },
		effort:   []string{"reasoning_effort"}, format: []string{"response_format"}, schema: []string{"response_format", "json_schema"},
		limit: []string{"max_completion_tokens"}, turns: "messages",
		strict: func(f value) bool { return f.at("strict").v == true },
	},
	"responses": {
		function: func(t value) value { return t },
		effort:   []string{"reasoning", "effort"}, format: []string{"text", "format"}, schema: []string{"text", "format"},
		limit: []string{"max_output_tokens"}, turns: "input",
		strict: func(f value) bool { return f.at("strict").v != false },
	},
}

// openAIRules are the rules that chat and responses share, ahead of them those of the one.
func openAIRules(protocol string) []Rule {
	f := forms[protocol]
	functions := func(b *body) []value {
		var all []value
		for _, t := range where(b.at("tools").list(), func(t value) bool { return t.at("type").text() == "function" }) {
			all = append(all, f.function(t))
		}
		return all
	}
	// held returns what is found in the schemas that the model is held to.
	held := func(b *body, find func(value) []value) []value {
		var found []value
		if schema := b.at(f.schema...); schema.at("strict").v == true {
			found = find(schema.at("schema"))
		}
		for _, function := range where(functions(b), f.strict) {
			found = append(found, find(function.at("parameters"))...)
		}
		return found
	}
	names := func(b *body) []value {
		var all []value
		for _, function := range functions(b) {
			all = append(all, function.at("name"))
		}
		return all
	}
	return []Rule{
		{"tools is not empty", `error text: "Invalid 'tools': empty array"`, func(b *body) []value { return where([]value{b.at("tools")}, value.isEmptyList) }},
		{"tool_choice comes with tools", `error text: "'tool_choice' is only allowed when 'tools' are specified"`, func(b *body) []value { return when(!b.at("tools").is(), b.at("tool_choice")) }},
		{"parallel_tool_calls comes with tools", `error text: "'parallel_tool_calls' is only allowed when 'tools' are specified"`, func(b *body) []value { return when(!b.at("tools").is(), b.at("parallel_tool_calls")) }},
		{"a strict schema closes each object", docSchemas, func(b *body) []value { return held(b, open) }},
		{"a strict schema requires each property", docSchemas, func(b *body) []value { return held(b, optional) }},
		{"a strict schema has no keyword that is not supported", docSchemas, func(b *body) []value {
			return held(b, func(s value) []value { return keywords(s, openAIKeywords...) })
		}},
		{"a function is named by 1 to 64 letters, digits, _ and -", docFunctions, func(b *body) []value {
			all := names(b)
			for _, turn := range b.at(f.turns).list() {
				for _, call := range turn.at("tool_calls").list() {
					all = append(all, when(true, call.at("function", "name"))...)
				}
				all = append(all, when(turn.at("type").text() == "function_call", turn.at("name"))...)
			}
			return where(all, func(n value) bool { return !openAIName.MatchString(n.text()) })
		}},
		{"names of functions are unique", docFunctions, func(b *body) []value { return repeated(names(b)) }},
		{"a schema is named by 1 to 64 letters, digits, _ and -", docSchemas, func(b *body) []value {
			return where(when(b.at(f.format...).at("type").text() == "json_schema", b.at(f.schema...)), func(s value) bool { return !openAIName.MatchString(s.at("name").text()) })
		}},
		{"metadata has at most 16 members of 64 and 512 characters", docChat, func(b *body) []value {
			found := beyond(16, b.at("metadata").members())
			return append(found, where(b.at("metadata").members(), func(m value) bool {
				return len([]rune(strings.TrimPrefix(m.path, "metadata."))) > 64 || len([]rune(m.text())) > 512
			})...)
		}},
		{"safety_identifier and prompt_cache_key have at most 64 characters", docChat, func(b *body) []value {
			return longer(64, b.at("safety_identifier"), b.at("prompt_cache_key"))
		}},
		{"json_object needs the word JSON in the conversation", `error text: "must contain the word 'json' in some form"`, func(b *body) []value {
			format := b.at(f.format...)
			return when(format.at("type").text() == "json_object" && !b.says("json", b.at(f.turns)), format)
		}},
		{"the model takes no temperature", docReasoning, func(b *body) []value { return when(b.refusesNow("temperature", f.effort), b.at("temperature")) }},
		{"the model takes no top_p", docReasoning, func(b *body) []value { return when(b.refusesNow("top_p", f.effort), b.at("top_p")) }},
		{"the model takes no penalties", docReasoning, func(b *body) []value {
			return append(when(b.refuses("frequency_penalty"), b.at("frequency_penalty")), when(b.refuses("presence_penalty"), b.at("presence_penalty"))...)
		}},
		{"the model returns no log probabilities", docReasoning, func(b *body) []value {
			return when(b.refusesNow("logprobs", f.effort), b.at("logprobs"), b.at("top_logprobs"))
		}},
		{"the model takes no effort", docReasoning, func(b *body) []value { return when(b.lacks(catalog.Effort), b.at(f.effort...)) }},
		{"effort is a word that the model takes", docReasoning, func(b *body) []value {
			effort := b.at(f.effort...)
			if effort.text() == "none" {
				return when(b.model.Thinks == catalog.Always, effort)
			}
			return b.unknownEffort(effort)
		}},
		{"the model takes no prompt_cache_retention", "@ai-sdk/openai 4.0.118, openai-model-catalog.ts", func(b *body) []value {
			return when(strings.HasPrefix(catalog.Plain(b.target.Model), "gpt-6"), b.at("prompt_cache_retention"))
		}},
		{"the limit of tokens is at most the model's", docChat, func(b *body) []value { return when(b.over(b.at(f.limit...)), b.at(f.limit...)) }},
	}
}

// refusesNow reports whether the model refuses a parameter: always, or while it reasons, as it does by the effort asked for.
func (b *body) refusesNow(parameter string, effort []string) bool {
	asked := b.at(effort...)
	reasons := asked.is() && asked.text() != "none" || !asked.is() && (b.model.Thinks == catalog.Default || b.model.Thinks == catalog.Always)
	return b.refuses(parameter) || reasons && b.model.RefusesThinking != nil && slices.Contains(*b.model.RefusesThinking, parameter)
}

// says reports whether a text in a value has a word, in any case.
func (b *body) says(word string, in value) bool {
	return slices.ContainsFunc(in.every(), func(v value) bool { return strings.Contains(lower(v.text()), word) })
}

var chatRules = []Rule{
	{"ids of calls have at most 40 characters", `error text: "string too long. Expected a string with maximum length 40"`, func(b *body) []value {
		var ids []value
		for _, m := range b.at("messages").list() {
			for _, call := range m.at("tool_calls").list() {
				ids = append(ids, call.at("id"))
			}
			ids = append(ids, m.at("tool_call_id"))
		}
		return longer(40, ids...)
	}},
	{"a tool's message follows its call", `error text: "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"`, func(b *body) []value {
		return b.afterCalls(func(m value, open map[string]bool) []value { return when(!open[m.at("tool_call_id").text()], m) }, nil)
	}},
	{"each call is answered at once", `error text: "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'"`, func(b *body) []value {
		return b.afterCalls(nil, func(calls value) []value { return []value{calls} })
	}},
	{"a tool's message is text", docChat, func(b *body) []value {
		var found []value
		for _, m := range where(b.at("messages").list(), func(m value) bool { return m.at("role").text() == "tool" }) {
			found = append(found, where(m.at("content").list(), func(p value) bool { return p.at("type").text() != "text" })...)
		}
		return found
	}},
	{"tool_calls is not empty", `error text: "Invalid 'messages[1].tool_calls': empty array"`, func(b *body) []value {
		var all []value
		for _, m := range b.at("messages").list() {
			all = append(all, m.at("tool_calls"))
		}
		return where(all, value.isEmptyList)
	}},
	{"there are at most 4 stop sequences", docChat, func(b *body) []value { return beyond(4, b.at("stop").list()) }},
	{"a reasoning model takes max_completion_tokens", `error text: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."`, func(b *body) []value {
		reasons, _ := b.thinks(catalog.Effort)
		return when(reasons, b.at("max_tokens"))
	}},
}

// afterCalls walks through the messages: orphan judges each tool's message by the calls that are open, unanswered each
// message with calls that another than a tool's follows too early.
func (b *body) afterCalls(orphan func(m value, open map[string]bool) []value, unanswered func(calls value) []value) []value {
	var found []value
	var calls value
	open := map[string]bool{}
	end := func() {
		if len(open) > 0 && unanswered != nil {
			found = append(found, unanswered(calls)...)
		}
		open = map[string]bool{}
	}
	for _, m := range b.at("messages").list() {
		if m.at("role").text() == "tool" {
			if orphan != nil {
				found = append(found, orphan(m, open)...)
			}
			delete(open, m.at("tool_call_id").text())
			continue
		}
		end()
		calls = m.at("tool_calls")
		for _, call := range calls.list() {
			open[call.at("id").text()] = true
		}
	}
	end()
	return found
}

// itemPrefixes are how the ids of items begin.
var itemPrefixes = map[string]string{"message": "msg_", "function_call": "fc_", "reasoning": "rs_", "custom_tool_call": "ctc_"}

// outputs are the items that answer calls, by the calls.
var outputs = map[string]string{
	"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output", "local_shell_call": "local_shell_call_output",
	"shell_call": "shell_call_output", "apply_patch_call": "apply_patch_call_output", "computer_call": "computer_call_output",
}

var responsesRules = []Rule{
	{"call_id has at most 64 characters", `error text: "string too long. Expected a string with maximum length 64"`, func(b *body) []value {
		var ids []value
		for _, item := range b.items() {
			ids = append(ids, item.at("call_id"))
		}
		return longer(64, ids...)
	}},
	{"the id of an item has at most 64 characters", `error text: "string too long. Expected a string with maximum length 64"`, func(b *body) []value {
		var ids []value
		for _, item := range b.items() {
			ids = append(ids, item.at("id"))
		}
		return longer(64, ids...)
	}},
	{"the id of an item begins with its prefix", `error text: "Expected an ID that begins with 'msg'"`, func(b *body) []value {
		var found []value
		for _, item := range b.items() {
			prefix := itemPrefixes[item.at("type").text()]
			found = append(found, when(!strings.HasPrefix(item.at("id").text(), prefix), item.at("id"))...)
		}
		return found
	}},
	{"max_output_tokens is at least 16", `error text: "Expected a value >= 16"`, func(b *body) []value {
		n, ok := b.at("max_output_tokens").number()
		return when(ok && n < 16, b.at("max_output_tokens"))
	}},
	{"an output has its call", `error text: "No tool call found for function call output with call_id"`, func(b *body) []value {
		if b.continues() {
			return nil
		}
		called := map[string]bool{}
		return where(b.items(), func(item value) bool {
			kind, id := item.at("type").text(), item.at("call_id").text()
			if strings.HasSuffix(kind, "_call") {
				called[id] = true
			}
			return strings.HasSuffix(kind, "_call_output") && !called[id]
		})
	}},
	{"a call has one output", docResponses, func(b *body) []value {
		var ids []value
		for _, item := range b.items() {
			ids = append(ids, when(strings.HasSuffix(item.at("type").text(), "_call_output"), item.at("call_id"))...)
		}
		return repeated(ids)
	}},
	{"a call has an output", `error text: "No tool output found for function call"`, func(b *body) []value {
		answered := map[string]bool{}
		for _, item := range b.items() {
			answered[item.at("type").text()+item.at("call_id").text()] = true
		}
		return where(b.items(), func(item value) bool {
			answer := outputs[item.at("type").text()]
			return answer != "" && !answered[answer+item.at("call_id").text()]
		})
	}},
	{"reasoning is followed by its item", `error text: "Item 'rs_...' of type 'reasoning' was provided without its required following item"`, func(b *body) []value {
		items := b.items()
		var found []value
		for i, item := range items {
			if item.at("type").text() != "reasoning" {
				continue
			}
			followed := i+1 < len(items) && (items[i+1].at("role").text() == "assistant" || items[i+1].at("type").text() == "reasoning" || strings.HasSuffix(items[i+1].at("type").text(), "_call"))
			found = append(found, when(!followed, item)...)
		}
		return found
	}},
	{"input is not empty", `error text: "Missing required parameter: 'input'"`, func(b *body) []value { return where([]value{b.at("input")}, value.isEmptyList) }},
	{"the model has no encrypted reasoning", `error text: "Encrypted content is not supported with this model"`, func(b *body) []value {
		return where(when(b.lacks(catalog.Effort), b.at("include").list()...), func(v value) bool { return v.text() == "reasoning.encrypted_content" })
	}},
}

// items returns the items of the input. One with a role and no type is a message.
func (b *body) items() []value {
	items := b.at("input").list()
	for i, item := range items {
		if object, ok := item.v.(map[string]any); ok && item.at("role").is() && !item.at("type").is() {
			object["type"] = "message"
			items[i].v = object
		}
	}
	return items
}

// continues reports whether the input is added to a conversation that the vendor has.
func (b *body) continues() bool {
	return b.at("previous_response_id").is() || b.at("conversation").is()
}
