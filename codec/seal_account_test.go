package codec_test

import (
	"fmt"
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// The account of the last seal is found in each spelling, of each maker, and in nothing else.
func TestLastAccount(t *testing.T) {
	const first, last = "01234567", "fedcba98"
	protocols := []genwayv1.Protocol{genwayv1.Protocol_PROTOCOL_RESPONSES, genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, genwayv1.Protocol_PROTOCOL_MESSAGES, genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT}
	for _, maker := range protocols {
		value := func(account, text string) *genwayv1.Seal {
			return &genwayv1.Seal{Protocol: maker, Value: []byte(codec.AccountPrefix + account + "." + text)}
		}
		for _, p := range protocols {
			for _, text := range []string{"gAAAA+/=", "s"} {
				standard := p == genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
				body := `{"a":"` + codec.SealText(value(first, text), p, standard) + `","b":["` + codec.SealText(value(last, text), p, standard) + `"]}`
				if got := codec.LastAccount([]byte(body)); got != last {
					t.Errorf("%v in %v: %q", maker, p, got)
				}
				for i := range body {
					switch got := codec.LastAccount([]byte(body[:i])); got {
					case "", first, last:
					default:
						t.Fatalf("%v in %v, cut at %d: %q", maker, p, i, got)
					}
				}
			}
		}
	}
	for _, body := range []string{
		"", "genway@", "genway@.", "genway@x.", "genway@.x", "genway@01234567012345670.x", "genway.", "genway..", "genway.responses", "genway.responses.",
		"genway.responses.????????????????????????????????????", "genway.responses.Zm9vZm9vZm9vZm9vZm9vZm9vZm9vZm9vZm9v", "Z2Vud2F5", "Z2Vud2F5LnJlc3BvbnNlcy4=", "Z2Vud2F5Z2Vud2F5",
	} {
		if got := codec.LastAccount([]byte(body)); got != "" {
			t.Errorf("%q: %q", body, got)
		}
	}
	envelope := codec.SealText(&genwayv1.Seal{Protocol: genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, Value: []byte(codec.AccountPrefix + last + ".s")}, genwayv1.Protocol_PROTOCOL_RESPONSES, false)
	if got := codec.LastAccount([]byte(`{"encrypted_content":"thought.` + envelope + `"}`)); got != last {
		t.Errorf("an envelope behind a word: %q", got)
	}
	const text = `{"signature":"genway@` + last + `.s","text":"%s"}`
	for _, words := range []string{"mail genway@corp.example", `\"genway@corp.example\"`, "genway.responses.Z2Vud2F5QGNvcnAueA", " Z2Vud2F5LnJlc3BvbnNlcy4"} {
		if got := codec.LastAccount(fmt.Appendf(nil, text, words)); got != last {
			t.Errorf("beside the text %s: %q", words, got)
		}
	}
}
