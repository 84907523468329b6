// Package dialect is data: which members of chat completions an upstream takes. Vendors and
// engines that speak the protocol differ in that, and some answer 422 to a member that they do
// not know. The chat codec heeds a dialect when it writes a request; core/upstream/provider
// has one for each place.
//
// It must not import another package of ours than codec/setting.
package dialect

import (
	"slices"
	"strings"

	"github.com/genway/genway/codec/setting"
)

// Chat is the set of members that an upstream takes, each by its path in the body without
// indices: temperature, messages.name, tools.function.strict. What a conversation with
// tools is made of, which every upstream takes, is not among them: model, messages with their
// roles, texts, calls and results, tools with their names and parameters, stream. Nil takes everything that OpenAI does, and
// what others add. A registered one is never changed.
type Chat struct {
	taken map[string]bool
	// CallIDs is the length of identifiers of tool calls, if they are letters and digits of
	// one length; 0 takes any.
	CallIDs int
	// efforts are the words of reasoning_effort that it takes; nil takes any.
	efforts []string
}

// New returns the dialect that takes the members, which stand apart by white space. It panics
// at a word that is not one of Members: a row of the table is wrong.
func New(members string) *Chat {
	c := &Chat{taken: map[string]bool{}}
	for name := range strings.FieldsSeq(members) {
		if !slices.Contains(all, name) {
			panic("dialect: " + name + " is no member that a dialect may take")
		}
		c.taken[name] = true
	}
	return c
}

// Takes reports whether a member may be sent.
func (c *Chat) Takes(name string) bool { return c == nil || c.taken[name] }

// Lacks are the members that may not be sent, in the order of Members, without those that
// are only another form of one that may: max_tokens and max_completion_tokens.
func (c *Chat) Lacks() []string {
	var names []string
	for _, name := range all {
		if !c.Takes(name) && !slices.Contains(forms, name) {
			names = append(names, name)
		}
	}
	return names
}

// Members are all that a dialect may take or not.
func Members() []string { return slices.Clone(all) }

// forms are members that say in another form what one of the others says.
var forms = []string{
	"max_tokens", "max_completion_tokens", "random_seed", "reasoning", "messages.reasoning_content", "messages.reasoning",
	"response_format.value", "messages.content.array",
}

// all are the members of settings, in the order of their table, and those that the codec has code
// of its own for.
var all = slices.Concat(settings(), strings.Fields(`
	max_tokens max_completion_tokens random_seed logit_bias
	tool_choice tool_choice.function tool_choice.allowed_tools parallel_tool_calls
	tools.function.strict tools.custom tools.cache_control
	response_format.json_schema response_format.value
	reasoning_effort reasoning
	audio prediction web_search_options
	prompt_cache_retention
	stream_options
	messages.developer messages.name
	messages.content.array messages.content.image_url messages.content.image_url.detail messages.content.input_audio
	messages.content.file messages.content.video_url messages.content.audio_url messages.content.refusal
	messages.content.cache_control messages.content.prompt_cache_breakpoint
	messages.refusal messages.reasoning_content messages.reasoning messages.reasoning_details
	messages.annotations messages.images messages.audio messages.extra_content`))

func settings() []string {
	var members []string
	for _, s := range setting.Texts() {
		if s.Chat.Member != "" && !s.Chat.ByHand {
			members = append(members, s.Chat.Member)
		}
	}
	return members
}

// Least is what an upstream takes of which only the protocol is known: the parameters that
// each engine of the table takes, and what bears on the answer, which an upstream without it
// refuses.
var Least = New(`
	max_tokens stop temperature top_p frequency_penalty presence_penalty seed
	tool_choice response_format.json_schema stream_options
	messages.content.image_url messages.content.input_audio messages.content.file messages.content.video_url messages.content.audio_url`)
