package remote

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// The reader of answers names the account in front of each encrypted value, wherever a read ends, and nowhere else.
func TestAccountReader(t *testing.T) {
	for in, want := range map[string]string{
		``: ``, `{}`: `{}`, `"encrypted_content"`: `"encrypted_content"`,
		`{"encrypted_content":"a"}`:                                                      `{"encrypted_content":"@a"}`,
		"{\"encrypted_content\" :\n\t\"a\",\"x\":1}":                                     "{\"encrypted_content\" :\n\t\"@a\",\"x\":1}",
		`{"encrypted_content":""}`:                                                       `{"encrypted_content":""}`,
		`{"encrypted_content":null,"encrypted_content":"b"}`:                             `{"encrypted_content":null,"encrypted_content":"@b"}`,
		`["encrypted_content","a"]`:                                                      `["encrypted_content","a"]`,
		`{"a":"\"encrypted_content\":\"a\""}`:                                            `{"a":"\"encrypted_content\":\"a\""}`,
		`{"a \"encrypted_content":"a"}`:                                                  `{"a \"encrypted_content":"a"}`,
		`{"a\\":"","encrypted_content":"\\"}`:                                            `{"a\\":"","encrypted_content":"@\\"}`,
		`{"encrypted_contents":"a","encrypted_content":{"a":1}}`:                         `{"encrypted_contents":"a","encrypted_content":{"a":1}}`,
		"data: {\"encrypted_content\":\"a\"}\n\ndata: {\"encrypted_content\":\"b\"}\n\n": "data: {\"encrypted_content\":\"@a\"}\n\ndata: {\"encrypted_content\":\"@b\"}\n\n",
	} {
		for _, cut := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
			got, err := io.ReadAll(&accountReader{below: cut(strings.NewReader(in)), mark: []byte("@")})
			if err != nil || string(got) != want {
				t.Errorf("%q is read as %q, %v; want %q", in, got, err, want)
			}
		}
	}
}

// Of a body only the values that name an account change, and only items of other accounts are left out.
func TestOwnEncrypted(t *testing.T) {
	u := &Upstream{config: Config{Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, APIKey: "a"}, protocol: protocol.Of(genwayv1.Protocol_PROTOCOL_RESPONSES)}
	u.setAccount("a")
	own, other := codec.AccountPrefix+u.Account()+".", codec.AccountPrefix+"0123456789abcdef."
	for _, c := range []struct{ in, want, lost string }{
		{`{"input":[{"encrypted_content":"A"}, 1]}`, `{"input":[{"encrypted_content":"A"}, 1]}`, ""},
		{`{"input":[{"encrypted_content":"` + own + `A"}, 1]}`, `{"input":[{"encrypted_content":"A"}, 1]}`, ""},
		{`{"input":[1, {"encrypted_content":"` + other + `A"}], "a":1}`, `{"input":[1], "a":1}`, "input[1].encrypted_content"},
		{`{"input":[{"encrypted_content":"genway@x A"},{"encrypted_content":null},{"encrypted_content":7}]}`, `{"input":[{"encrypted_content":"genway@x A"},{"encrypted_content":null},{"encrypted_content":7}]}`, ""},
		{`{"input":"` + other + `A"}`, `{"input":"` + other + `A"}`, ""},
		{`{"input":[{"content":"` + other + `A"}],"encrypted_content":"` + other + `A"}`, `{"input":[{"content":"` + other + `A"}],"encrypted_content":"` + other + `A"}`, ""},
		{`{"input":[{"encrypted_content":"` + other, `{"input":[{"encrypted_content":"` + other, ""},
	} {
		var losses codec.Losses
		if got := u.ownEncrypted([]byte(c.in), &losses); string(got) != c.want {
			t.Errorf("%s is %s; want %s", c.in, got, c.want)
		}
		var members []string
		for _, l := range losses.List() {
			members = append(members, l.GetMember())
		}
		if lost := strings.Join(members, ""); lost != c.lost {
			t.Errorf("%s: lost %q, want %q", c.in, lost, c.lost)
		}
	}
	was := u.Account()
	if u.setAccount("b"); u.Account() == was {
		t.Error("another key is the same account")
	}
}

// What a vendor says of reasoning that it has not read is counted by why, wherever the answer has it; the last event counts.
func TestNoteTransformations(t *testing.T) {
	for in, want := range map[string]string{
		``: "", `{}`: "", `{"input_transformations":[]}`: "", `{"input_transformations":null}`: "", `{"input_transformations":{"a":1}}`: "",
		`{"input_transformations":[`: "", `{"input_transformations":7}`: "", `{"text":"\"input_transformations\":[{}]"}`: "", `{"a":["input_transformations"]}`: "",
		`{"input_transformations":[{"type":"thinking_dropped","path":"messages.1.content.0","reason":"organization_binding_mismatch"},{"type":"thinking_dropped","reason":"prefix_binding_mismatch"},{"type":"thinking_dropped","reason":"prefix_binding_mismatch"}]}`: "organization:1 prefix:2",
		`{"type":"message_start","message":{"input_transformations":[{"type":"thinking_mismatch_allowed","reason":"prefix_binding_mismatch"}]}}`:                                                                                                                       "allowed:1",
		`{"response":{"input_transformations":[{"id":"rs_1","action":"removed","type":"reasoning","reason":"turn_boundary"},{"reason":"model_mismatch"},{"reason":"end_user_mismatch"}]}}`:                                                                             "end_user:1 model:1 turn_boundary:1",
		`{"input_transformations":[{"reason":"new_mismatch"},{"reason":7},{},{"reason":{"reason":"prefix_mismatch"}},3,null,["x"],"y"]}`:                                                                                                                               "other:4",
	} {
		var record call.Record
		record.Mismatched("account")
		noteTransformations(&record, []byte(in))
		noteTransformations(&record, []byte(in))
		if got := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(record.Mismatches), "map["), "]"); got != strings.Join(sorted("account:1", want), " ") {
			t.Errorf("%s counts %s; want %s", in, got, want)
		}
	}
	for message, refused := range map[string]bool{
		"messages.1.content.0: Invalid `signature` in `thinking` block": true, "Thought signature is not valid.. Learn more": true, "Corrupted thought signature.": true,
		"Function call is missing a thought_signature in functionCall parts.": false, "signature": false, "": false, "thinking": false,
	} {
		var record call.Record
		noteRefusal(&record, &fault.Error{Message: message})
		if got := record.Mismatches["refused"] == 1; got != refused {
			t.Errorf("%q is refused: %t", message, got)
		}
	}
	var record call.Record
	if noteRefusal(&record, &fault.Error{NativeCode: "invalid_encrypted_content"}); record.Mismatches["refused"] != 1 {
		t.Error("invalid_encrypted_content is not counted")
	}
}

func sorted(words ...string) []string {
	all := strings.Fields(strings.Join(words, " "))
	slices.Sort(all)
	return all
}
