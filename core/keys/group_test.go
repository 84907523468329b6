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

// Several groups are one in any order; what is unknown, there twice, or not combined is refused.
func TestParseSeveralGroups(t *testing.T) {
	for text, want := range map[string]keys.Group{
		"chat,messages":                   "chat,messages",
		"messages,chat":                   "chat,messages",
		"generatecontent, chat":           "chat,generatecontent",
		"generatecontent,messages":        "messages,generatecontent",
		"messages, generatecontent, chat": "chat,messages,generatecontent",
	} {
		got, err := keys.ParseGroup(text)
		if err != nil || got != want {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
		if again, err := keys.Join(got.Each()...); err != nil || again != got {
			t.Errorf("%s: its groups are %v, together %s, %v", text, got.Each(), again, err)
		}
		for _, one := range keys.Groups() {
			if got.Has(one) != strings.Contains(text, string(one)) {
				t.Errorf("%s has %s: %v", text, one, got.Has(one))
			}
		}
	}
	for text, want := range map[string]string{
		"chat,":                  `unknown group ""`,
		",chat":                  `unknown group ""`,
		"chat,,messages":         `unknown group ""`,
		",":                      `unknown group ""`,
		"chat,  messages":        `unknown group " messages"`,
		"chat;messages":          `unknown group "chat;messages"`,
		"chat,nobody":            `unknown group "nobody"`,
		"chat,chat":              "the group chat is there twice",
		"messages,chat,messages": "the group messages is there twice",
		"admin,admin":            "the group admin is there twice",
		"chat,internal":          "a key of the group internal has no other group: only chat, messages, generatecontent are combined",
		"internal,admin":         "a key of the group admin has no other group",
		"admin,chat":             "a key of the group admin has no other group",
		"chat,messages,generatecontent,internal,admin": "a key of the group admin has no other group",
		"chat,gwk_x": "unknown group gwk_[REDACTED]",
	} {
		if got, err := keys.ParseGroup(text); err == nil || got != "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
	if got, err := keys.Join(); err == nil {
		t.Errorf("no group: %q", got)
	}
	if got := keys.GroupMessages.Serving(); len(got) != 4 {
		t.Errorf("messages is served by %v", got)
	}
	if got := keys.GroupAdmin.Serving(); len(got) != 1 || got[0] != keys.GroupAdmin {
		t.Errorf("admin is served by %v", got)
	}
	if of := keys.Group("a group of a later release"); of.Has(keys.GroupChat) || len(of.Serving()) != 1 {
		t.Errorf("%s: %v", of, of.Serving())
	}
}
