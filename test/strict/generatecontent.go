package strict

import (
	"regexp"
	"slices"

	"github.com/genway/genway/core/catalog"
)

// Pages of Google's documentation.
const (
	docSignatures   = "ai.google.dev/gemini-api/docs/thought-signatures"
	docGemini       = "ai.google.dev/gemini-api/docs/thinking"
	docDeclarations = "ai.google.dev/api/caching#FunctionDeclaration"
	docCalling      = "ai.google.dev/gemini-api/docs/function-calling"
	docJSON         = "ai.google.dev/gemini-api/docs/structured-output"
	docGenerate     = "ai.google.dev/api/generate-content"
)

var (
	geminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)
	// signing are the models that check signatures of thoughts: Gemini 3 and later.
	signing = regexp.MustCompile(`^gemini-([3-9]|[1-9][0-9]|.*-latest)`)
)

var generateContentRules = []Rule{
	{"a budget and a level of thinking exclude each other", docGemini, func(b *body) []value {
		return when(b.thinkingConfig("thinkingBudget").is(), b.thinkingConfig("thinkingLevel"))
	}},
	{"the model takes no level of thinking", docGemini, func(b *body) []value { return when(b.lacks(catalog.Effort), b.thinkingConfig("thinkingLevel")) }},
	{"the model takes no budget", docGemini, func(b *body) []value { return when(b.lacks(catalog.Budget), b.thinkingConfig("thinkingBudget")) }},
	{"a level of thinking is one that the model takes", docGemini, func(b *body) []value {
		level := b.thinkingConfig("thinkingLevel")
		return b.unknownEffort(when(!slices.Contains([]string{"", "thinking_level_unspecified"}, lower(level.text())), value{level.path, lower(level.text())})...)
	}},
	{"a budget is one that the model takes", docGemini, func(b *body) []value {
		budget := b.thinkingConfig("thinkingBudget")
		n, ok := budget.number()
		low, high := b.model.MinBudget, b.model.MaxBudget
		return when(ok && (n > 0 && (low != nil && n < float64(*low) || high != nil && n > float64(*high)) || n == 0 && b.model.Thinks == catalog.Always), budget)
	}},
	{"JSON and functions exclude each other", `error text: "Function calling with a response mime type: 'application/json' is unsupported"`, func(b *body) []value {
		return when(len(b.declarations()) > 0 && b.refuses(catalog.JSONWithTools) && b.generationConfig("responseMimeType").text() == "application/json", b.generationConfig("responseMimeType"))
	}},
	{"the first call of each step of the current turn has a thought signature", docSignatures, func(b *body) []value {
		if !signing.MatchString(catalog.Plain(b.target.Model)) {
			return nil
		}
		return unsigned(b)
	}},
	{"maxOutputTokens is at most the model's", docGenerate, func(b *body) []value {
		return when(b.over(b.generationConfig("maxOutputTokens")), b.generationConfig("maxOutputTokens"))
	}},
	{"a schema comes with a MIME type of JSON", docJSON, func(b *body) []value {
		kind := b.generationConfig("responseMimeType").text()
		return when(kind != "application/json" && kind != "text/x.enum",
			b.generationConfig("responseSchema"), b.generationConfig("responseJsonSchema"), b.generationConfig("_responseJsonSchema"))
	}},
	{"a turn with calls follows the user's or results", docCalling, func(b *body) []value {
		var found []value
		contents := b.at("contents").list()
		for i, c := range contents {
			found = append(found, when(len(called(c)) > 0 && (i == 0 || contents[i-1].at("role").text() == "model"), c)...)
		}
		return found
	}},
	{"a turn with calls is followed by as many results of the same names", docCalling, func(b *body) []value {
		var found []value
		contents := b.at("contents").list()
		for i, c := range contents {
			calls := called(c)
			if len(calls) == 0 {
				continue
			}
			var results []value
			if i+1 < len(contents) {
				results = responded(contents[i+1])
			}
			found = append(found, when(!slices.Equal(namesOf(calls), namesOf(results)), c)...)
		}
		return found
	}},
	{"results follow their calls", docCalling, func(b *body) []value {
		var found []value
		contents := b.at("contents").list()
		for i, c := range contents {
			results := responded(c)
			found = append(found, when(len(results) > 0 && (i == 0 || len(called(contents[i-1])) == 0), results...)...)
		}
		return found
	}},
	{"a function is named by a letter or _ and up to 63 letters, digits and _.:-", docDeclarations, func(b *body) []value {
		names := b.declared()
		for _, c := range b.at("contents").list() {
			for _, p := range append(called(c), responded(c)...) {
				names = append(names, p.at("name"))
			}
		}
		return where(names, func(n value) bool { return !geminiName.MatchString(n.text()) })
	}},
	{"names of functions are unique", docDeclarations, func(b *body) []value { return repeated(b.declared()) }},
	{"a function has parameters of one form", docDeclarations, func(b *body) []value {
		return where(b.declarations(), func(d value) bool {
			return d.at("parameters").is() && d.either("parametersJsonSchema", "parameters_json_schema").is()
		})
	}},
	{"allowedFunctionNames come with the mode ANY or VALIDATED", docCalling, func(b *body) []value {
		mode := b.calling("mode").text()
		return when(mode != "ANY" && mode != "VALIDATED", b.calling("allowedFunctionNames"))
	}},
	{"allowedFunctionNames are declared", docCalling, func(b *body) []value {
		declared := b.declared()
		return where(b.calling("allowedFunctionNames").list(), func(n value) bool {
			return !slices.ContainsFunc(declared, func(d value) bool { return d.text() == n.text() })
		})
	}},
	{"there are at most 5 stop sequences", docGenerate, func(b *body) []value { return beyond(5, b.generationConfig("stopSequences").list()) }},
	{"a response is an object", docDeclarations, func(b *body) []value {
		var responses []value
		for _, c := range b.at("contents").list() {
			for _, p := range responded(c) {
				responses = append(responses, p.at("response"))
			}
		}
		return where(responses, func(r value) bool { return !r.isObject() })
	}},
	{"a turn has parts", `error text: "must include at least one parts field"`, func(b *body) []value {
		return where(append(b.at("contents").list(), when(true, b.systemInstruction())...), func(c value) bool { return len(c.at("parts").list()) == 0 })
	}},
	{"a part has data", `error text: "contents.parts must not be empty", "required oneof field 'data' must have one initialized field"`, func(b *body) []value {
		var parts []value
		for _, c := range append(b.at("contents").list(), b.systemInstruction()) {
			parts = append(parts, c.at("parts").list()...)
		}
		return where(parts, func(p value) bool {
			return !slices.ContainsFunc(p.members(), func(m value) bool { return !slices.Contains(partNotes, m.path[len(p.path)+1:]) && m.is() })
		})
	}},
}

// partNotes are the members of a part that say something of its data.
var partNotes = []string{"thought", "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata", "mediaResolution", "media_resolution", "partMetadata", "part_metadata"}

func (b *body) systemInstruction() value { return b.either("systemInstruction", "system_instruction") }

// generationConfig returns a member of generationConfig, by its name in camel case.
func (b *body) generationConfig(name string) value {
	return b.either("generationConfig", "generation_config").either(name, snake(name))
}

func (b *body) thinkingConfig(name string) value {
	return b.generationConfig("thinkingConfig").either(name, snake(name))
}

func (b *body) calling(name string) value {
	return b.either("toolConfig", "tool_config").either("functionCallingConfig", "function_calling_config").either(name, snake(name))
}

// declarations returns the functions that are declared.
func (b *body) declarations() []value {
	var all []value
	for _, t := range b.at("tools").list() {
		all = append(all, t.either("functionDeclarations", "function_declarations").list()...)
	}
	return all
}

// declared returns their names.
func (b *body) declared() []value {
	var names []value
	for _, d := range b.declarations() {
		names = append(names, d.at("name"))
	}
	return names
}

// called returns the calls in a turn, responded the results.
func called(content value) []value { return ofParts(content, "functionCall", "function_call") }
func responded(content value) []value {
	return ofParts(content, "functionResponse", "function_response")
}

func ofParts(content value, names ...string) []value {
	var all []value
	for _, p := range content.at("parts").list() {
		all = append(all, when(true, p.either(names...))...)
	}
	return all
}

// namesOf returns the names of calls or results, sorted.
func namesOf(all []value) []string {
	names := []string{}
	for _, v := range all {
		names = append(names, v.at("name").text())
	}
	slices.Sort(names)
	return names
}

// unsigned returns the first call of each step of the current turn, where it has no signature. The current turn begins
// after the user's last content that has anything but results.
func unsigned(b *body) []value {
	contents := b.at("contents").list()
	begin := 0
	for i, c := range contents {
		if c.at("role").text() != "model" && len(responded(c)) == 0 {
			begin = i
		}
	}
	var found []value
	for _, c := range contents[min(begin, len(contents)):] {
		for _, p := range c.at("parts").list() {
			if call := p.either("functionCall", "function_call"); call.is() {
				found = append(found, when(p.either("thoughtSignature", "thought_signature").text() == "", call)...)
				break
			}
		}
	}
	return found
}
