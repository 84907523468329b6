package spell

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/generatecontent"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/messages"
	"github.com/genway/genway/codec/responses"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"golang.org/x/tools/txtar"
)

var codecs = map[string]codec.Codec{
	"chat": chat.Codec{}, "responses": responses.Codec{}, "messages": messages.Codec{}, "generatecontent": generatecontent.Codec{},
}

func decoder(c codec.Codec) func([]byte) (*genwayv1.GenerateTextRequest, error) {
	return func(body []byte) (*genwayv1.GenerateTextRequest, error) {
		req, err := c.DecodeRequest(body)
		if err != nil {
			return nil, err
		}
		return req.GenerateTextRequest, nil
	}
}

// bodies are the requests among the golden cases of a codec.
func bodies(t *testing.T, name string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir("../../codec/"+name+"/testdata", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".txtar") {
			return err
		}
		archive, err := txtar.ParseFile(path)
		if err != nil {
			return err
		}
		for _, file := range archive.Files {
			if _, err := codecs[name].DecodeRequest(file.Data); err == nil {
				found[filepath.Base(path)+"/"+file.Name] = string(file.Data)
			}
		}
		return nil
	})
	if err != nil || len(found) < 5 {
		t.Fatalf("%s has %d requests: %v", name, len(found), err)
	}
	return found
}

// Each position that is given is in the body, and has the text that it is given for.
func TestPositionsAreThoseOfTheBody(t *testing.T) {
	for name, c := range codecs {
		traced, all := 0, 0
		for file, body := range bodies(t, name) {
			req, err := c.DecodeRequest([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			s := New(of[c.Protocol()], []byte(body), decoder(c))
			check := func(path, text string) {
				all++
				given := s.Member(path)
				_, at, whole := parse([]byte(body)).follow(given, plain)
				switch {
				case !whole:
					t.Errorf("%s %s: %s is %s, which is not in the body", name, file, path, given)
				case text != "" && !holds(at, text):
					t.Errorf("%s %s: %s is %s, which does not say %q", name, file, path, given, text)
				}
				if given != of[c.Protocol()].list || at.kind != '[' {
					traced++
				}
			}
			for i, m := range req.GetMessages() {
				path := member.Index("messages", i)
				if given := s.Member(path + ".name"); strings.HasPrefix(given, "messages[") && name != "chat" && name != "messages" {
					t.Errorf("%s %s: %s.name is %s", name, file, path, given)
				}
				for j, p := range m.GetParts() {
					text := p.GetText().GetText() + p.GetToolCall().GetName()
					if p.GetNativeFields() != nil && name == "responses" {
						text = "" // names in namespaces are made of two
					}
					check(member.Within(path, ".parts", j), text)
					check(member.Within(path, ".parts", j)+"."+kindOf(p), "")
					check(member.Within(path, ".parts", j)+".cache_control", "")
				}
			}
			for i, tool := range req.GetTools() {
				check(member.Index("tools", i), tool.GetFunction().GetDescription())
			}
		}
		if traced*20 < all*19 {
			t.Errorf("%s: %d of %d positions are traced", name, traced, all)
		}
	}
}

// holds reports whether a text is within a value.
func holds(n *node, text string) bool {
	if n.isText(text) || n.kind == '"' && strings.Contains(member.Raw(n.raw).String(), text) {
		return true
	}
	for _, value := range n.values {
		if holds(value, text) {
			return true
		}
	}
	return false
}
