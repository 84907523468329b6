package strict

import (
	"regexp"
	"slices"
	"strings"

	"github.com/genway/genway/core/catalog"
)

// Pages of Anthropic's documentation.
const (
	docThinking   = "platform.claude.com/docs/en/build-with-claude/extended-thinking"
	docAdaptive   = "platform.claude.com/docs/en/build-with-claude/adaptive-thinking"
	docEffort     = "platform.claude.com/docs/en/build-with-claude/effort"
	docStructured = "platform.claude.com/docs/en/build-with-claude/structured-outputs"
	docTools      = "platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use"
	docVision     = "platform.claude.com/docs/en/build-with-claude/vision"
	docCaching    = "platform.claude.com/docs/en/build-with-claude/prompt-caching"
	docMessages   = "platform.claude.com/docs/en/api/messages"
	docMigration  = "platform.claude.com/docs/en/about-claude/models/migration-guide"
)

var (
	claudeName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	claudeID   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
)

// claudeImages are the media types of images.
var claudeImages = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// firstParty are members of betas that Claude has at its vendor alone, and whose loss changes no reply: of others a place says so itself.
var firstParty = []string{"context_hint", "diagnostics", "fallbacks", "speed", "tags", "thread"}

// claudeKeywords are what schemas of structured output and strict tools may not have.
var claudeKeywords = []string{
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems", "uniqueItems",
	"minProperties", "maxProperties", "patternProperties", "propertyNames", "if", "not", "oneOf",
}

var messagesRules = []Rule{
	{"a budget is at least 1,024 tokens", docThinking, func(b *body) []value {
		n, ok := b.at("thinking", "budget_tokens").number()
		return when(ok && n < 1024, b.at("thinking", "budget_tokens"))
	}},
	{"a budget is below max_tokens", docThinking, func(b *body) []value {
		n, ok := b.at("thinking", "budget_tokens").number()
		most, bounded := b.at("max_tokens").number()
		return when(ok && bounded && n >= most, b.at("thinking", "budget_tokens"))
	}},
	{"with a budget, temperature is 1", docThinking, func(b *body) []value {
		n, ok := b.at("temperature").number()
		return when(b.budgeted() && ok && n != 1, b.at("temperature"))
	}},
	{"with a budget, there is no top_k", docThinking, func(b *body) []value { return when(b.budgeted(), b.at("top_k")) }},
	{"with a budget, top_p is at least 0.95", docThinking, func(b *body) []value {
		n, ok := b.at("top_p").number()
		return when(b.budgeted() && ok && n < 0.95, b.at("top_p"))
	}},
	// A recorded request to Opus 4.6 with adaptive thinking and any was answered.
	{"with a budget, tool_choice is auto or none", docThinking, func(b *body) []value { return when(b.budgeted() && b.forced(), b.at("tool_choice")) }},
	{"with thinking, the last turn is not the assistant's", docThinking, func(b *body) []value {
		turns := b.turns()
		return when(b.thinking() && prefilled(turns), last(turns).value)
	}},
	{"the model takes no temperature", docMigration, func(b *body) []value { return when(b.refuses("temperature"), b.at("temperature")) }},
	{"the model takes no top_p", docMigration, func(b *body) []value { return when(b.refuses("top_p"), b.at("top_p")) }},
	{"the model takes no top_k", docMigration, func(b *body) []value { return when(b.refuses("top_k"), b.at("top_k")) }},
	{"the model does not decide itself how much to think", docAdaptive, func(b *body) []value {
		return when(b.at("thinking", "type").text() == "adaptive" && b.lacks(catalog.Adaptive), b.at("thinking", "type"))
	}},
	{"the model takes no budget", docAdaptive, func(b *body) []value {
		return when(b.budgeted() && b.lacks(catalog.Budget), b.at("thinking", "budget_tokens"))
	}},
	{"the model takes no effort", docEffort, func(b *body) []value { return when(b.lacks(catalog.Effort), b.at("output_config", "effort")) }},
	{"effort is a word that the model takes", docEffort, func(b *body) []value { return b.unknownEffort(b.at("output_config", "effort")) }},
	{"the model cannot be asked not to think", docAdaptive, func(b *body) []value {
		return when(b.at("thinking", "type").text() == "disabled" && b.model.Thinks == catalog.Always, b.at("thinking", "type"))
	}},
	{"temperature and top_p exclude each other", docMigration, func(b *body) []value {
		return when(b.model.OneOf != nil && len(where([]value{b.at("temperature"), b.at("top_p")}, value.is)) > 1, b.at("top_p"))
	}},
	{"tool_choice demands no call of the model", "@ai-sdk/anthropic 4.0.105, anthropic-model-catalog.ts", func(b *body) []value {
		return when(b.forced() && b.refuses(catalog.ForcedToolChoice), b.at("tool_choice"))
	}},
	{"the model continues no text", docMigration, func(b *body) []value {
		turns := b.turns()
		return when(prefilled(turns) && b.refuses(catalog.Prefill), last(turns).value)
	}},
	{"there are no members of betas that the place lacks", `error text: "Extra inputs are not permitted"`, func(b *body) []value {
		return where(b.members(), func(m value) bool { return b.target.Place != "" && slices.Contains(firstParty, m.path) })
	}},
	{"max_tokens is required", docMessages, func(b *body) []value {
		if n, ok := b.at("max_tokens").number(); ok && n >= 1 {
			return nil
		}
		return []value{b.at("max_tokens")}
	}},
	{"max_tokens is at most the model's", docMessages, func(b *body) []value { return when(b.over(b.at("max_tokens")), b.at("max_tokens")) }},
	{"text that a reply continues does not end in white space", `error text: "final assistant content cannot end with trailing whitespace"`, func(b *body) []value {
		turns := b.turns()
		if !prefilled(turns) || len(last(turns).blocks) == 0 {
			return nil
		}
		text := last(turns).blocks[len(last(turns).blocks)-1].at("text")
		return when(strings.TrimRight(text.text(), " \t\r\n") != text.text(), text)
	}},
	{"with a budget, the assistant's turn of an open tool loop begins with thinking", docThinking, func(b *body) []value {
		loop := openLoop(b.turns())
		return when(b.budgeted() && len(loop) > 0 && !strings.HasSuffix(loop[0].at("type").text(), "thinking"), loop[:min(1, len(loop))]...)
	}},
	{"a strict schema closes each object", docStructured, func(b *body) []value { return b.claudeSchemas(open) }},
	{"a strict schema has no keyword that is not supported", docStructured, func(b *body) []value {
		return b.claudeSchemas(func(s value) []value { return keywords(s, claudeKeywords...) })
	}},
	{"a strict schema has minItems 0 or 1", docStructured, func(b *body) []value { return b.claudeSchemas(manyItems) }},
	{"there are at most 20 strict tools", docStructured, func(b *body) []value {
		return beyond(20, where(b.at("tools").list(), func(t value) bool { return t.at("strict").v == true }))
	}},
	{"input_schema is of type object", docTools, func(b *body) []value {
		return where(b.inputSchemas(), func(s value) bool { return s.at("type").text() != "object" })
	}},
	{"input_schema has no oneOf, anyOf or allOf at its top", docTools, func(b *body) []value {
		return where(b.inputSchemas(), func(s value) bool { return s.has("oneOf") || s.has("anyOf") || s.has("allOf") })
	}},
	{"a tool is named by 1 to 128 letters, digits, _ and -", docTools, func(b *body) []value {
		return where(b.claudeNames(), func(n value) bool { return !claudeName.MatchString(n.text()) })
	}},
	{"names of tools are unique", `error text: "Tool names must be unique"`, func(b *body) []value {
		var names []value
		for _, t := range b.at("tools").list() {
			names = append(names, when(true, t.at("name"))...)
		}
		return repeated(names)
	}},
	{"ids are letters, digits, _ and -", `error text: "String should match pattern '^[a-zA-Z0-9_-]+$'"`, func(b *body) []value {
		var ids []value
		for _, block := range b.blocks() {
			ids = append(ids, when(strings.HasSuffix(block.at("type").text(), "tool_use"), block.at("id"))...)
			ids = append(ids, when(strings.HasSuffix(block.at("type").text(), "tool_result"), block.at("tool_use_id"))...)
		}
		return where(ids, func(id value) bool { return !claudeID.MatchString(id.text()) })
	}},
	{"ids of the calls of a turn are unique", "error text: \"`tool_use` ids must be unique\"", func(b *body) []value { return b.repeatedInTurns("tool_use", "id") }},
	{"each call has its result in the next turn", "error text: \"`tool_use` ids were found without `tool_result` blocks immediately after\"", unansweredUses},
	{"a result has its call in the turn before it", "error text: \"unexpected `tool_use_id` found in `tool_result` blocks\"", orphanedResults},
	{"a call has one result", `error text: "each tool_use must have a single result"`, func(b *body) []value { return b.repeatedInTurns("tool_result", "tool_use_id") }},
	{"results come first in their turn", docTools, func(b *body) []value {
		var late []value
		for _, t := range b.turns() {
			others := false
			for _, block := range t.blocks {
				result := block.at("type").text() == "tool_result"
				late = append(late, when(result && others, block)...)
				others = others || !result
			}
		}
		return late
	}},
	{"an image is image/jpeg, image/png, image/gif or image/webp", docVision, func(b *body) []value {
		var types []value
		for _, block := range blocksOf(b.nested(), "image") {
			types = append(types, when(block.at("source", "type").text() == "base64", block.at("source", "media_type"))...)
		}
		return where(types, func(t value) bool { return !slices.Contains(claudeImages, t.text()) })
	}},
	{"a text is not blank", `error text: "text content blocks must contain non-whitespace text"`, func(b *body) []value {
		var texts []value
		for _, block := range blocksOf(append(b.nested(), b.at("system").list()...), "text") {
			texts = append(texts, block.at("text"))
		}
		return where(texts, value.blank)
	}},
	{"a stop sequence is not blank", `error text: "stop_sequences: each stop sequence must contain non-whitespace"`, func(b *body) []value { return where(b.at("stop_sequences").list(), value.blank) }},
	{"there are at most 4 cache breakpoints", docCaching, func(b *body) []value {
		return beyond(4, where(b.breakpoints(), value.is))
	}},
	{"thinking has no cache breakpoint", docCaching, func(b *body) []value {
		var found []value
		for _, block := range b.blocks() {
			found = append(found, when(strings.HasSuffix(block.at("type").text(), "thinking"), block.at("cache_control"))...)
		}
		return found
	}},
	{"metadata is user_id alone", docMessages, func(b *body) []value {
		return where(b.at("metadata").members(), func(m value) bool { return m.path != "metadata.user_id" })
	}},
	{"user_id has at most 256 characters", docMessages, func(b *body) []value { return longer(256, b.at("metadata", "user_id")) }},
	{"tool_choice comes with tools", "reported, not documented", func(b *body) []value { return when(len(b.at("tools").list()) == 0, b.at("tool_choice")) }},
}

// thinking reports whether the model is asked to think.
func (b *body) thinking() bool {
	return b.budgeted() || b.at("thinking", "type").text() == "adaptive"
}

// budgeted reports whether it is asked to think with a budget.
func (b *body) budgeted() bool { return b.at("thinking", "type").text() == "enabled" }

// forced reports whether a call is demanded.
func (b *body) forced() bool {
	return slices.Contains([]string{"any", "tool"}, b.at("tool_choice", "type").text())
}

// turn is the consecutive messages of one role, which the vendor joins.
type turn struct {
	value
	role   string
	blocks []value
}

// turns returns the turns of the conversation. A content that is a string is a block of text.
func (b *body) turns() []turn {
	var all []turn
	for _, m := range b.at("messages").list() {
		if n := len(all); n == 0 || all[n-1].role != m.at("role").text() {
			all = append(all, turn{value: m, role: m.at("role").text()})
		}
		t := &all[len(all)-1]
		content := m.at("content")
		if s, ok := content.v.(string); ok {
			t.blocks = append(t.blocks, value{content.path, map[string]any{"type": "text", "text": s}})
		}
		t.blocks = append(t.blocks, content.list()...)
	}
	return all
}

// last returns the last turn, an empty one of none.
func last(turns []turn) turn {
	if len(turns) == 0 {
		return turn{}
	}
	return turns[len(turns)-1]
}

// prefilled reports whether the assistant's turn is the last, which the reply continues.
func prefilled(turns []turn) bool { return last(turns).role == "assistant" }

// openLoop returns the blocks of the assistant's turn that a last turn of results is to continue, with earlier results of the
// same loop: it begins after the user's last turn of anything else. No blocks are no open loop.
func openLoop(turns []turn) []value {
	if len(blocksOf(last(turns).blocks, "tool_result")) == 0 {
		return nil
	}
	var loop []value
	for _, t := range turns {
		if t.role == "user" && len(blocksOf(t.blocks, "tool_result")) == 0 {
			loop = nil
			continue
		}
		loop = append(loop, t.blocks...)
	}
	return loop
}

// blocks returns the blocks of all turns.
func (b *body) blocks() []value {
	var all []value
	for _, t := range b.turns() {
		all = append(all, t.blocks...)
	}
	return all
}

// nested returns the blocks of all turns with those in results of tools.
func (b *body) nested() []value {
	all := b.blocks()
	for _, block := range blocksOf(all, "tool_result") {
		all = append(all, block.at("content").list()...)
	}
	return all
}

// blocksOf returns the blocks of a type.
func blocksOf(blocks []value, kind string) []value {
	return where(blocks, func(b value) bool { return b.at("type").text() == kind })
}

// breakpoints returns where the body may have cache breakpoints.
func (b *body) breakpoints() []value {
	all := []value{b.at("cache_control")}
	for _, v := range slices.Concat(b.at("tools").list(), b.at("system").list(), b.nested()) {
		all = append(all, v.at("cache_control"))
	}
	return all
}

// isClaudeFunction reports whether a tool is the caller's own.
func isClaudeFunction(t value) bool {
	kind := t.at("type").text()
	return kind == "" || kind == "custom"
}

func (b *body) inputSchemas() []value {
	var all []value
	for _, t := range where(b.at("tools").list(), isClaudeFunction) {
		all = append(all, t.at("input_schema"))
	}
	return all
}

// claudeNames returns the names of the caller's own tools, wherever they are.
func (b *body) claudeNames() []value {
	var all []value
	for _, t := range where(b.at("tools").list(), isClaudeFunction) {
		all = append(all, t.at("name"))
	}
	for _, use := range blocksOf(b.blocks(), "tool_use") {
		all = append(all, use.at("name"))
	}
	return append(all, when(true, b.at("tool_choice", "name"))...)
}

// claudeSchemas returns what is found in the schemas that the model is held to.
func (b *body) claudeSchemas(find func(value) []value) []value {
	found := find(b.at("output_config", "format", "schema"))
	found = append(found, find(b.at("output_format", "schema"))...)
	for _, t := range where(b.at("tools").list(), func(t value) bool { return t.at("strict").v == true }) {
		found = append(found, find(t.at("input_schema"))...)
	}
	return found
}

// repeatedInTurns returns the ids of blocks of a type that an earlier one of the same turn has.
func (b *body) repeatedInTurns(kind, id string) []value {
	var found []value
	for _, t := range b.turns() {
		var ids []value
		for _, block := range blocksOf(t.blocks, kind) {
			ids = append(ids, block.at(id))
		}
		found = append(found, repeated(ids)...)
	}
	return found
}

// unansweredUses returns the calls without a result in the next turn.
func unansweredUses(b *body) []value {
	turns := b.turns()
	var found []value
	for i, t := range turns {
		var answered []string
		if i+1 < len(turns) {
			answered = resultsOf(turns[i+1])
		}
		found = append(found, where(blocksOf(t.blocks, "tool_use"), func(use value) bool { return !slices.Contains(answered, use.at("id").text()) })...)
	}
	return found
}

// orphanedResults returns the results without a call in the turn before them.
func orphanedResults(b *body) []value {
	turns := b.turns()
	var found []value
	for i, t := range turns {
		var called []string
		if i > 0 {
			for _, use := range blocksOf(turns[i-1].blocks, "tool_use") {
				called = append(called, use.at("id").text())
			}
		}
		found = append(found, where(blocksOf(t.blocks, "tool_result"), func(r value) bool { return !slices.Contains(called, r.at("tool_use_id").text()) })...)
	}
	return found
}

func resultsOf(t turn) []string {
	var ids []string
	for _, r := range blocksOf(t.blocks, "tool_result") {
		ids = append(ids, r.at("tool_use_id").text())
	}
	return ids
}

// beyond returns the values after the first most.
func beyond(most int, all []value) []value {
	if len(all) <= most {
		return nil
	}
	return all[most:]
}

// longer returns the strings with more than so many characters.
func longer(most int, all ...value) []value {
	return where(all, func(v value) bool { return len([]rune(v.text())) > most })
}
