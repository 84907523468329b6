package spec_test

import (
	"net/url"
	"testing"

	"github.com/genway/genway/test/conformance/check"
)

// TestKeyPlaces: the key in every place and under every name that is accepted.
func TestKeyPlaces(t *testing.T) {
	t.Parallel()
	chat, messages, gemini := keys()["chat"], keys()["messages"], keys()["generatecontent"]
	bodies := map[string]operation{}
	for _, op := range operations() {
		bodies[op.path] = op
	}
	const (
		chatPath     = "/v1/chat/completions"
		messagesPath = "/v1/messages"
		geminiPath   = "/v1beta/models/sandbox-text:generateContent"
		version      = "2023-06-01"
	)
	for name, c := range map[string]struct {
		path, query string
		headers     headers
		status      int
	}{
		"bearer":                              {chatPath, "", headers{"Authorization": "Bearer " + chat}, 200},
		"bearer in lower case":                {chatPath, "", headers{"Authorization": "bearer " + chat}, 200},
		"authorization without bearer":        {chatPath, "", headers{"Authorization": chat}, 401},
		"basic authorization":                 {chatPath, "", headers{"Authorization": "Basic " + chat}, 401},
		"chat with x-api-key":                 {chatPath, "", headers{"X-Api-Key": chat}, 401},
		"chat with key in the query":          {chatPath, "?key=" + url.QueryEscape(chat), headers{}, 401},
		"vendorb-version":                     {messagesPath, "", headers{"X-Api-Key": messages, "Vendorb-Version": version}, 200},
		"anthropic-version":                   {messagesPath, "", headers{"X-Api-Key": messages, "Anthropic-Version": version}, 200},
		"a later version and bearer":          {messagesPath, "", headers{"Authorization": "Bearer " + messages, "Anthropic-Version": "2026-10-21"}, 200},
		"no version":                          {messagesPath, "", headers{"X-Api-Key": messages}, 400},
		"a version before the first":          {messagesPath, "", headers{"X-Api-Key": messages, "Vendorb-Version": "2022-12-31"}, 400},
		"a version that is no date":           {messagesPath, "", headers{"X-Api-Key": messages, "Vendorb-Version": "latest"}, 400},
		"x-vendorc-api-key":                   {geminiPath, "", headers{"X-Vendorc-Api-Key": gemini}, 200},
		"x-goog-api-key":                      {geminiPath, "", headers{"X-Goog-Api-Key": gemini}, 200},
		"key in the query":                    {geminiPath, "?key=" + url.QueryEscape(gemini), headers{}, 200},
		"key in the query, with others":       {geminiPath, "?alt=json&key=" + url.QueryEscape(gemini), headers{}, 200},
		"wrong key in the query":              {geminiPath, "?key=wrong", headers{}, 400},
		"generateContent without a key":       {geminiPath, "", headers{}, 403},
		"generateContent with a foreign key":  {geminiPath, "", headers{"X-Goog-Api-Key": chat}, 403},
		"chat with a foreign key":             {chatPath, "", headers{"Authorization": "Bearer " + gemini}, 403},
		"messages with a foreign key":         {messagesPath, "", headers{"X-Api-Key": chat, "Vendorb-Version": version}, 403},
		"messages with the key for gRPC":      {messagesPath, "", headers{"X-Api-Key": keys()["internal"], "Vendorb-Version": version}, 403},
		"chat without a key":                  {chatPath, "", headers{}, 401},
		"messages without a key":              {messagesPath, "", headers{"Vendorb-Version": version}, 401},
		"messages with an unknown key":        {messagesPath, "", headers{"X-Api-Key": "wrong", "Vendorb-Version": version}, 401},
		"a key with what no header may carry": {chatPath, "", headers{"Authorization": "Bearer a\tb"}, 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := send(t, "POST", c.path+c.query, c.headers, bodies[c.path].body())
			check.Equal(t, "status", a.status, c.status)
			if a.status != 200 {
				native(t, bodies[c.path].name, a)
			}
		})
	}
}

// TestKeysOfOtherGroups: a key serves its own group; the refusal says which that is.
func TestKeysOfOtherGroups(t *testing.T) {
	t.Parallel()
	own := map[string]string{
		"chat completion": "chat", "response creation": "chat", "image generation": "chat",
		"message creation": "messages", "content generation": "generatecontent",
	}
	each(t, func(t *testing.T, op operation) {
		for group, key := range keys() {
			if group == own[op.name] {
				continue
			}
			h := op.headers()
			for name := range h {
				switch name {
				case "Authorization":
					h[name] = "Bearer " + key
				case "Vendorb-Version":
				default:
					h[name] = key
				}
			}
			a := send(t, "POST", op.path, h, op.body())
			check.Equal(t, "status with a key of "+group, a.status, 403)
			nativeOf(t, op, a)
			check.Contains(t, a.raw, group)
		}
	})
}
