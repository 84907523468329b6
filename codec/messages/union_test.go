package messages

import "testing"

func TestMemberText(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"text","text":"x"}`:      "text",
		`{"type": "text"}`:                "text",
		`{ "type" : "text" }`:             "text",
		`{"text":"type","type":"image"}`:  "image",
		`{"source":{"type":"x"}}`:         "",
		`{"type":"te\u0078t"}`:            "text",
		`{"type":"a\"b"}`:                 `a"b`,
		`{"typed":"x","type":"y"}`:        "y",
		`{"type":7}`:                      "",
		`{"type":null}`:                   "",
		`{"x":[{"type":"z"}],"type":"w"}`: "w",
		`{}`:                              "",
		`[]`:                              "",
		``:                                "",
	} {
		if got := memberText([]byte(in), "type"); got != want {
			t.Errorf("%s gave %q", in, got)
		}
	}
}
