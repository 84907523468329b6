package strict_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/test/strict"
)

// example is a body that a vendor takes and one that it refuses by one rule alone, with the members that break it. A
// model's name may begin with a place and a colon.
type example struct {
	rule, model, accepted, refused, member string
}

const (
	claude  = "claude-sonnet-4-5"
	newest  = "claude-opus-5-5"
	gpt     = "gpt-4o"
	gpt5    = "gpt-5"
	gemini2 = "gemini-2.5-flash"
	gemini3 = "gemini-3-flash-preview"
)

func asked(members string) string {
	return `{"max_tokens":9000,"messages":[{"role":"user","content":"hi"}],` + members + `}`
}

func conversation(messages string) string { return `{"max_tokens":9000,"messages":[` + messages + `]}` }

func contents(list string) string { return `{"contents":[` + list + `]}` }

func input(items string) string { return `{"input":[` + items + `]}` }

func chat(messages string) string { return `{"messages":[` + messages + `]}` }

// A call and its result in each protocol; the user's question is before them.
const (
	hi           = `{"role":"user","content":"hi"}`
	claudeCall   = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`
	claudeResult = `{"type":"tool_result","tool_use_id":"a","content":"ok"}`
	geminiHi     = `{"role":"user","parts":[{"text":"hi"}]}`
	geminiCall   = `{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"c2ln"}]}`
	geminiResult = `{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"ok":true}}}]}`
	chatCall     = `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	chatResult   = `{"role":"tool","tool_call_id":"a","content":"ok"}`
	item         = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`
	output       = `{"type":"function_call_output","call_id":"a","output":"ok"}`
	user         = `{"role":"user","content":"hi"}`
)

const (
	budget  = `"thinking":{"type":"enabled","budget_tokens":2000}`
	closed  = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
	unended = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`
)

// claudeTool, chatTool, responsesTool and declaration are a tool with a schema.
func claudeTool(schema string) string {
	return `"tools":[{"name":"f","input_schema":` + schema + `}]`
}

func strictClaude(schema string) string {
	return `"tools":[{"name":"f","strict":true,"input_schema":` + schema + `}]`
}

func claudeFormat(schema string) string {
	return `"output_config":{"format":{"type":"json_schema","schema":` + schema + `}}`
}

func declaration(members string) string {
	return `{"contents":[` + geminiHi + `],"tools":[{"functionDeclarations":[` + members + `]}]}`
}

func generation(config string) string {
	return `{"contents":[` + geminiHi + `],"generationConfig":{` + config + `}}`
}

func many(n int, one string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]"
}

func letters(n int) string { return strings.Repeat("x", n) }

var messagesExamples = []example{
	{"a budget is at least 1,024 tokens", claude, asked(`"thinking":{"type":"enabled","budget_tokens":1024}`), asked(`"thinking":{"type":"enabled","budget_tokens":1023}`), "thinking.budget_tokens"},
	{"a budget is below max_tokens", claude, asked(`"thinking":{"type":"enabled","budget_tokens":8999}`), asked(`"thinking":{"type":"enabled","budget_tokens":9000}`), "thinking.budget_tokens"},
	{"with a budget, temperature is 1", claude, asked(budget + `,"temperature":1`), asked(budget + `,"temperature":0.5`), "temperature"},
	{"with a budget, there is no top_k", claude, asked(`"top_k":5`), asked(budget + `,"top_k":5`), "top_k"},
	{"with a budget, top_p is at least 0.95", claude, asked(budget + `,"top_p":0.95`), asked(budget + `,"top_p":0.9`), "top_p"},
	{"with a budget, tool_choice is auto or none", claude, asked(budget + `,"tool_choice":{"type":"auto"},` + claudeTool(closed)), asked(budget + `,"tool_choice":{"type":"any"},` + claudeTool(closed)), "tool_choice"},
	{"with thinking, the last turn is not the assistant's", claude, conversation(hi + `,{"role":"assistant","content":"So"}`), `{"max_tokens":9000,` + budget + `,"messages":[` + hi + `,{"role":"assistant","content":"So"}]}`, "messages[1]"},
	{"the model takes no temperature", newest, asked(`"metadata":{}`), asked(`"temperature":1`), "temperature"},
	{"the model takes no top_p", newest, asked(`"metadata":{}`), asked(`"top_p":1`), "top_p"},
	{"the model takes no top_k", newest, asked(`"metadata":{}`), asked(`"top_k":1`), "top_k"},
	{"the model does not decide itself how much to think", claude, asked(budget), asked(`"thinking":{"type":"adaptive"}`), "thinking.type"},
	{"the model takes no budget", newest, asked(`"thinking":{"type":"adaptive"}`), asked(budget), "thinking.budget_tokens"},
	{"the model takes no effort", claude, asked(budget), asked(`"output_config":{"effort":"low"}`), "output_config.effort"},
	{"effort is a word that the model takes", "claude-opus-4-6", asked(`"output_config":{"effort":"max"}`), asked(`"output_config":{"effort":"xhigh"}`), "output_config.effort"},
	{"the model cannot be asked not to think", newest, asked(`"thinking":{"type":"adaptive"}`), asked(`"thinking":{"type":"disabled"}`), "thinking.type"},
	{"temperature and top_p exclude each other", claude, asked(`"temperature":1`), asked(`"temperature":1,"top_p":1`), "top_p"},
	{"tool_choice demands no call of the model", newest, asked(`"tool_choice":{"type":"auto"},` + claudeTool(closed)), asked(`"tool_choice":{"type":"any"},` + claudeTool(closed)), "tool_choice"},
	{"the model continues no text", "claude-opus-4-6", conversation(hi), conversation(hi + `,{"role":"assistant","content":"So"}`), "messages[1]"},
	{"there are no members of betas that the place lacks", "bedrock:" + claude, asked(`"context_management":{}`), asked(`"speed":"fast"`), "speed"},
	{"max_tokens is required", claude, conversation(hi), `{"messages":[` + hi + `]}`, "max_tokens"},
	{"max_tokens is at most the model's", claude, `{"max_tokens":64000,"messages":[` + hi + `]}`, `{"max_tokens":64001,"messages":[` + hi + `]}`, "max_tokens"},
	{"text that a reply continues does not end in white space", claude, conversation(hi + `,{"role":"assistant","content":"So"}`), conversation(hi + `,{"role":"assistant","content":[{"type":"text","text":"So "}]}`), "messages[1].content[0].text"},
	{"with a budget, the assistant's turn of an open tool loop begins with thinking", claude,
		`{"max_tokens":9000,` + budget + `,"messages":[` + hi + `,{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[` + claudeResult + `]}]}`,
		`{"max_tokens":9000,` + budget + `,"messages":[` + hi + `,` + claudeCall + `,{"role":"user","content":[` + claudeResult + `]}]}`, "messages[1].content[0]"},
	{"a strict schema closes each object", claude, asked(claudeFormat(closed)), asked(claudeFormat(unended)), "output_config.format.schema"},
	{"a strict schema has no keyword that is not supported", claude, asked(strictClaude(closed)), asked(strictClaude(strings.Replace(closed, `"string"`, `"string","minLength":1`, 1))), "tools[0].input_schema.properties.a.minLength"},
	{"a strict schema has minItems 0 or 1", claude, asked(strictClaude(strings.Replace(closed, `"string"`, `"array","minItems":1`, 1))), asked(strictClaude(strings.Replace(closed, `"string"`, `"array","minItems":2`, 1))), "tools[0].input_schema.properties.a.minItems"},
	{"there are at most 20 strict tools", claude, asked(`"tools":[` + numbered(20, `{"name":"f%","strict":true,"input_schema":`+closed+`}`) + `]`), asked(`"tools":[` + numbered(21, `{"name":"f%","strict":true,"input_schema":`+closed+`}`) + `]`), "tools[20]"},
	{"input_schema is of type object", claude, asked(claudeTool(`{"type":"object"}`)), asked(claudeTool(`{}`)), "tools[0].input_schema"},
	{"input_schema has no oneOf, anyOf or allOf at its top", claude, asked(claudeTool(`{"type":"object","properties":{"a":{"anyOf":[]}}}`)), asked(claudeTool(`{"type":"object","anyOf":[]}`)), "tools[0].input_schema"},
	{"a tool is named by 1 to 128 letters, digits, _ and -", claude, asked(`"tools":[{"name":"` + letters(128) + `","input_schema":` + closed + `}]`), asked(`"tools":[{"name":"a.b","input_schema":` + closed + `}]`), "tools[0].name"},
	{"names of tools are unique", claude, asked(`"tools":[{"name":"a","input_schema":` + closed + `},{"name":"b","input_schema":` + closed + `}]`), asked(`"tools":` + many(2, `{"name":"a","input_schema":`+closed+`}`)), "tools[1].name"},
	{"ids are letters, digits, _ and -", claude, conversation(hi + `,` + claudeCall + `,{"role":"user","content":[` + claudeResult + `]}`), conversation(strings.NewReplacer(`"a"`, `"a.1"`).Replace(hi + `,` + claudeCall + `,{"role":"user","content":[` + claudeResult + `]}`)), "messages[1].content[0].id messages[2].content[0].tool_use_id"},
	{"ids of the calls of a turn are unique", claude,
		conversation(hi + `,` + claudeCall + `,{"role":"user","content":[` + claudeResult + `]},` + claudeCall + `,{"role":"user","content":[` + claudeResult + `]}`),
		conversation(hi + `,{"role":"assistant","content":` + many(2, `{"type":"tool_use","id":"a","name":"f","input":{}}`) + `},{"role":"user","content":[` + claudeResult + `]}`), "messages[1].content[1].id"},
	{"each call has its result in the next turn", claude, conversation(hi + `,` + claudeCall + `,{"role":"user","content":[` + claudeResult + `]}`), conversation(hi + `,` + claudeCall + `,` + hi), "messages[1].content[0]"},
	{"a result has its call in the turn before it", claude, conversation(hi + `,` + claudeCall + `,{"role":"user","content":[` + claudeResult + `]}`), conversation(`{"role":"user","content":[` + claudeResult + `]}`), "messages[0].content[0]"},
	{"a call has one result", claude, conversation(hi + `,` + claudeCall + `,{"role":"user","content":[` + claudeResult + `]}`), conversation(hi + `,` + claudeCall + `,{"role":"user","content":` + many(2, claudeResult) + `}`), "messages[2].content[1].tool_use_id"},
	{"results come first in their turn", claude, conversation(hi + `,` + claudeCall + `,{"role":"user","content":[` + claudeResult + `,{"type":"text","text":"hi"}]}`), conversation(hi + `,` + claudeCall + `,{"role":"user","content":[{"type":"text","text":"hi"},` + claudeResult + `]}`), "messages[2].content[1]"},
	{"an image is image/jpeg, image/png, image/gif or image/webp", claude, conversation(`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"AA=="}}]}`), conversation(`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/jpg","data":"AA=="}}]}`), "messages[0].content[0].source.media_type"},
	{"a text is not blank", claude, asked(`"system":[{"type":"text","text":"be"}]`), asked(`"system":[{"type":"text","text":" "}]`), "system[0].text"},
	{"a stop sequence is not blank", claude, asked(`"stop_sequences":["x"]`), asked(`"stop_sequences":["x","\n"]`), "stop_sequences[1]"},
	{"there are at most 4 cache breakpoints", claude, asked(`"system":` + many(4, `{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}`)), asked(`"system":` + many(5, `{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}`)), "system[4].cache_control"},
	{"thinking has no cache breakpoint", claude, conversation(hi + `,{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"s"}]},` + hi), conversation(hi + `,{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"s","cache_control":{"type":"ephemeral"}}]},` + hi), "messages[1].content[0].cache_control"},
	{"metadata is user_id alone", claude, asked(`"metadata":{"user_id":"u"}`), asked(`"metadata":{"user_id":"u","a":"b"}`), "metadata.a"},
	{"user_id has at most 256 characters", claude, asked(`"metadata":{"user_id":"` + letters(256) + `"}`), asked(`"metadata":{"user_id":"` + letters(257) + `"}`), "metadata.user_id"},
	{"tool_choice comes with tools", claude, asked(`"tool_choice":{"type":"auto"},` + claudeTool(closed)), asked(`"tool_choice":{"type":"auto"}`), "tool_choice"},
}

var generateContentExamples = []example{
	{"a budget and a level of thinking exclude each other", gemini3, generation(`"thinkingConfig":{"thinkingLevel":"low"}`), generation(`"thinkingConfig":{"thinkingLevel":"low","thinkingBudget":5}`), "generationConfig.thinkingConfig.thinkingLevel"},
	{"the model takes no level of thinking", gemini2, generation(`"thinkingConfig":{"thinkingBudget":5000}`), generation(`"thinkingConfig":{"thinkingLevel":"low"}`), "generationConfig.thinkingConfig.thinkingLevel"},
	{"the model takes no budget", "gemini-2.5-flash-image", generation(`"temperature":1`), generation(`"thinkingConfig":{"thinkingBudget":5000}`), "generationConfig.thinkingConfig.thinkingBudget"},
	{"a level of thinking is one that the model takes", gemini3, generation(`"thinkingConfig":{"thinkingLevel":"HIGH"}`), generation(`"thinkingConfig":{"thinkingLevel":"xhigh"}`), "generationConfig.thinkingConfig.thinkingLevel"},
	{"a budget is one that the model takes", "gemini-2.5-pro", generation(`"thinkingConfig":{"thinkingBudget":32768}`), generation(`"thinkingConfig":{"thinkingBudget":0}`), "generationConfig.thinkingConfig.thinkingBudget"},
	{"JSON and functions exclude each other", gemini2,
		`{"contents":[` + geminiHi + `],"tools":[{"googleSearch":{}}],"generationConfig":{"responseMimeType":"application/json"}}`,
		`{"contents":[` + geminiHi + `],"tools":[{"functionDeclarations":[{"name":"f"}]}],"generationConfig":{"responseMimeType":"application/json"}}`, "generationConfig.responseMimeType"},
	{"the first call of each step of the current turn has a thought signature", gemini3,
		contents(geminiHi + `,` + strings.Replace(geminiCall, `,"thoughtSignature":"c2ln"`, "", 1) + `,` + geminiResult + `,` + geminiHi + `,` + geminiCall + `,` + geminiResult),
		contents(geminiHi + `,` + geminiCall + `,` + geminiResult + `,` + strings.Replace(geminiCall, `,"thoughtSignature":"c2ln"`, "", 1) + `,` + geminiResult), "contents[3].parts[0].functionCall"},
	{"maxOutputTokens is at most the model's", gemini2, generation(`"maxOutputTokens":65536`), generation(`"maxOutputTokens":65537`), "generationConfig.maxOutputTokens"},
	{"a schema comes with a MIME type of JSON", gemini2, generation(`"responseSchema":{"type":"OBJECT"},"responseMimeType":"application/json"`), generation(`"responseJsonSchema":{"type":"object"}`), "generationConfig.responseJsonSchema"},
	{"a turn with calls follows the user's or results", gemini3, contents(geminiHi + `,` + geminiCall + `,` + geminiResult), contents(geminiHi + `,{"role":"model","parts":[{"text":"So"}]},` + geminiCall + `,` + geminiResult), "contents[2]"},
	{"a turn with calls is followed by as many results of the same names", gemini3, contents(geminiHi + `,` + geminiCall + `,` + geminiResult + `,` + geminiCall + `,` + geminiResult), contents(geminiHi + `,` + geminiCall + `,` + strings.Replace(geminiResult, `"f"`, `"g"`, 1)), "contents[1]"},
	{"results follow their calls", gemini3, contents(geminiHi + `,` + geminiCall + `,` + geminiResult), contents(geminiHi + `,` + geminiResult), "contents[1].parts[0].functionResponse"},
	{"a function is named by a letter or _ and up to 63 letters, digits and _.:-", gemini2, declaration(`{"name":"a.b:c"}`), declaration(`{"name":"1a"}`), "tools[0].functionDeclarations[0].name"},
	{"names of functions are unique", gemini2, declaration(`{"name":"a"},{"name":"b"}`), declaration(`{"name":"a"},{"name":"a"}`), "tools[0].functionDeclarations[1].name"},
	{"a function has parameters of one form", gemini2, declaration(`{"name":"a","parametersJsonSchema":{"type":"object"}}`), declaration(`{"name":"a","parameters":{"type":"OBJECT"},"parametersJsonSchema":{"type":"object"}}`), "tools[0].functionDeclarations[0]"},
	{"allowedFunctionNames come with the mode ANY or VALIDATED", gemini2,
		`{"contents":[` + geminiHi + `],"tools":[{"functionDeclarations":[{"name":"f"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}}}`,
		`{"contents":[` + geminiHi + `],"tools":[{"functionDeclarations":[{"name":"f"}]}],"toolConfig":{"functionCallingConfig":{"mode":"AUTO","allowedFunctionNames":["f"]}}}`, "toolConfig.functionCallingConfig.allowedFunctionNames"},
	{"allowedFunctionNames are declared", gemini2,
		`{"contents":[` + geminiHi + `],"tools":[{"functionDeclarations":[{"name":"f"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}}}`,
		`{"contents":[` + geminiHi + `],"tools":[{"functionDeclarations":[{"name":"f"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["g"]}}}`, "toolConfig.functionCallingConfig.allowedFunctionNames[0]"},
	{"there are at most 5 stop sequences", gemini2, generation(`"stopSequences":` + many(5, `"a"`)), generation(`"stopSequences":` + many(6, `"a"`)), "generationConfig.stopSequences[5]"},
	{"a response is an object", gemini3, contents(geminiHi + `,` + geminiCall + `,` + geminiResult), contents(geminiHi + `,` + geminiCall + `,` + strings.Replace(geminiResult, `{"ok":true}`, `"ok"`, 1)), "contents[2].parts[0].functionResponse.response"},
	{"a turn has parts", gemini2, contents(geminiHi), contents(geminiHi + `,{"role":"model","parts":[]}`), "contents[1]"},
	{"a part has data", gemini2, contents(`{"role":"user","parts":[{"text":"","thought":true}]}`), contents(`{"role":"user","parts":[{"thought":true}]}`), "contents[0].parts[0]"},
}

// openAIExamples are the examples that chat and responses share.
func openAIExamples(protocol string) []example {
	tool := func(members, schema string) string {
		f := `"name":"f","parameters":` + schema + members
		if protocol == "chat" {
			return `"tools":[{"type":"function","function":{` + f + `}}]`
		}
		return `"tools":[{"type":"function",` + f + `}]`
	}
	at := map[string]string{"chat": "tools[0].function", "responses": "tools[0]"}[protocol]
	second := map[string]string{"chat": "tools[1].function.name", "responses": "tools[1].name"}[protocol]
	turns := map[string]string{"chat": "messages", "responses": "input"}[protocol]
	with := func(members string) string { return `{"` + turns + `":[` + user + `],` + members + `}` }
	saying := func(text, members string) string {
		return `{"` + turns + `":[{"role":"user","content":"` + text + `"}],` + members + `}`
	}
	format := map[string]string{"chat": `"response_format":`, "responses": `"text":{"format":`}[protocol]
	end := map[string]string{"chat": "", "responses": "}"}[protocol]
	formatAt := map[string]string{"chat": "response_format", "responses": "text.format"}[protocol]
	schema := map[string]string{"chat": `{"type":"json_schema","json_schema":{"name":"NAME","schema":{}}}`, "responses": `{"type":"json_schema","name":"NAME","schema":{}}`}[protocol]
	schemaAt := map[string]string{"chat": "response_format.json_schema", "responses": "text.format"}[protocol]
	effort := map[string]string{"chat": `"reasoning_effort":"low"`, "responses": `"reasoning":{"effort":"low"}`}[protocol]
	effortAt := map[string]string{"chat": "reasoning_effort", "responses": "reasoning.effort"}[protocol]
	limit := map[string]string{"chat": "max_completion_tokens", "responses": "max_output_tokens"}[protocol]
	logprobs := map[string]string{"chat": `"logprobs":true`, "responses": `"top_logprobs":3`}[protocol]
	logprobsAt := map[string]string{"chat": "logprobs", "responses": "top_logprobs"}[protocol]
	two := strings.TrimSuffix(tool("", closed), "]") + "," + strings.TrimPrefix(tool("", closed), `"tools":[`)
	return []example{
		{"tools is not empty", gpt, with(tool("", closed)), with(`"tools":[]`), "tools"},
		{"tool_choice comes with tools", gpt, with(`"tool_choice":"auto",` + tool("", closed)), with(`"tool_choice":"auto"`), "tool_choice"},
		{"parallel_tool_calls comes with tools", gpt, with(`"parallel_tool_calls":true,` + tool("", closed)), with(`"parallel_tool_calls":true`), "parallel_tool_calls"},
		{"a strict schema closes each object", gpt, with(tool(`,"strict":false`, unended)), with(tool(`,"strict":true`, unended)), at + ".parameters"},
		{"a strict schema requires each property", gpt, with(tool(`,"strict":true`, closed)), with(tool(`,"strict":true`, strings.Replace(closed, `"required":["a"]`, `"required":[]`, 1))), at + ".parameters"},
		{"a strict schema has no keyword that is not supported", gpt, with(tool(`,"strict":true`, closed)), with(tool(`,"strict":true`, strings.Replace(closed, `"type":"string"`, `"oneOf":[]`, 1))), at + ".parameters.properties.a.oneOf"},
		{"a function is named by 1 to 64 letters, digits, _ and -", gpt, with(tool("", closed)), with(strings.Replace(tool("", closed), `"f"`, `"a.b"`, 1)), at + ".name"},
		{"names of functions are unique", gpt, with(strings.Replace(two, `"f"`, `"g"`, 1)), with(two), second},
		{"a schema is named by 1 to 64 letters, digits, _ and -", gpt, with(format + strings.Replace(schema, "NAME", "a", 1) + end), with(format + strings.Replace(schema, "NAME", "a b", 1) + end), schemaAt},
		{"metadata has at most 16 members of 64 and 512 characters", gpt, with(`"metadata":{"` + letters(64) + `":"` + letters(512) + `"}`), with(`"metadata":{"a":"` + letters(513) + `"}`), "metadata.a"},
		{"safety_identifier and prompt_cache_key have at most 64 characters", gpt, with(`"prompt_cache_key":"` + letters(64) + `"`), with(`"prompt_cache_key":"` + letters(65) + `"`), "prompt_cache_key"},
		{"json_object needs the word JSON in the conversation", gpt, saying("as JSON", format+`{"type":"json_object"}`+end), with(format + `{"type":"json_object"}` + end), formatAt},
		{"the model takes no temperature", gpt5, with(effort), with(`"temperature":0.5`), "temperature"},
		{"the model takes no top_p", gpt5, with(effort), with(`"top_p":0.5`), "top_p"},
		{"the model takes no penalties", gpt5, with(effort), with(`"presence_penalty":0.5`), "presence_penalty"},
		{"the model returns no log probabilities", gpt5, with(effort), with(logprobs), logprobsAt},
		{"the model takes no effort", gpt, with(`"temperature":1`), with(effort), effortAt},
		{"effort is a word that the model takes", gpt5, with(effort), with(strings.Replace(effort, "low", "none", 1)), effortAt},
		{"the model takes no prompt_cache_retention", "gpt-6-sol", with(effort), with(`"prompt_cache_retention":"24h"`), "prompt_cache_retention"},
		{"the limit of tokens is at most the model's", gpt, with(`"` + limit + `":16384`), with(`"` + limit + `":16385`), limit},
	}
}

var chatExamples = []example{
	{"ids of calls have at most 40 characters", gpt, chat(user + `,` + strings.ReplaceAll(chatCall+`,`+chatResult, `"a"`, `"`+letters(40)+`"`)), chat(user + `,` + strings.ReplaceAll(chatCall+`,`+chatResult, `"a"`, `"`+letters(41)+`"`)), "messages[1].tool_calls[0].id messages[2].tool_call_id"},
	{"a tool's message follows its call", gpt, chat(user + `,` + chatCall + `,` + chatResult), chat(user + `,` + chatResult), "messages[1]"},
	{"each call is answered at once", gpt, chat(user + `,` + chatCall + `,` + chatResult + `,` + user), chat(user + `,` + chatCall + `,` + user), "messages[1].tool_calls"},
	{"a tool's message is text", gpt, chat(user + `,` + chatCall + `,` + strings.Replace(chatResult, `"ok"`, `[{"type":"text","text":"ok"}]`, 1)), chat(user + `,` + chatCall + `,` + strings.Replace(chatResult, `"ok"`, `[{"type":"image_url","image_url":{"url":"https://a.example/b.png"}}]`, 1)), "messages[2].content[0]"},
	{"tool_calls is not empty", gpt, chat(user + `,{"role":"assistant","content":"a"},` + user), chat(user + `,{"role":"assistant","content":"a","tool_calls":[]},` + user), "messages[1].tool_calls"},
	{"there are at most 4 stop sequences", gpt, `{"messages":[` + user + `],"stop":` + many(4, `"a"`) + `}`, `{"messages":[` + user + `],"stop":` + many(5, `"a"`) + `}`, "stop[4]"},
	{"a reasoning model takes max_completion_tokens", gpt5, `{"messages":[` + user + `],"max_completion_tokens":9}`, `{"messages":[` + user + `],"max_tokens":9}`, "max_tokens"},
}

var responsesExamples = []example{
	{"call_id has at most 64 characters", gpt, input(strings.ReplaceAll(item+`,`+output, `"a"`, `"`+letters(64)+`"`)), input(strings.ReplaceAll(item+`,`+output, `"a"`, `"`+letters(65)+`"`)), "input[0].call_id input[1].call_id"},
	{"the id of an item has at most 64 characters", gpt, input(`{"type":"message","id":"msg_` + letters(60) + `","role":"assistant","content":"a"},` + user), input(`{"type":"message","id":"msg_` + letters(61) + `","role":"assistant","content":"a"},` + user), "input[0].id"},
	{"the id of an item begins with its prefix", gpt, input(`{"id":"msg_1","role":"assistant","content":"a"},` + user), input(`{"id":"1","role":"assistant","content":"a"},` + user), "input[0].id"},
	{"max_output_tokens is at least 16", gpt, `{"input":"hi","max_output_tokens":16}`, `{"input":"hi","max_output_tokens":15}`, "max_output_tokens"},
	{"an output has its call", gpt, `{"input":[` + output + `],"previous_response_id":"resp_1"}`, input(output), "input[0]"},
	{"a call has one output", gpt, input(item + `,` + output), input(item + `,` + output + `,` + output), "input[2].call_id"},
	{"a call has an output", gpt, input(item + `,` + output), input(item + `,` + user), "input[0]"},
	{"reasoning is followed by its item", gpt5, input(`{"type":"reasoning","id":"rs_1","summary":[]},` + item + `,` + output), input(`{"type":"reasoning","id":"rs_1","summary":[]},` + user), "input[0]"},
	{"input is not empty", gpt, `{"input":"hi"}`, `{"input":[]}`, "input"},
	{"the model has no encrypted reasoning", gpt, `{"input":"hi","include":["message.output_text.logprobs"]}`, `{"input":"hi","include":["reasoning.encrypted_content"]}`, "include[0]"},
}

const (
	stepHi     = `{"type":"user_input","content":[{"type":"text","text":"hi"}]}`
	stepCall   = `{"type":"function_call","id":"a","name":"f","arguments":{}}`
	stepResult = `{"type":"function_result","call_id":"a","result":"ok"}`
	stepTool   = `"tools":[{"type":"function","name":"f"}]`
)

// interacting is an interaction of an input, and of members beside it.
func interacting(input string, members ...string) string {
	return `{` + strings.Join(append([]string{`"model":"gemini-2.5-flash"`, `"input":` + input}, members...), ",") + `}`
}

func config(member string) string { return `"generation_config":{` + member + `}` }

const flash = "gemini-2.5-flash"

var interactionsExamples = []example{
	{"an interaction names a model or an agent", flash, `{"agent":"a","input":"hi"}`, `{"input":"hi"}`, "model"},
	{"input is there", flash, interacting(`"hi"`), `{"model":"m","input":[]}`, "input"},
	{"a step has the members of its type", flash, interacting(`[` + stepHi + `]`), interacting(`[{"type":"user_input"}]`), "input[0].content"},
	{"a content has its text, its data or its address", flash, interacting(`[{"type":"user_input","content":[{"type":"image","data":"AA==","mime_type":"image/png"}]}]`), interacting(`[{"type":"user_input","content":[{"type":"image"}]}]`), "input[0].content[0]"},
	{"arguments are an object", flash, interacting(`[` + stepHi + `,` + stepCall + `]`), interacting(`[` + stepHi + `,` + strings.Replace(stepCall, "{}", `"{}"`, 1) + `]`), "input[1].arguments"},
	{"a result follows its call", flash, interacting(`[` + stepHi + `,` + stepCall + `,` + stepResult + `]`), interacting(`[` + stepHi + `,` + stepResult + `]`), "input[1].call_id"},
	{"a function is named by a letter or _ and up to 63 letters, digits and _.:-", flash, interacting(`"hi"`, stepTool), interacting(`"hi"`, strings.Replace(stepTool, `"f"`, `"1f"`, 1)), "tools[0].name"},
	{"names of functions are unique", flash, interacting(`"hi"`, stepTool), interacting(`"hi"`, `"tools":[{"type":"function","name":"f"},{"type":"function","name":"f"}]`), "tools[1].name"},
	{"allowed tools are declared", flash, interacting(`"hi"`, stepTool, config(`"tool_choice":{"allowed_tools":{"tools":["f"]}}`)), interacting(`"hi"`, stepTool, config(`"tool_choice":{"allowed_tools":{"tools":["g"]}}`)), "generation_config.tool_choice.allowed_tools.tools[0]"},
	{"there are at most 5 stop sequences", flash, interacting(`"hi"`, config(`"stop_sequences":`+many(5, `"a"`))), interacting(`"hi"`, config(`"stop_sequences":`+many(6, `"a"`))), "generation_config.stop_sequences[5]"},
	{"a level of thinking is a word of the vendor's", "gemini-3-pro-preview", interacting(`"hi"`, config(`"thinking_level":"low"`)), interacting(`"hi"`, config(`"thinking_level":"max"`)), "generation_config.thinking_level"},
	{"the model takes no level of thinking", "gemini-2.0-flash", interacting(`"hi"`), interacting(`"hi"`, config(`"thinking_level":"low"`)), "generation_config.thinking_level"},
	{"max_output_tokens is at most the model's", flash, interacting(`"hi"`, config(`"max_output_tokens":65536`)), interacting(`"hi"`, config(`"max_output_tokens":65537`)), "generation_config.max_output_tokens"},
	{"a schema comes with a MIME type of JSON", flash, interacting(`"hi"`, `"response_format":{"type":"text","mime_type":"application/json","schema":{}}`), interacting(`"hi"`, `"response_format":{"type":"text","schema":{}}`), "response_format.schema"},
}

// numbered returns a list in which each % is the number of the element.
func numbered(n int, one string) string {
	var all []string
	for i := range n {
		all = append(all, strings.ReplaceAll(one, "%", strings.Repeat("i", i)))
	}
	return strings.Join(all, ",")
}

var examples = map[string][]example{
	"messages":        messagesExamples,
	"generatecontent": generateContentExamples,
	"interactions":    interactionsExamples,
	"chat":            slices.Concat(chatExamples, openAIExamples("chat")),
	"responses":       slices.Concat(responsesExamples, openAIExamples("responses")),
}

// Each rule has a body that it accepts and one that it alone refuses, by the member's path.
func TestRules(t *testing.T) {
	for protocol, all := range examples {
		left := strict.Rules(protocol)
		for _, e := range all {
			place, model, at := strings.Cut(e.model, ":")
			target := strict.Target{Place: place, Protocol: protocol, Model: model}
			if !at {
				target = strict.Target{Protocol: protocol, Model: e.model}
			}
			if refusals := strict.Judge(target, []byte(e.accepted)); len(refusals) > 0 {
				t.Errorf("%s: %s: %v refuse %s", protocol, e.rule, refusals, e.accepted)
			}
			var members []string
			for _, r := range strict.Judge(target, []byte(e.refused)) {
				members = append(members, r.Member)
				if r.Rule != e.rule {
					t.Errorf("%s: %s: refused by %v: %s", protocol, e.rule, r, e.refused)
				}
			}
			if got := strings.Join(members, " "); got != e.member {
				t.Errorf("%s: %s: refused are %q, want %q: %s", protocol, e.rule, got, e.member, e.refused)
			}
			left = slices.DeleteFunc(slices.Clone(left), func(r strict.Rule) bool { return r.Name == e.rule })
		}
		for _, r := range left {
			t.Errorf("%s: %q has no example", protocol, r.Name)
		}
		for _, r := range strict.Rules(protocol) {
			if r.Source == "" {
				t.Errorf("%s: %q has no source", protocol, r.Name)
			}
		}
	}
}

// What is no JSON is refused, and a body of any form is judged without a panic.
func TestOddBodies(t *testing.T) {
	for _, protocol := range []string{"messages", "generatecontent", "interactions", "chat", "responses"} {
		if len(strict.Judge(strict.Target{Protocol: protocol, Model: gpt}, []byte(`{`))) == 0 {
			t.Errorf("%s: half a body is accepted", protocol)
		}
		for _, odd := range []string{`null`, `1`, `""`, `[]`, `{}`, `{"messages":{},"contents":1,"input":{},"tools":"x"}`, `{"messages":[1,null,[]],"contents":[1,null,[]],"input":[1,null,[]],"tools":[1,null,[]]}`,
			`{"messages":[{"role":1,"content":1}],"contents":[{"parts":1}],"input":[{"type":1,"id":1}]}`} {
			strict.Judge(strict.Target{Protocol: protocol, Model: gpt}, []byte(odd))
		}
	}
}

// What is received is judged by its path, and refused in the shape of each vendor.
func TestReceived(t *testing.T) {
	for _, c := range []struct{ path, refused, accepted, error string }{
		{"/v1/messages", `{"model":"m"}`, conversation(hi), `{"error":{"message":"max_tokens: max_tokens is required","type":"invalid_request_error"},"request_id":"req_strict","type":"error"}`},
		{"/v1/projects/p/locations/l/publishers/anthropic/models/claude-sonnet-4-5:streamRawPredict", `{}`, conversation(hi), `{"error":{"message":"max_tokens: max_tokens is required","type":"invalid_request_error"},"request_id":"req_strict","type":"error"}`},
		{"/v1/chat/completions", `{"tools":[]}`, chat(user), `{"error":{"code":null,"message":"tools: tools is not empty","param":"tools","type":"invalid_request_error"}}`},
		{"/v1/responses", `{"input":[]}`, input(user), `{"error":{"code":null,"message":"input: input is not empty","param":"input","type":"invalid_request_error"}}`},
		{"/v1beta/interactions", `{"model":"m"}`, interacting(`"hi"`), `{"error":{"code":"invalid_argument","message":"input: input is there"}}`},
		{"/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", `{"contents":[{}]}`, contents(geminiHi), `{"error":{"code":400,"message":"contents[0]: a turn has parts","status":"INVALID_ARGUMENT"}}`},
	} {
		if all, answer := strict.Received("", c.path, []byte(c.accepted)); len(all) > 0 || answer != nil {
			t.Errorf("%s: %v %s", c.path, all, answer)
		}
		if all, answer := strict.Received("", c.path, []byte(c.refused)); len(all) != 1 || string(answer) != c.error {
			t.Errorf("%s: %v %s", c.path, all, answer)
		}
	}
	if all, _ := strict.Received("", "/v1/messages/count_tokens", []byte(`{}`)); len(all) > 0 {
		t.Errorf("counting tokens: %v", all)
	}
}
