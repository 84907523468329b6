package messages

import "testing"

func TestMaxTokens(t *testing.T) {
	for model, want := range map[string]int64{
		"claude-instant-1.2":                         4096,
		"claude-2.1":                                 4096,
		"claude-3-haiku-20240307":                    4096,
		"claude-3-opus-latest":                       4096,
		"claude-3-5-sonnet-20241022":                 8192,
		"claude-3.5-haiku":                           8192,
		"claude-3-5-sonnet@20240620":                 8192,
		"claude-3-7-sonnet-latest":                   64000,
		"claude-sonnet-4-20250514":                   64000,
		"claude-opus-4-20250514":                     32000,
		"claude-opus-4@20250514":                     32000,
		"claude-opus-4-0":                            32000,
		"claude-opus-4-1-20250805":                   32000,
		"anthropic/claude-opus-4.1":                  32000,
		"us.anthropic.claude-sonnet-4-20250514-v1:0": 64000,
		"us.anthropic.claude-opus-4-1-20250805-v1:0": 32000,
		"anthropic.claude-3-haiku-20240307-v1:0":     4096,
		"claude-sonnet-4-5":                          64000,
		"claude-opus-4-5-20251101":                   64000,
		"claude-haiku-4-5":                           64000,
		"claude-opus-4-6":                            128000,
		"Claude-Sonnet-4.6":                          128000,
		"claude-opus-5":                              128000,
		"claude-fable-5-2":                           128000,
		"claude-haiku-5-5":                           128000,
		"claude-latest":                              familyMaxTokens,
		"deepseek-chat":                              DefaultMaxTokens,
		"m":                                          DefaultMaxTokens,
		"":                                           DefaultMaxTokens,
	} {
		if got := MaxTokens(model); got != want {
			t.Errorf("%s: %d, want %d", model, got, want)
		}
	}
}
