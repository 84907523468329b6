package listing_test

import (
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/listing"
)

var (
	chat            = listing.OpenAI
	images          = listing.Images
	messages        = listing.Anthropic
	generateContent = listing.Gemini
)

// Lists of each protocol are read as their vendors write them, and leniently.
func TestDecode(t *testing.T) {
	for name, c := range map[string]struct {
		form *listing.Form
		body string
		want []string
		next string
	}{
		"chat":                      {chat, `{"object":"list","data":[{"id":"a","object":"model","created":1686935002,"owned_by":"x"},{"id":"b"}]}`, []string{"a", "b"}, ""},
		"chat without envelope":     {chat, ` [{"id":"a"},{"id":"b"}]`, []string{"a", "b"}, ""},
		"chat, odd types":           {chat, `{"data":[{"id":"a","created":"x","owned_by":7},{"id":7},{"id":null},{},7,null,[],{"id":""}],"has_more":"yes","unknown":{}}`, []string{"a"}, ""},
		"chat, duplicate names":     {chat, `{"data":[{"id":"a","id":"b"}]}`, []string{"b"}, ""},
		"chat, empty":               {chat, `{"data":[]}`, nil, ""},
		"images":                    {images, `{"data":[{"id":"a"}]}`, []string{"a"}, ""},
		"messages":                  {messages, `{"data":[{"type":"model","id":"a","display_name":"A","created_at":"2025-02-19T00:00:00Z"}],"has_more":true,"first_id":"a","last_id":"a"}`, []string{"a"}, "a"},
		"messages, last page":       {messages, `{"data":[{"id":"a"}],"has_more":false,"last_id":"a"}`, []string{"a"}, ""},
		"generateContent":           {generateContent, `{"models":[{"name":"models/a","inputTokenLimit":9,"supportedGenerationMethods":["generateContent"]},{"name":"models/e","supportedGenerationMethods":["embedContent"]},{"name":"b"}],"nextPageToken":"t"}`, []string{"a", "b"}, "t"},
		"generateContent, no token": {generateContent, `{"models":[],"nextPageToken":""}`, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := c.form.Decode([]byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if got := list.GetNextPageToken(); got != c.next {
				t.Errorf("the next page is %q, want %q", got, c.next)
			}
			if len(list.GetModels()) != len(c.want) {
				t.Fatalf("%v, want %v", list.GetModels(), c.want)
			}
			for i, m := range list.GetModels() {
				if m.GetName() != c.want[i] || m.GetGeneratesImages() == m.GetGeneratesText() || m.GetGeneratesImages() != (c.form == images) {
					t.Errorf("%v, want %s", m, c.want[i])
				}
			}
		})
	}
}

// What is no list is an error of the upstream's.
func TestDecodeRefuses(t *testing.T) {
	for _, body := range []string{"", "null", "{}", `"a"`, "7", "<html><body>Sign in</body></html>", `{"models":[{"name":"a"}]}`, `{"data":{}}`, `{"data":[{"id":"a"}]`, `{"error":{"message":"no"}}`, "[", "\xff"} {
		if list, err := chat.Decode([]byte(body)); fault.From(err) == nil || fault.From(err).Kind != fault.BadUpstream {
			t.Errorf("%q: %v, %v", body, list, err)
		}
	}
}

// What a list says of a model is kept.
func TestDecodeKeeps(t *testing.T) {
	list, err := messages.Decode([]byte(`{"data":[{"id":"a","display_name":"A","created_at":"2025-02-19T00:00:00Z","max_input_tokens":200000,"max_tokens":-1},{"id":"b","created_at":"0000-01-01T00:00:00Z"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	m := list.GetModels()[0]
	if m.GetDisplayName() != "A" || m.GetCreateTime().GetSeconds() != 1739923200 || m.GetInputTokenLimit() != 200000 || m.OutputTokenLimit != nil {
		t.Errorf("%v", m)
	}
	more, err := chat.Decode([]byte(`{"data":[{"id":"c","created":1700000000000,"context_length":"many"},{"id":"d","created":1700000000,"context_length":131072},{"id":"e","max_model_len":4096}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if c, d, e := more.GetModels()[0], more.GetModels()[1], more.GetModels()[2]; c.ContextTokenLimit != nil || d.GetContextTokenLimit() != 131072 || e.GetContextTokenLimit() != 4096 {
		t.Errorf("contexts: %v, %v, %v", c, d, e)
	}
	if b, c, d := list.GetModels()[1], more.GetModels()[0], more.GetModels()[1]; b.CreateTime != nil || c.CreateTime != nil || d.GetCreateTime().GetSeconds() != 1700000000 {
		t.Errorf("times that no Timestamp can hold: %v, %v, %v", b, c, d)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"data":[{"id":"a"}]}`)
	f.Add(`{"models":[{"name":"models/a"}],"nextPageToken":"t"}`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, form := range []*listing.Form{chat, messages, generateContent} {
			list, err := form.Decode([]byte(body))
			if (err == nil) == (list == nil) {
				t.Errorf("%v, %v", list, err)
			}
			for _, m := range list.GetModels() {
				if m.GetName() == "" {
					t.Error("a model without a name")
				}
			}
		}
	})
}
