package config_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/core/config"
)

func TestChecks(t *testing.T) {
	for upstream, want := range map[string]string{
		"kind: chat, base_url: http://x, check: {every: 30s}":                                                                      "",
		"kind: chat, base_url: http://x, check: {every: 30s, model: m}":                                                            "",
		"kind: images, base_url: http://x, check: {every: 30s}":                                                                    "",
		"kind: chat, base_url: http://x, check: {}":                                                                                "every is missing",
		"kind: chat, base_url: http://x, check: {every: 1ms}":                                                                      "check.every: expected 1s to 1h0m0s, got 1ms",
		"kind: chat, base_url: http://x, check: {every: 2h}":                                                                       "expected 1s to 1h0m0s",
		"kind: chat, base_url: http://x, check: {every: -1s}":                                                                      "expected 1s to 1h0m0s",
		"kind: chat, base_url: http://x, check: {every: soon}":                                                                     `"soon" is no duration`,
		"kind: chat, base_url: http://x, check: {ever: 1s}":                                                                        `unknown key "ever"`,
		"kind: images, base_url: http://x, check: {every: 30s, model: m}":                                                          "a check draws no image",
		"kind: sandbox, check: {every: 30s}":                                                                                       "nothing to check",
		"kind: messages, provider: bedrock, region: us-east-1, api_key: k, check: {every: 30s}":                                    "model is missing: provider bedrock does not list its models there",
		"kind: messages, provider: bedrock, endpoint: invoke, region: us-east-1, api_key: k, check: {every: 30s, model: claude-x}": "",
	} {
		_, err := config.Parse("f", []byte("upstreams: {a: {"+upstream+"}}\nroutes: [{model: m, targets: [{upstream: a}]}]\n"), nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", upstream, err)
		}
	}
}
