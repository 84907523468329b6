package demo

import "time"

// place is an upstream, and what it speaks by the names of ledger.Request.Protocol.
type place struct{ upstream, protocol string }

// model is what callers ask for, and how it behaves.
type model struct {
	name, served, route string
	// places are those that serve it: the first, and the one that follows when that fails.
	places []place
	// first is a usual time to the first event, and perSecond how many tokens follow a second.
	first     time.Duration
	perSecond float64
	image     bool
}

var (
	openAI    = place{"openai", "responses"}
	azure     = place{"azure", "responses"}
	draw      = place{"openai", "images"}
	anthropic = place{"anthropic", "messages"}
	bedrock   = place{"bedrock", "messages"}
	gemini    = place{"gemini", "generate_content"}
	local     = place{"local", "chat_completions"}
	lab       = place{"lab", "chat_completions"}
)

// models are the models of the week, by their names.
var models = map[string]*model{
	"gpt-5":             {"gpt-5", "gpt-5-2025-08-07", "gpt-*", []place{openAI, azure}, 900 * time.Millisecond, 70, false},
	"gpt-5-mini":        {"gpt-5-mini", "gpt-5-mini-2025-08-07", "gpt-*", []place{openAI, azure}, 420 * time.Millisecond, 140, false},
	"gpt-image-1":       {"gpt-image-1", "gpt-image-1", "gpt-image-*", []place{draw}, 0, 0, true},
	"claude-sonnet-4-5": {"claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "claude-*", []place{anthropic, bedrock}, 1100 * time.Millisecond, 75, false},
	"claude-haiku-4-5":  {"claude-haiku-4-5", "claude-haiku-4-5-20251001", "claude-*", []place{anthropic, bedrock}, 480 * time.Millisecond, 150, false},
	"gemini-2.5-flash":  {"gemini-2.5-flash", "gemini-2.5-flash", "gemini-*", []place{gemini}, 380 * time.Millisecond, 190, false},
	"qwen3-32b":         {"qwen3-32b", "qwen3-32b", "qwen*", []place{local, openAI}, 210 * time.Millisecond, 48, false},
	"lab-preview":       {"lab-preview", "lab-preview-7", "lab-*", []place{lab}, 700 * time.Millisecond, 60, false},
}

// lostTo are the members that a request in one protocol may lose on its way to another.
var lostTo = map[[2]string][]string{
	{"chat_completions", "messages"}:         {"seed", "presence_penalty", "other"},
	{"chat_completions", "generate_content"}: {"user", "other"},
	{"messages", "chat_completions"}:         {"cache_control", "top_k", "thinking"},
	{"messages", "responses"}:                {"cache_control", "top_k"},
	{"generate_content", "responses"}:        {"top_k", "other"},
	{"grpc", "messages"}:                     {"seed"},
}
