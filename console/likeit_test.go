package console_test

import (
	"html"
	"strings"
	"testing"
)

// A request's page has a request like it for a shell and for SDKs, unless the model's name could be more than a name there.
func TestRequestLikeIt(t *testing.T) {
	f := openScripted(t)
	session := f.signIn(t, f.viewer)
	for text, want := range map[string][]string{ // the request's protocol, method and model alike
		"chat_completions": {`/v1/chat/completions' -H "Authorization: Bearer $KEY"`, `"model": "chat_completions"`, "OpenAI SDK (Python)"},
		"messages":         {`/v1/messages' -H "Authorization: Bearer $KEY"`, `"model": "messages"`, "Anthropic SDK (Python)"},
		"generate_content": {`/v1beta/models/generate_content:generateContent' -H "x-goog-api-key: $KEY"`, "Google GenAI SDK (Python)"},
		"images":           {`/v1/images/generations' -H`, `"model": "images"`},
	} {
		f.scripted.text = text
		page := html.UnescapeString(f.get(t, session, "/requests/1-2").body)
		for _, part := range want {
			if !strings.Contains(page, part) {
				t.Errorf("%s: there is no %s in %s", text, part, page)
			}
		}
	}
	for _, text := range []string{"a'; rm -rf ~ #", `a"); import os`, "$(id)", "`id`", "a\nb", "", "-x", strings.Repeat("a", 200), "no_protocol"} {
		f.scripted.text = text
		if page := f.get(t, session, "/requests/1-2").body; strings.Contains(page, "like-0") {
			t.Errorf("%q is in a snippet", text)
		}
	}
}
