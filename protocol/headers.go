package protocol

import (
	"strings"
	"time"
)

// events is the framing of protocols that stream only in server-sent events (WHATWG HTML,
// 9.2), whose callers skip comments.
var events = Framing{Heartbeat: ": ping\n\n", Comments: true, Batches: true}

// openaiAnswers are the headers that openai-go hands to programs, but for the quota of the upstream's
// account: a caller would take it for its own.
var openaiAnswers = []string{"Openai-Processing-Ms", "Openai-Version"}

var openaiRates = RateHeaders{
	Requests: [3]string{"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
	Tokens:   [3]string{"X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	Reset:    time.Duration.String,
}

var anthropicRates = RateHeaders{
	Requests: [3]string{"Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
	Tokens:   [3]string{"Anthropic-Ratelimit-Tokens-Limit", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
	Reset:    resetTime,
}

// resetTime is the time of a reset in whole seconds, never early.
func resetTime(in time.Duration) string {
	return time.Now().Add(in + time.Second - 1).UTC().Format(time.RFC3339)
}

// NamesHeader reports whether a list of headers names one. A name in the list that ends in
// a dash stands for all names with that prefix, and one that begins with ! is not named, whatever
// else is in the list. All are spelled alike: in canonical form, or in lower case.
func NamesHeader(list []string, name string) bool {
	named := false
	for _, known := range list {
		known, except := strings.CutPrefix(known, "!")
		if name == known || strings.HasSuffix(known, "-") && strings.HasPrefix(name, known) {
			if except {
				return false
			}
			named = true
		}
	}
	return named
}
