package chat_test

import (
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
)

// TestFingerprintsThatComeLate demands the fingerprint of a stream, or its name as lost: the contract has
// it in the event that starts a stream. vLLM sends it with the usage, at the end.
func TestFingerprintsThatComeLate(t *testing.T) {
	const begun, named = `{"id":"a","choices":[{"index":0,"delta":{"content":"x"}}]}`, `{"id":"a","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":"x"}}]}`
	const ended, usage = `{"id":"a","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `{"id":"a","choices":[],"usage":{"prompt_tokens":1},"system_fingerprint":"fp_1"}`
	for name, tc := range map[string]struct {
		frames []string
		want   string
		lost   bool
	}{
		"none":                   {[]string{begun, ended}, "", false},
		"null and empty":         {[]string{begun, `{"id":"a","choices":[],"system_fingerprint":null}`, `{"id":"a","choices":[],"system_fingerprint":""}`, ended}, "", false},
		"with the first":         {[]string{named, ended}, "fp_1", false},
		"with each":              {[]string{named, named, ended, usage}, "fp_1", false},
		"ahead of the first":     {[]string{`{"id":"","choices":[],"prompt_filter_results":[],"system_fingerprint":"fp_1"}`, begun, ended}, "fp_1", false},
		"with the second":        {[]string{begun, named, ended}, "", true},
		"with the usage":         {[]string{begun, ended, usage}, "", true},
		"with all but the first": {[]string{begun, named, named, ended, usage}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			var frames []codec.Frame
			for _, f := range append(tc.frames, "[DONE]") {
				frames = append(frames, codec.Frame{Data: []byte(f)})
			}
			resp, err := codectest.DecodeStream(c, frames)
			if err != nil {
				t.Fatal(err)
			}
			var lost []string
			for _, l := range resp.Losses {
				lost = append(lost, l.Member)
			}
			if resp.SystemFingerprint != tc.want || tc.lost != (len(lost) == 1 && lost[0] == "system_fingerprint") || !tc.lost && len(lost) > 0 {
				t.Errorf("%q, lost %q", resp.SystemFingerprint, lost)
			}
		})
	}
}
