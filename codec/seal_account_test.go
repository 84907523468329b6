package codec_test

import (
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// The account of the last encrypted value is found in each spelling of a seal, and in nothing else.
func TestLastAccount(t *testing.T) {
	const first, last = "0123456789abcdef", "fedcba9876543210"
	value := func(account string) *genwayv1.Seal {
		return &genwayv1.Seal{Origin: genwayv1.Protocol_PROTOCOL_RESPONSES, Value: []byte(codec.AccountPrefix + account + ".gAAAA+/=")}
	}
	for _, p := range []genwayv1.Protocol{genwayv1.Protocol_PROTOCOL_RESPONSES, genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, genwayv1.Protocol_PROTOCOL_MESSAGES, genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT} {
		standard := p == genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
		body := `{"a":"` + codec.SealText(value(first), p, standard) + `","b":["` + codec.SealText(value(last), p, standard) + `"]}`
		if got := codec.LastAccount([]byte(body)); got != last {
			t.Errorf("%v: %q", p, got)
		}
		for i := range body {
			switch got := codec.LastAccount([]byte(body[:i])); got {
			case "", first, last:
			default:
				t.Fatalf("%v, cut at %d: %q", p, i, got)
			}
		}
	}
	for _, body := range []string{"", "genway@", "genway@x.", "genway.responses.", "genway.responses.????????????????????????????????????", "genway.responses.Zm9vZm9vZm9vZm9vZm9vZm9vZm9vZm9vZm9v"} {
		if got := codec.LastAccount([]byte(body)); got != "" {
			t.Errorf("%q: %q", body, got)
		}
	}
}
