package cluster

import (
	"errors"
	"testing"

	"github.com/genway/genway/test/conformance/caller"
)

// The judge classifies each answer: whole, refused natively, cut, ended by an error event, or one
// of the two that must never occur.
func TestP22Judge(t *testing.T) {
	const openai, messages, gemini = `{"error":{"message":"no","type":"server_error","param":null,"code":null}}`,
		`{"type":"error","error":{"type":"overloaded_error","message":"no"}}`, `{"error":{"code":503,"message":"no","status":"UNAVAILABLE"}}`
	for name, test := range map[string]struct {
		protocol string
		stream   bool
		seen     caller.Seen
		err      error
		want     string
	}{
		"whole":                           {"chat", false, caller.Seen{Status: 200, Whole: true}, nil, whole},
		"no answer":                       {"chat", false, caller.Seen{}, errors.New("EOF"), broken},
		"cut":                             {"messages", true, caller.Seen{Status: 200, Cut: true, Body: "event: message_start\n"}, nil, broken},
		"refused, chat":                   {"chat", false, caller.Seen{Status: 503, Body: openai}, nil, "503"},
		"refused, responses":              {"responses", true, caller.Seen{Status: 503, Body: openai}, nil, "503"},
		"refused, messages":               {"messages", false, caller.Seen{Status: 529, Body: messages}, nil, "529"},
		"refused, generateContent":        {"generatecontent", false, caller.Seen{Status: 503, Body: gemini}, nil, "503"},
		"refused by a balancer":           {"chat", false, caller.Seen{Status: 503, Body: "<html>503</html>"}, nil, foreign},
		"refused as another, messages":    {"messages", false, caller.Seen{Status: 503, Body: openai}, nil, foreign},
		"refused as another, generate":    {"generatecontent", false, caller.Seen{Status: 503, Body: openai}, nil, foreign},
		"refused as another, chat":        {"chat", false, caller.Seen{Status: 503, Body: gemini}, nil, foreign},
		"over a budget":                   {"chat", false, caller.Seen{Status: 429, Body: `{"error":{"message":"The budget of this key …","type":"insufficient_quota"}}`}, nil, overBudget},
		"over a rate":                     {"chat", false, caller.Seen{Status: 429, Body: `{"error":{"message":"Rate limit","type":"requests"}}`}, nil, "429"},
		"event, chat":                     {"chat", true, caller.Seen{Status: 200, Body: "data: {}\n\ndata: " + openai + "\n\ndata: [DONE]\n\n"}, nil, event},
		"event, responses":                {"responses", true, caller.Seen{Status: 200, Body: "event: error\ndata: {\"type\":\"error\",\"message\":\"no\"}\n\n"}, nil, event},
		"event, responses, failed":        {"responses", true, caller.Seen{Status: 200, Body: "event: response.failed\ndata: {\"type\":\"response.failed\"}\n\n"}, nil, event},
		"event, messages":                 {"messages", true, caller.Seen{Status: 200, Body: "event: error\ndata: " + messages + "\n\n"}, nil, event},
		"event, generateContent":          {"generatecontent", true, caller.Seen{Status: 200, Body: "data: " + gemini + "\n\n"}, nil, event},
		"ends without a word, stream":     {"messages", true, caller.Seen{Status: 200, Body: "event: message_start\ndata: {}\n\n"}, nil, silent},
		"ends without a word, no content": {"chat", true, caller.Seen{Status: 200}, nil, silent},
		"half a body":                     {"chat", false, caller.Seen{Status: 200, Body: `{"id":`}, nil, silent},
	} {
		if got := judge(caller.Call{Protocol: test.protocol, Stream: test.stream}, test.seen, test.err); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
