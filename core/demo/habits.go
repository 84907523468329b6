package demo

import "github.com/genway/genway/core/keys"

// habit is a key, and what its holder does with it.
type habit struct {
	name, owner string
	group       keys.Group
	// protocol is that of its requests, by the names of the ledger.
	protocol string
	// share is the key's weight among all keys: how many of the requests it sends. A key with 0
	// sends none.
	share float64
	hours hours
	// models are what it asks for, each as likely as its figure says.
	models []choice
	// input and output are usual numbers of tokens, cached the part of the input that comes from
	// a cache, thinking that of the output which is thinking.
	input, output    float64
	cached, thinking float64
	// streams is the part of its requests that are streams, left that whose caller leaves early.
	streams, left float64
	// session is how many requests a trace has, as of an agent; 0 is one.
	session int

	// What the key may do. month is a budget in dollars, if there are 100,000 requests.
	may                                    []string
	perMinute, tokensPerMinute, concurrent int64
	month                                  float64
	batch                                  bool

	// age is how many days before the week the key was made; expires in how many days after it the
	// key does.
	age, expires int
	// endsAfter is when in the week the key is revoked, as a part of it; raised the requests per
	// minute that it was given in the week; rotated that it has a new secret.
	endsAfter float64
	raised    int64
	rotated   bool
}

type choice struct {
	model string
	part  float64
}

var habits = []habit{
	{name: "web-chat", owner: "web", group: keys.GroupChat, protocol: "chat_completions", share: 24, hours: office, models: []choice{{"gpt-5-mini", .85}, {"gpt-5", .15}}, input: 1400, output: 260, cached: .35, streams: .95, left: .02, perMinute: 3000, month: 900, age: 61},
	{name: "support-bot", owner: "support", group: keys.GroupChat, protocol: "responses", share: 14, hours: always, models: []choice{{"gpt-5-mini", 1}}, input: 2600, output: 340, cached: .6, thinking: .3, streams: .7, left: .01, perMinute: 1200, raised: 2400, month: 160, age: 140},
	{name: "mobile-app", owner: "mobile", group: keys.GroupGenerateContent, protocol: "generate_content", share: 13, hours: evening, models: []choice{{"gemini-2.5-flash", 1}}, input: 700, output: 180, cached: .1, streams: .6, left: .04, perMinute: 6000, month: 60, age: 33},
	{name: "search-summaries", owner: "search", group: keys.GroupGenerateContent, protocol: "generate_content", share: 12, hours: always, models: []choice{{"gemini-2.5-flash", .9}, {"gpt-5-mini", .1}}, input: 5200, output: 220, cached: .2, month: 250, age: 88},
	{name: "claude-code-ada", owner: "platform", group: keys.GroupMessages, protocol: "messages", share: 7, hours: office, models: []choice{{"claude-sonnet-4-5", .8}, {"claude-haiku-4-5", .2}}, input: 52000, output: 620, cached: .9, thinking: .35, streams: 1, left: .05, session: 14, tokensPerMinute: 4_000_000, month: 1400, age: 12},
	{name: "claude-code-grace", owner: "platform", group: keys.GroupMessages, protocol: "messages", share: 5, hours: office, models: []choice{{"claude-sonnet-4-5", .9}, {"claude-haiku-4-5", .1}}, input: 61000, output: 540, cached: .92, thinking: .4, streams: 1, left: .06, session: 18, tokensPerMinute: 4_000_000, month: 700, age: 12},
	{name: "codex-linus", owner: "platform", group: keys.GroupChat, protocol: "responses", share: 4, hours: office, models: []choice{{"gpt-5", 1}}, input: 38000, output: 900, cached: .85, thinking: .6, streams: 1, left: .03, session: 11, month: 600, age: 9, rotated: true},
	{name: "nightly-evals", owner: "evals", group: keys.GroupInternal, protocol: "grpc", share: 8, hours: night, models: []choice{{"gpt-5", .3}, {"claude-sonnet-4-5", .3}, {"gemini-2.5-flash", .3}, {"lab-preview", .1}}, input: 1800, output: 700, thinking: .2, batch: true, concurrent: 64, month: 500, age: 75},
	{name: "report-writer", owner: "data", group: keys.GroupChat, protocol: "chat_completions", share: 4, hours: office, models: []choice{{"claude-sonnet-4-5", .7}, {"gemini-2.5-flash", .3}}, input: 9000, output: 1500, streams: .3, left: .01, may: []string{"claude-*", "gemini-*"}, month: 450, age: 40},
	{name: "summaries-local", owner: "data", group: keys.GroupMessages, protocol: "messages", share: 5, hours: always, models: []choice{{"qwen3-32b", 1}}, input: 3000, output: 300, streams: .2, perMinute: 600, age: 52},
	{name: "design-studio", owner: "design", group: keys.GroupChat, protocol: "images", share: 1.2, hours: office, models: []choice{{"gpt-image-1", 1}}, may: []string{"gpt-image-*"}, month: 40, age: 20},
	{name: "old-frontend", owner: "web", group: keys.GroupChat, protocol: "chat_completions", share: 3, hours: office, models: []choice{{"gpt-5-mini", 1}}, input: 1100, output: 240, streams: .5, left: .02, age: 200, endsAfter: .55},
	{name: "contractor", owner: "agency", group: keys.GroupChat, protocol: "responses", share: .6, hours: office, models: []choice{{"gpt-5", 1}}, input: 2000, output: 500, streams: .8, month: 8, expires: 9, age: 18},
	{name: "partner-api", owner: "partner", group: keys.GroupMessages, protocol: "messages", share: 2, hours: always, models: []choice{{"claude-haiku-4-5", 1}}, input: 1500, output: 280, cached: .3, streams: .4, left: .02, perMinute: 300, age: 26},
	{name: "ci", owner: "platform", group: keys.GroupInternal, protocol: "grpc", share: .8, hours: office, models: []choice{{"gpt-5-mini", 1}}, input: 400, output: 60, age: 101},
	{name: "staging", owner: "web", group: keys.GroupChat, age: 66},
	{name: "ops", owner: "platform", group: keys.GroupAdmin, age: 210},
}
