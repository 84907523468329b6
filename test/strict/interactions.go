package strict

import (
	"slices"

	"github.com/genway/genway/core/catalog"
)

// docInteractions is where Google's npm package declares the members of an interaction.
const docInteractions = "@google/genai 3.3.0, types of interactions"

var interactionsRules = []Rule{
	{"an interaction names a model or an agent", docInteractions + ": CreateModelInteraction, CreateAgentInteraction", func(b *body) []value {
		return whenNot(b.at("model").is() || b.at("agent").is(), b.at("model"))
	}},
	{"input is there", docInteractions + ": CreateModelInteraction.input", func(b *body) []value {
		return whenNot(b.at("input").is() && !b.at("input").isEmptyList() || b.at("previous_interaction_id").is(), b.at("input"))
	}},
	{"a step has the members of its type", docInteractions + ": UserInputStep, ModelOutputStep, FunctionCallStep, FunctionResultStep", func(b *body) []value {
		var found []value
		for _, step := range b.steps() {
			for _, name := range required[step.at("type").text()] {
				found = append(found, whenNot(step.at(name).is() && !step.at(name).isEmptyList(), step.at(name))...)
			}
		}
		return found
	}},
	{"a content has its text, its data or its address", docInteractions + ": TextContent, ImageContent", func(b *body) []value {
		var found []value
		for _, step := range b.steps() {
			for _, c := range append(step.at("content").list(), step.at("result").list()...) {
				switch c.at("type").text() {
				case "text":
					found = append(found, whenNot(c.at("text").text() != "" || step.at("type").text() == "user_input", c.at("text"))...)
				case "image", "audio", "video", "document":
					found = append(found, whenNot(c.at("data").is() != c.at("uri").is(), c)...)
					found = append(found, whenNot(!c.at("data").is() || c.at("mime_type").is(), c.at("mime_type"))...)
				}
			}
		}
		return found
	}},
	{"arguments are an object", docInteractions + ": FunctionCallStep.arguments", func(b *body) []value {
		var found []value
		for _, step := range b.of("function_call") {
			found = append(found, when(!step.at("arguments").isObject(), step.at("arguments"))...)
		}
		return found
	}},
	{"a result follows its call", docInteractions + ": FunctionResultStep.call_id", func(b *body) []value {
		var calls []string
		var found []value
		for _, step := range b.steps() {
			switch step.at("type").text() {
			case "function_call":
				calls = append(calls, step.at("id").text())
			case "function_result":
				id := step.at("call_id")
				found = append(found, when(!slices.Contains(calls, id.text()) && !b.at("previous_interaction_id").is(), id)...)
			}
		}
		return found
	}},
	{"a function is named by a letter or _ and up to 63 letters, digits and _.:-", docDeclarations, func(b *body) []value {
		var names []value
		for _, f := range append(b.functions(), b.of("function_call")...) {
			names = append(names, f.at("name"))
		}
		return where(names, func(n value) bool { return !geminiName.MatchString(n.text()) })
	}},
	{"names of functions are unique", docDeclarations, func(b *body) []value {
		var names []value
		for _, f := range b.functions() {
			names = append(names, f.at("name"))
		}
		return repeated(names)
	}},
	{"allowed tools are declared", docInteractions + ": AllowedTools", func(b *body) []value {
		functions := b.functions()
		return where(b.at("generation_config", "tool_choice", "allowed_tools", "tools").list(), func(n value) bool {
			return !slices.ContainsFunc(functions, func(f value) bool { return f.at("name").text() == n.text() })
		})
	}},
	{"there are at most 5 stop sequences", docGenerate, func(b *body) []value { return beyond(5, b.at("generation_config", "stop_sequences").list()) }},
	{"a level of thinking is a word of the vendor's", docInteractions + ": ThinkingLevel", func(b *body) []value {
		level := b.at("generation_config", "thinking_level")
		return when(!slices.Contains([]string{"minimal", "low", "medium", "high", "xhigh"}, level.text()), level)
	}},
	{"the model takes no level of thinking", docGemini, func(b *body) []value {
		return when(b.lacks(catalog.Effort) && b.lacks(catalog.Budget), b.at("generation_config", "thinking_level"))
	}},
	{"max_output_tokens is at most the model's", docGenerate, func(b *body) []value {
		limit := b.at("generation_config", "max_output_tokens")
		return when(b.over(limit), limit)
	}},
	{"a schema comes with a MIME type of JSON", docInteractions + ": TextResponseFormat", func(b *body) []value {
		format := b.at("response_format")
		return when(format.at("type").text() == "text" && format.at("mime_type").text() != "application/json", format.at("schema"))
	}},
}

// required are the members that a step must have, by its type.
var required = map[string][]string{
	"user_input": {"content"}, "model_output": {"content"}, "function_call": {"id", "name", "arguments"}, "function_result": {"call_id", "result"},
}

// steps returns the steps of the input.
func (b *body) steps() []value { return b.at("input").list() }

// of returns the steps of a type.
func (b *body) of(kind string) []value {
	return where(b.steps(), func(step value) bool { return step.at("type").text() == kind })
}

// functions returns the functions that are declared.
func (b *body) functions() []value {
	return where(b.at("tools").list(), func(t value) bool { return t.at("type").text() == "function" })
}

// whenNot returns a value, which may be absent, unless a condition is true.
func whenNot(condition bool, v value) []value {
	if condition {
		return nil
	}
	return []value{v}
}
