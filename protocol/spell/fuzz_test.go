package spell

import (
	"testing"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// FuzzMember: whatever the body and the path, there is a name, and no panic.
func FuzzMember(f *testing.F) {
	for _, path := range []string{"messages[0].parts[0].text", "messages[1].parts[0].tool_result.parts[0].image.detail", "tools[0].function.name",
		"sampling.top_k", "stop_sequences[0]", "candidates[0].parts[1].thought_signature", "request.model", "messages[", "[0]", ".", "a..b", "tools[9999999999999999999]"} {
		for name := range bodiesOfSettings {
			f.Add(bodiesOfSettings[name][0], path)
		}
	}
	f.Fuzz(func(t *testing.T, body, path string) {
		for protocol := range of {
			for _, c := range codecs {
				decode := decoder(c)
				if c.Protocol() != protocol {
					continue
				}
				s := New(of[protocol], []byte(body), decode)
				if given := s.Member(path); given == "" && path != "" {
					t.Errorf("%v: %q has no name in %q", protocol, path, body)
				}
				s.Fault(&fault.Error{Kind: genwayv1.ErrorKind_ERROR_KIND_INVALID_REQUEST, Param: path, Message: path + ": no"})
			}
		}
	})
}
