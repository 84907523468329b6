package vendors

import (
	"fmt"
	"strings"
)

// Upstreams is the part of a gateway's configuration that leads to the server. The words
// of a model's name say which way: drain or cancel for what becomes of requests whose
// callers leave, and own or a protocol for the upstream's: answer-drain-chat-17. Own is
// the caller's, and any for a direct one. A model that says fallback goes to chat first, then
// to messages; one that says image is drawn.
func (s *Server) Upstreams(apiKey string) string {
	var upstreams, routes strings.Builder
	for _, policy := range []string{"drain", "cancel"} {
		var all []string
		for _, protocol := range Protocols() {
			name := policy + "-" + protocol
			fmt.Fprintf(&upstreams, "  %s: {kind: %s, base_url: %q, api_key: %q, on_cancel: %s, break_after: -1, headers: {%s: %s}}\n",
				name, protocol, s.URL, apiKey, policy, OnCancel, policy)
			fmt.Fprintf(&routes, "  - {model: \"*-%s-*\", targets: [{upstream: %s}]}\n", name, name)
			all = append(all, "{upstream: "+name+"}")
		}
		fmt.Fprintf(&routes, "  - {model: \"*-%s-own-*\", targets: [%s]}\n", policy, strings.Join(all, ", "))
	}
	routes.WriteString("  - {model: \"*-fallback-*\", targets: [{upstream: drain-chat}], fallback: [{upstream: drain-messages}]}\n")
	fmt.Fprintf(&upstreams, "  images: {kind: images, base_url: %q, api_key: %q}\n", s.URL, apiKey)
	routes.WriteString("  - {model: \"*-image-*\", targets: [{upstream: images}]}\n")
	return "upstreams:\n" + upstreams.String() + "routes:\n" + routes.String()
}

// Prices is a catalogue by which a token in costs 3,000 nano-dollars and one out 15,000.
const Prices = "prices: [{model: \"*\", input: 3, output: 15}]\n"

// Cost is what tokens cost by Prices.
func Cost(input, output int64) int64 { return 3_000*input + 15_000*output }
