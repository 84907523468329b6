package messages_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/messages"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// Each row is a body of 2023-06-01 and what 2026-10-21 refuses of it, by the contract's name. It is
// left out of request and body, or refused where there is no body without it.
var versionRows = []struct{ name, body, refuses, without string }{
	{"nothing", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"}]}`, "", ""},
	{"null", `{"model":"m","max_tokens":1,"temperature":null,"messages":[{"role":"user","content":"a"}]}`, "", ""},
	{"the default", `{"model":"m","max_tokens":1,"temperature":1,"messages":[{"role":"user","content":"a"}]}`, "sampling.temperature", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"}]}`},
	{"zero", `{"temperature":0,"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"}]}`, "sampling.temperature", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"}]}`},
	{"out of range", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"}],"top_p":-1e300}`, "sampling.top_p", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"}]}`},
	{"an escaped name", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"}],"top\u005fk":9}`, "sampling.top_k", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"}]}`},
	{"an answer's citations", `{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"text","text":"a","citations":[{"type":"char_location"}]}]}]}`, "", ""},
	{"no citations", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"a","citations":[]},{"type":"text","text":"a","citations":null}]}]}`, "", ""},
	{"a document to cite", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"document","citations":{"enabled":true},"source":{"type":"url","url":"https://a.example"}}]}]}`, "", ""},
	{"a tool's text", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a","citations":[{"type":"char_location"}]}]}]}]}`, "", ""},
	{"a document of a tool", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"document","source":{"type":"url","url":"https://a.example"}}]}]}]}`, "", ""},
	{
		"cited text, with its cache", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[ {"citations" : [{"type":"char_location"}] , "type":"text","text":"a\ud83d\ude00","cache_control":{"type":"ephemeral"}, "x":1e2} ]}]}`, "messages[0].parts[0].text.citations",
		`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[ { "type":"text","text":"a\ud83d\ude00","cache_control":{"type":"ephemeral"}, "x":1e2} ]}]}`,
	},
	{
		"a search result", `{"model":"m","max_tokens":1,"system":"s","messages":[{"role":"user","content":[{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"a"},{"type":"text","text":"b","citations":[{}]}]}]}]}`, "messages[1].parts[0].opaque",
		`{"model":"m","max_tokens":1,"system":"s","messages":[{"role":"user","content":[{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}]}`,
	},
	{
		"a tool's search result", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"},{"type":"search_result","content":[{"type":"text","text":"b","citations":[{}]}]}]}]}]}`, "messages[0].parts[0].tool_result.parts[1].opaque",
		`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"},{"type":"search_result","content":[{"type":"text","text":"b"}]}]}]}]}`,
	},
	{"a strange search result", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"search_result","content":7},{"type":"search_result","content":[7,null,[],{"type":7}]}]}]}`, "", ""},
	{"an assistant's document", `{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"document","source":{"type":"url","url":"https://a.example"}}]}]}`, "messages[0].parts[0].file", ""},
	{"an assistant's document of blocks", `{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"document","source":{"type":"content","content":[]}}]}]}`, "messages[0].parts[1].opaque", ""},
}

func TestVersions(t *testing.T) {
	for _, c := range versionRows {
		t.Run(c.name, func(t *testing.T) {
			decoded, err := messages.Codec{}.DecodeRequest([]byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			req := decoded.GenerateTextRequest
			req.Wire = &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Json: []byte(c.body)}
			before := proto.CloneOf(req)
			for _, version := range []string{"", "2023-06-01", "2026-10-20"} {
				var losses codec.Losses
				fitted, err := messages.Codec{}.FitVersion(req, version, &losses)
				if fitted != req || err != nil || losses.List() != nil || (messages.Codec{}).CheckVersion(req, version) != nil {
					t.Errorf("%q: %v, %v", version, err, losses.List())
				}
			}
			for _, version := range []string{"2026-10-21", "2030-01-01"} {
				err := messages.Codec{}.CheckVersion(req, version)
				if f := fault.From(err); (err != nil) != (c.refuses != "") || err != nil && (f.Param != c.refuses || f.Kind != fault.InvalidRequest || !strings.Contains(f.Message, version)) {
					t.Errorf("%s: refused with %v", version, err)
				}
			}
			var losses codec.Losses
			fitted, err := messages.Codec{}.FitVersion(req, "2026-10-21", &losses)
			switch {
			case c.refuses != "" && c.without == "":
				if f := fault.From(err); err == nil || f.Param != c.refuses || f.Reason != fault.ReasonUnsupported {
					t.Fatalf("%v, %v", fitted, err)
				}
				return
			case c.refuses == "":
				if err != nil || losses.List() != nil || !proto.Equal(fitted, before) {
					t.Fatalf("%v, %v: %v", err, losses.List(), fitted)
				}
				return
			}
			if err != nil || len(losses.List()) != 1 || losses.List()[0].GetMember() != c.refuses || losses.List()[0].GetReason() == "" {
				t.Fatalf("%v, lost %v", err, losses.List())
			}
			if got := string(fitted.GetWire().GetJson()); got != c.without {
				t.Errorf("got  %s\nwant %s", got, c.without)
			}
			if !proto.Equal(req, before) {
				t.Error("the request is changed")
			}
			want, err := messages.Codec{}.DecodeRequest([]byte(c.without))
			if err != nil {
				t.Fatal(err)
			}
			fitted.Wire = nil
			if fitted.Sampling != nil && proto.Equal(fitted.Sampling, &genwayv1.Sampling{}) {
				fitted.Sampling = nil
			}
			if !proto.Equal(fitted, want.GenerateTextRequest) {
				t.Errorf("got  %v\nwant %v", fitted, want)
			}
			if err := (messages.Codec{}).CheckVersion(fitted, "2026-10-21"); err != nil {
				t.Errorf("what fits is refused: %v", err)
			}
		})
	}
}

// What is made to fit is taken, whatever the body.
func FuzzVersions(f *testing.F) {
	for _, c := range versionRows {
		f.Add([]byte(c.body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		decoded, err := messages.Codec{}.DecodeRequest(body)
		if err != nil {
			return
		}
		req := decoded.GenerateTextRequest
		req.Wire = &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Json: body}
		fitted, err := messages.Codec{}.FitVersion(req, messages.Version2026, nil)
		if err != nil {
			return
		}
		if err := (messages.Codec{}).CheckVersion(fitted, messages.Version2026); err != nil {
			t.Fatalf("%s: what fits is refused: %v", body, err)
		}
		again, err := messages.Codec{}.DecodeRequest(fitted.GetWire().GetJson())
		if err != nil {
			t.Fatalf("%s became %s: %v", body, fitted.GetWire().GetJson(), err)
		}
		if err := (messages.Codec{}).CheckVersion(again.GenerateTextRequest, messages.Version2026); err != nil {
			t.Fatalf("%s became %s: %v", body, fitted.GetWire().GetJson(), err)
		}
	})
}
