package keys_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/core/keys"
)

func TestParseGroup(t *testing.T) {
	for _, group := range keys.Groups() {
		if got, err := keys.ParseGroup(string(group)); err != nil || got != group {
			t.Errorf("%s: got %s, %v", group, got, err)
		}
	}
	for _, name := range []string{"", "Chat", " chat", "responses", "images", "generateContent"} {
		_, err := keys.ParseGroup(name)
		if err == nil || !strings.HasSuffix(err.Error(), "want one of chat, messages, generatecontent, internal, admin") {
			t.Errorf("%q: got %v", name, err)
		}
	}
}
