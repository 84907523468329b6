package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// counted is what a recorded answer says of its prompt, in tokens: all of it, and what of it
// came from the vendor's cache.
type counted struct{ input, cached int }

// usage has what the protocols name.
type usage struct {
	PromptTokens        int     `json:"prompt_tokens"`
	PromptTokensDetails *detail `json:"prompt_tokens_details"`
	InputTokens         int     `json:"input_tokens"`
	InputTokensDetails  *detail `json:"input_tokens_details"`
	CacheRead           int     `json:"cache_read_input_tokens"`
	CacheCreation       int     `json:"cache_creation_input_tokens"`
	PromptTokenCount    int     `json:"promptTokenCount"`
	CachedContent       int     `json:"cachedContentTokenCount"`
}

type detail struct {
	CachedTokens int `json:"cached_tokens"`
}

// counts returns what a recorded answer says, of a stream what the last event says that says it.
// It is zero for an answer without usage.
func counts(x exchange) counted {
	bodies := [][]byte{x.Response}
	for _, e := range events(x.ResponseSSE) {
		bodies = append(bodies, []byte(e.data))
	}
	var found counted
	for _, body := range bodies {
		var message struct {
			Usage         *usage `json:"usage"`
			UsageMetadata *usage `json:"usageMetadata"`
			Message       struct {
				Usage *usage `json:"usage"`
			} `json:"message"`
			Response struct {
				Usage *usage `json:"usage"`
			} `json:"response"`
		}
		if json.Unmarshal(body, &message) != nil {
			continue // [DONE]
		}
		for _, u := range []*usage{message.Usage, message.UsageMetadata, message.Message.Usage, message.Response.Usage} {
			if u == nil {
				continue
			}
			if c := u.counted(x.Protocol); c.input > 0 {
				found = c
			}
		}
	}
	return found
}

// counted reads usage as its protocol means it: messages counts cached tokens beside the input.
func (u *usage) counted(protocol string) counted {
	c := counted{input: u.PromptTokens + u.InputTokens + u.PromptTokenCount, cached: u.CachedContent}
	for _, d := range []*detail{u.PromptTokensDetails, u.InputTokensDetails} {
		if d != nil {
			c.cached += d.CachedTokens
		}
	}
	if protocol == "messages" {
		c.input, c.cached = c.input+u.CacheRead+u.CacheCreation, u.CacheRead
	}
	return c
}

// sessions are the requests of recordings that have several, in order. A recording is what one
// client did: its source, up to the number of the request.
func sessions(all []exchange) [][]counted {
	type step struct {
		number int
		counted
	}
	bySource := map[string][]step{}
	for _, x := range all {
		source, number, _ := cutLast(x.Source, "#")
		n, err := strconv.Atoi(number)
		if c := counts(x); err == nil && x.Status == http.StatusOK && c.input > 0 {
			bySource[source] = append(bySource[source], step{n, c})
		}
	}
	var found [][]counted
	for _, steps := range bySource {
		slices.SortFunc(steps, func(a, b step) int { return a.number - b.number })
		var s []counted
		for _, one := range steps {
			s = append(s, one.counted)
		}
		if len(s) > 1 {
			found = append(found, s)
		}
	}
	return found
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// cold is the part of a follow-up's cached tokens that stay uncached when each request of its
// session goes to one of several targets at random: the target has seen none of the earlier
// ones.
func cold(targets, earlier int) float64 {
	return math.Pow(1-1/float64(targets), float64(earlier))
}

// discounts are what vendors take for a cached token, as a part of the price of an input token.
var discounts = []float64{0.1, 0.5}

// stickiness reports what it saves that the requests of a session go to one target.
func stickiness(all []exchange, out io.Writer) {
	var several, warm, follow int
	var input, cached float64
	lost := map[int]float64{}
	targets := []int{2, 3, 4, 8}
	for _, s := range sessions(all) {
		several++
		if !slices.ContainsFunc(s[1:], func(c counted) bool { return c.cached > 0 }) {
			continue
		}
		warm++
		for i, c := range s[1:] {
			follow++
			input += float64(c.input)
			cached += float64(c.cached)
			for _, n := range targets {
				lost[n] += float64(c.cached) * cold(n, i+1)
			}
		}
	}
	fmt.Fprintf(out, "%d sessions of several requests; in %d the vendor's cache served a follow-up\n", several, warm)
	fmt.Fprintf(out, "their %d follow-ups: %.0f tokens of input, %.0f (%.0f %%) of them cached\n", follow, input, cached, 100*cached/input)
	for _, d := range discounts {
		sticky := input - (1-d)*cached
		fmt.Fprintf(out, "a cached token at %.1f of the price: sticky %.0f", d, sticky)
		for _, n := range targets {
			spread := sticky + (1-d)*lost[n]
			fmt.Fprintf(out, "; %d targets %.0f (%.0f %% saved)", n, spread, 100*(1-sticky/spread))
		}
		fmt.Fprintln(out)
	}
}
