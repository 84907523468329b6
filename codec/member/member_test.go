package member_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

type body struct {
	Model    string         `json:"model"`
	Messages []turn         `json:"messages"`
	Extra    jsontext.Value `json:",embed"`
}

type turn struct {
	Role string `json:"role"`
	N    int    `json:"n"`
}

func TestDecodeSaysWhere(t *testing.T) {
	for _, c := range []struct{ name, in, reason, param, message string }{
		{"empty", " ", fault.ReasonMalformedJSON, "", "the body is empty; a JSON object is expected"},
		{"array", "[1]", fault.ReasonInvalidMember, "", "the body is a JSON array; a JSON object is expected"},
		{"null", "null", fault.ReasonInvalidMember, "", "the body is a JSON null; a JSON object is expected"},
		{"cut", `{"model":"a"`, fault.ReasonMalformedJSON, "", "malformed JSON at line 1, column 13: unexpected EOF"},
		{"second line", "{\n \"model\": nope}", fault.ReasonMalformedJSON, "model", "malformed JSON at line 2, column 12: invalid character 'o' in literal null (expecting 'u')"},
		{"trailing", `{"model":"a"} x`, fault.ReasonMalformedJSON, "", "malformed JSON at line 1, column 15: invalid character 'x' after top-level value"},
		{"duplicate", `{"model":"a","model":"b"}`, fault.ReasonMalformedJSON, "model", `malformed JSON at line 1, column 14: duplicate object member name`},
		{"type", `{"messages":[{"role":"user"},{"role":7}]}`, fault.ReasonInvalidMember, "messages[1].role", "messages[1].role: expected string, got number"},
		{"fraction", `{"messages":[{"n":1.5}]}`, fault.ReasonInvalidMember, "messages[0].n", "messages[0].n: expected integer, got number 1.5"},
		{"mark", "\xef\xbb\xbf{}", fault.ReasonMalformedJSON, "", "malformed JSON at line 1, column 1: byte order mark"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var v body
			err := member.Decode([]byte(c.in), &v)
			var f *fault.Error
			if !errors.As(err, &f) {
				t.Fatalf("no fault: %v", err)
			}
			if f.Reason != c.reason || f.Param != c.param || f.Message != c.message {
				t.Errorf("got %s %q %q", f.Reason, f.Param, f.Message)
			}
		})
	}
}

func TestNamesMatchExactly(t *testing.T) {
	var v body
	if err := member.Decode([]byte(`{"Model":"x","model":"y"}`), &v); err != nil {
		t.Fatal(err)
	}
	if v.Model != "y" || string(v.Extra) != `{"Model":"x"}` {
		t.Errorf("got %q and extra %s", v.Model, v.Extra)
	}
}

func TestNativesComeBackInPlace(t *testing.T) {
	fields := member.Natives(genwayv1.Protocol_PROTOCOL_RESPONSES, jsontext.Value(`{"a":{"x": 1.0},"b":null,"c":[2]}`), func(n string, _ []byte) bool { return n == "c" })
	extra, err := member.Extra(genwayv1.Protocol_PROTOCOL_RESPONSES, fields, "", nil)
	if err != nil || string(extra) != `{"a":{"x": 1.0},"c":[2]}` {
		t.Errorf("extra %s, %v", extra, err)
	}
	var losses codec.Losses
	_, err = member.Extra(genwayv1.Protocol_PROTOCOL_MESSAGES, fields, "", &losses)
	var f *fault.Error
	if !errors.As(err, &f) || f.Param != "c" || f.Reason != fault.ReasonUnsupported {
		t.Errorf("binding member: %v", err)
	}
	if l := losses.List(); len(l) != 1 || l[0].Member != "a" {
		t.Errorf("losses %v", l)
	}
}

func TestPatch(t *testing.T) {
	set := []member.Member{{Name: "model", Value: jsontext.Value(`"m"`)}}
	drop := []member.Member{{Name: "model"}}
	for _, c := range []struct {
		name, in, out string
		members       []member.Member
	}{
		{"replace", `{"a": 1.0 , "model" :"x", "b":{"model":1}}`, `{"a": 1.0 , "model" :"m", "b":{"model":1}}`, set},
		{"append", "{ \"a\":1\n}", "{ \"a\":1\n,\"model\":\"m\"}", set},
		{"append to empty", `{}`, `{"model":"m"}`, set},
		{"remove first", `{"model":1 , "b":2}`, `{ "b":2}`, drop},
		{"remove last", `{"b":2, "model":1}`, `{"b":2}`, drop},
		{"remove only", `{"model":1}`, `{}`, drop},
		{"remove nothing", `{"b":2}`, `{"b":2}`, drop},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := member.Patch([]byte(c.in), c.members...)
			if err != nil || string(out) != c.out {
				t.Errorf("got %s, %v", out, err)
			}
		})
	}
}

func TestPatchKeepsAllElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "model", "stream"}), 0, 5, rapid.ID).Draw(t, "names")
		in := map[string]int{}
		text := "{"
		var textSb110 strings.Builder
		for i, n := range names {
			if i > 0 {
				textSb110.WriteString(rapid.SampledFrom([]string{",", " , ", ",\n"}).Draw(t, "comma"))
			}
			in[n] = i
			textSb110.WriteString(`"` + n + `": ` + string(rune('0'+i)))
		}
		text += textSb110.String()
		text += "}"
		out, err := member.Patch([]byte(text), member.Member{Name: "model", Value: jsontext.Value("9")}, member.Member{Name: "stream"})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]int
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		in["model"] = 9
		delete(in, "stream")
		if len(got) != len(in) {
			t.Fatalf("%s became %s", text, out)
		}
		for k, v := range in {
			if got[k] != v {
				t.Fatalf("%s became %s", text, out)
			}
		}
	})
}

func TestMediaFromURL(t *testing.T) {
	m, err := member.MediaFromURL("data:image/png;base64,AQI", "p")
	if err != nil || m.MimeType != "image/png" || string(m.GetData()) != "\x01\x02" {
		t.Errorf("%v, %v", m, err)
	}
	if m, err := member.MediaFromURL("https://a.example/x.png", "p"); err != nil || m.GetUrl() == "" {
		t.Errorf("%v, %v", m, err)
	}
	for _, bad := range []string{"", "data:image/png;base64", "data:image/png;base64,%%%", "data:text/plain,%zz"} {
		if _, err := member.MediaFromURL(bad, "p"); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestMerge(t *testing.T) {
	out, err := member.Merge([]byte(`{"a":1,"b":2}`), `{"b":{"c":1.50},"d":null}`, "extra_json", member.ReservedBy[struct {
		Model string         `json:"model"`
		Extra jsontext.Value `json:",embed"`
	}]())
	if err != nil || string(out) != `{"a":1,"b":{"c":1.50},"d":null}` {
		t.Errorf("got %s, %v", out, err)
	}
	for _, bad := range []string{"x", "[]", `{"a":1`, `{"a":1} {}`} {
		if _, err := member.Merge([]byte(`{}`), bad, "extra_json", member.ReservedBy[struct {
			Model string         `json:"model"`
			Extra jsontext.Value `json:",embed"`
		}]()); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestMarksAreNeitherWrittenNorLost(t *testing.T) {
	chat := genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS
	fields := []*genwayv1.NativeField{member.Mark(chat, "a")}
	if !member.Marked(chat, fields, "a") || member.Marked(chat, fields, "b") || member.Marked(genwayv1.Protocol_PROTOCOL_RESPONSES, fields, "a") {
		t.Error("the mark was not found, or another was")
	}
	var losses codec.Losses
	for _, p := range []genwayv1.Protocol{chat, genwayv1.Protocol_PROTOCOL_RESPONSES} {
		if extra, err := member.Extra(p, fields, "", &losses); err != nil || extra != nil {
			t.Errorf("%v: extra %s, %v", p, extra, err)
		}
	}
	if l := losses.List(); len(l) > 0 {
		t.Errorf("losses %v", l)
	}
}
