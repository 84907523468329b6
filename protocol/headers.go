package protocol

import (
	"math"
	"strconv"
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
	Budget:   anthropicBudget,
}

// anthropicBudget returns the usage-limit headers of the vendor's own gateway (Claude Code 2.1.332,
// GET /protocol, read 2026-11-27), by which Claude Code warns of a budget that is nearly spent. For a
// budget that is spent they leave out the claim and the status of overage: with them it shows a text
// of its own in place of the error's.
func anthropicBudget(b Budget) map[string]string {
	const prefix = "Anthropic-Ratelimit-Unified-"
	spent, threshold, status := math.Round(b.Spent*100)/100, "", "allowed"
	switch {
	case b.Refused:
		spent, threshold, status = max(spent, 1), "1", "rejected"
	case b.Spent > 0.95:
		spent, threshold, status = min(spent, 0.99), "0.95", "allowed_warning"
	case b.Spent > 0.75:
		threshold, status = "0.75", "allowed_warning"
	}
	reset := strconv.FormatInt(b.Reset.Unix(), 10)
	h := map[string]string{
		prefix + "Status": status, prefix + "Reset": reset, prefix + "Overage-Reset": reset,
		prefix + "Overage-Utilization": strconv.FormatFloat(spent, 'f', -1, 64),
	}
	if threshold != "" {
		h[prefix+"Overage-Surpassed-Threshold"] = threshold
	}
	if !b.Refused {
		h[prefix+"Representative-Claim"], h[prefix+"Overage-Status"] = "overage", status
		return h
	}
	h[prefix+"Overage-Period"], h[prefix+"Overage-Disabled-Reason"] = "monthly", "org_spend_cap_reached"
	if b.Period == "day" {
		h[prefix+"Overage-Period"] = "daily"
	}
	if b.Shared {
		h[prefix+"Overage-Scope"] = "group_pool"
	}
	return h
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
