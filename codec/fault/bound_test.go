package fault

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBound(t *testing.T) {
	name := strings.Repeat("é", 1<<20)
	e := Invalid("tools[0]."+name, "tools[0].%s: expected string, got number", name)
	e.Fields = []Field{{Param: "a", Message: "b"}, {Param: name, Message: name}}
	shared := e.Fields
	e.Bound()
	if len(e.Param) > MaxParam || !strings.HasPrefix(e.Param, "tools[0].éé") || !utf8.ValidString(e.Param) {
		t.Errorf("the param has %d bytes: %q", len(e.Param), e.Param)
	}
	if len(e.Message) > MaxMessage || !strings.HasSuffix(e.Message, "éé: expected string, got number") || !utf8.ValidString(e.Message) {
		t.Errorf("the message has %d bytes: %q", len(e.Message), e.Message)
	}
	if f := e.Fields[1]; len(f.Param) > MaxParam || len(f.Message) > MaxMessage || e.Fields[0] != (Field{Param: "a", Message: "b"}) {
		t.Errorf("fields of %d and %d bytes, %v", len(f.Param), len(f.Message), e.Fields[0])
	}
	if shared[1].Param != name {
		t.Error("the fields of another error have changed")
	}
	for n := range 12 { // whatever the cuts fall into
		if s := shortened("aé€𐍈bé€𐍈", n+3); !utf8.ValidString(s) || len(s) > n+3 {
			t.Errorf("within %d bytes: %q", n+3, s)
		}
	}
	whole := Invalid("model", "model: expected string")
	before := *whole
	if whole.Bound(); whole.Message != before.Message || whole.Param != before.Param {
		t.Errorf("a short error became %v", whole)
	}
}
