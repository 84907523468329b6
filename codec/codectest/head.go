package codectest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/testing/protocmp"
)

// Heads holds what codec.HeadDecoder promises, for every JSON body in the golden files:
// a head says the same as the whole, and nothing malformed has one. Most requests must
// have one, or nothing is gained by it.
func Heads(t *testing.T, c codec.Codec) {
	t.Helper()
	heads, ok := c.(codec.HeadDecoder)
	if !ok {
		t.Fatalf("%T has no heads", c)
	}
	files, err := filepath.Glob("testdata/*.txtar")
	deeper, _ := filepath.Glob("testdata/*/*.txtar")
	if files = append(files, deeper...); err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	var requests, withHead int
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range archive.Files {
			label := file + ", " + section.Name
			if _, err := c.DecodeRequest(section.Data); err == nil {
				requests++
			}
			if sameHeads(t, label, c, section.Data) {
				withHead++
			}
			body := bytes.TrimSpace(section.Data)
			for cut := range body {
				if _, ok := heads.DecodeRequestHead(body[:cut]); ok {
					t.Fatalf("%s: the first %d bytes have a head", label, cut)
				}
			}
		}
	}
	if withHead < requests/2 {
		t.Errorf("of %d requests only %d have a head", requests, withHead)
	}
}

// FuzzHeads holds for any body that its head says the same as the whole.
func FuzzHeads(f *testing.F, c codec.Codec) {
	f.Helper()
	files, _ := filepath.Glob("testdata/*.txtar")
	deeper, _ := filepath.Glob("testdata/*/*.txtar")
	if files = append(files, deeper...); len(files) == 0 {
		f.Fatal("no golden files")
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, section := range archive.Files {
			f.Add(section.Data)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) { sameHeads(t, string(body), c, body) })
}

// Results holds that a request whose tool result says of which call it is has a head,
// and one whose result does not is refused by the decoder (case T19). %s of the body is
// where the member stands.
func Results(t *testing.T, c codec.Codec, body, id string) {
	t.Helper()
	for member, want := range map[string]bool{`"` + id + `":"c",`: true, ``: false, `"` + id + `":"",`: false, `"` + id + `":null,`: false} {
		request := []byte(strings.Replace(body, "%s", member, 1))
		if _, ok := c.(codec.HeadDecoder).DecodeRequestHead(request); ok != want {
			t.Errorf("%s: has a head: %v", request, ok)
		}
		if _, err := c.DecodeRequest(request); (err == nil) != want {
			t.Errorf("%s: %v", request, err)
		}
	}
}

// values are what a member may be, of its own type and of any other.
var values = []string{
	`null`, `true`, `false`, `0`, `1`, `-1`, `2`, `0.5`, `1e2`, `-0`, `2147483648`, `9223372036854775808`, `1e999`,
	`""`, `"x"`, `"auto"`, `"high"`, `"a\nb\u00e9"`, `"\ud800"`, `"\ud83d\ude00"`,
	`[]`, `["a"]`, `["a","b\""]`, `["a",1]`, `[null]`, `[{}]`, `{}`, `{"a":1}`, `{"a":"b"}`, `{"a":null}`, `{"type":"x"}`, `{"type":"auto"}`,
	`{"\u0061":1}`, `{ "a" : [ 1 , "2" ] }`,
}

// HeadMembers holds what codec.HeadDecoder promises for each member of an object, given
// by the struct it is decoded to, with each sort of value; frame is a body with %s for
// the member. Nothing may have a head that the decoder refuses but for what is left out.
func HeadMembers(t *testing.T, c codec.Codec, frame string, object any, leftOut ...string) {
	t.Helper()
	of := reflect.TypeOf(object)
	names := []string{"unknown", "model\\u0020"}
	for field := range of.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && !slices.Contains(leftOut, name) {
			names = append(names, name)
		}
	}
	with := 0
	for _, name := range names {
		for _, value := range values {
			body := strings.Replace(frame, "%s", `"`+name+`":`+value, 1)
			if sameHeads(t, body, c, []byte(body)) {
				with++
			}
			if _, ok := c.(codec.HeadDecoder).DecodeRequestHead([]byte(body)); ok {
				if _, err := c.DecodeRequest([]byte(body)); err != nil && !strings.Contains(err.Error(), "is not Unicode") { // its vendor judges a text
					t.Errorf("%s: has a head, and is refused: %v", body, err)
				}
			}
			if _, ok := c.(codec.HeadDecoder).DecodeResponseHead([]byte(body)); ok {
				if _, err := c.DecodeResponse([]byte(body)); err != nil {
					t.Errorf("%s: has a head, and cannot be read: %v", body, err)
				}
			}
		}
	}
	if with == 0 {
		t.Errorf("none of %s has a head", frame)
	}
}

// sameAnswers holds that an answer to a head is the one to the whole.
func sameAnswers(t *testing.T, label string, c codec.Codec, head, whole *codec.Request) {
	t.Helper()
	answer := &genwayv1.GenerateTextResponse{Id: "a", Model: "m", Usage: &genwayv1.Usage{InputTokens: 1}, Candidates: []*genwayv1.Candidate{{
		Parts: []*genwayv1.Part{
			{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{Text: "hm"}}},
			{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: "c", Name: "f", Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: "{}"}}}},
		},
		StopReason: genwayv1.StopReason_STOP_REASON_TOOL_CALL,
	}}}
	var spelled [2]string
	for i, req := range []*codec.Request{head, whole} {
		body, err := c.EncodeResponse(answer, codec.Answer{Request: req})
		spelled[i] = fmt.Sprint(string(body), err)
		stream := c.NewStreamEncoder(codec.Answer{Request: req})
		for _, event := range codec.Events(answer, nil) {
			frames, err := stream.Encode(event)
			spelled[i] += fmt.Sprintf("\n%s %v", frames, err)
		}
	}
	if diff := cmp.Diff(spelled[1], spelled[0]); diff != "" {
		t.Errorf("%s: the answer to the head differs (-whole +head):\n%s", label, diff)
	}
}

// sameHeads compares the heads of a body, as a request and as an answer, with the whole,
// and reports whether it has one.
func sameHeads(t *testing.T, label string, c codec.Codec, body []byte) bool {
	t.Helper()
	heads, _ := c.(codec.HeadDecoder)
	asRequest, isRequest := heads.DecodeRequestHead(body)
	if isRequest {
		whole, err := c.DecodeRequest(body)
		if err != nil {
			return false // for what the head leaves out
		}
		if repeater, ok := c.(codec.Repeater); !ok || !repeater.Repeats(body) {
			sameAnswers(t, label, c, asRequest, whole)
		}
		whole.Messages, whole.Tools = nil, nil
		if diff := cmp.Diff(whole.GenerateTextRequest, asRequest.GenerateTextRequest, protocmp.Transform()); diff != "" {
			t.Errorf("%s: the head of the request differs (-whole +head):\n%s", label, diff)
		}
		if whole.Stream != asRequest.Stream || whole.IncludeUsage != asRequest.IncludeUsage || asRequest.Statistics == nil {
			t.Errorf("%s: the head is of %+v", label, asRequest)
		}
	}
	asAnswer, isAnswer := heads.DecodeResponseHead(body)
	if isAnswer {
		whole, err := c.DecodeResponse(body)
		if err != nil {
			return false
		}
		whole.Candidates = nil
		if diff := cmp.Diff(whole, asAnswer, protocmp.Transform()); diff != "" {
			t.Errorf("%s: the head of the answer differs (-whole +head):\n%s", label, diff)
		}
	}
	return isRequest || isAnswer
}
