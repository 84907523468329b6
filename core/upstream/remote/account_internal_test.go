package remote

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/genway/genway/codec"
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
