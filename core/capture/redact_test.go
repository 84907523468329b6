package capture_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/capture"
)

// redacted is what a body becomes, of which so many bytes were kept.
func redacted(t testing.TB, body string, cut bool, entries ...string) capture.Body {
	t.Helper()
	c := capture.Begin(now, budget(), &capture.Rule{Redact: entries, Until: now.Add(time.Hour), MaxBytes: capture.MaxBytes})
	c.Add(capture.UpstreamAnswer, "", []byte(body))
	if cut { // what is behind the end of what is collected
		c = capture.Begin(now, capture.NewBudget(1<<30), &capture.Rule{Redact: entries, Until: now.Add(time.Hour), MaxBytes: capture.MaxBytes})
		c.Add(capture.UpstreamAnswer, "", []byte(body+strings.Repeat(" ", capture.MaxBytes+16<<10-len(body))+"x"))
	}
	c.Close()
	return c.Bodies()[0]
}

func TestRedact(t *testing.T) {
	for name, c := range map[string]struct {
		entries    []string
		body, want string
		redacted   bool
	}{
		"each kind of value":     {[]string{"x"}, `[{"x":"t"},{"x":1.5e9},{"x":true},{"x":null},{"x":{"y":"t"}},{"x":["t"]}]`, `[{"x":"[redacted]"},{"x":0},{"x":false},{"x":null},{"x":{}},{"x":[]}]`, true},
		"the rest byte by byte":  {[]string{"x"}, " {\n \"a\" : 1.0e0 , \"x\" : \"t\" ,\"b\":\"\\u0041\"}\n", " {\n \"a\" : 1.0e0 , \"x\" : \"[redacted]\" ,\"b\":\"\\u0041\"}\n", true},
		"nothing to redact":      {[]string{"x"}, `{"y":"t"}`, `{"y":"t"}`, false},
		"an escaped name":        {[]string{"content"}, `{"c\u006fntent":"t"}`, `{"c\u006fntent":"[redacted]"}`, true},
		"a name twice":           {[]string{"x"}, `{"x":"t","x":"u"}`, `{"x":"[redacted]","x":"[redacted]"}`, true},
		"a name is no index":     {[]string{"0"}, `["t",{"0":"t"}]`, `["t",{"0":"[redacted]"}]`, true},
		"a pointer":              {[]string{"/messages/*/content"}, `{"messages":[{"content":"t"},{"content":["t"],"role":"user"}],"content":"t"}`, `{"messages":[{"content":"[redacted]"},{"content":[],"role":"user"}],"content":"t"}`, true},
		"a pointer to an index":  {[]string{"/a/1"}, `{"a":["t","u" , "v"]}`, `{"a":["t","[redacted]" , "v"]}`, true},
		"a pointer with escapes": {[]string{"/a~1b/~0"}, `{"a/b":{"~":"t"}}`, `{"a/b":{"~":"[redacted]"}}`, true},
		"no UTF-8":               {[]string{"x"}, "{\"a\":\"\xff\",\"x\":\"\xff\"}", "{\"a\":\"\xff\",\"x\":\"[redacted]\"}", true},
		"several values":         {[]string{"x"}, "{\"x\":\"t\"}\n{\"x\":\"u\"}\n", "{\"x\":\"[redacted]\"}\n{\"x\":\"[redacted]\"}\n", true},
		"a byte order mark":      {[]string{"x"}, "\xef\xbb\xbf{\"x\":\"t\"}", `{"x":"[redacted]"}`, true},
		"ends in a value":        {[]string{"x"}, `{"a":"u","x":"secr`, `{"a":"u","x"`, true},
		"ends in another":        {[]string{"x"}, `{"a":"u","b":"secr`, `{"a":"u","b"`, true},
		"ends in a nested one":   {[]string{"x"}, `{"x":{"y":["secret`, `{"x"`, true},
		"a mistake":              {[]string{"x"}, `{"a":1,}"secret"`, `{"a":1`, true},
		"a text":                 {[]string{"x"}, `"secret"`, "", true},
		"a page":                 {[]string{"x"}, "<html>secret</html>", "", true},
		"binary":                 {[]string{"x"}, "\x00\x01secret", "", true},
		"nothing":                {[]string{"x"}, "", "", false},
		"blank":                  {[]string{"x"}, " \n", "", true},
		"events": {
			[]string{"text"}, "event: delta\r\ndata: {\"text\":\"t\",\"i\":1}\r\n\r\nid: secret\n: secret\ndata: {\"i\":2}\n\ndata: [DONE]\n\n",
			"event: delta\ndata: {\"text\":\"[redacted]\",\"i\":1}\n\ndata: {\"i\":2}\n\ndata: [DONE]\n\n", true,
		},
		"an event over lines":       {[]string{"text"}, "data: {\"text\":\ndata: \"secret\"}\n\n", "data: {\"text\": \"[redacted]\"}\n\n", true},
		"an event without JSON":     {[]string{"text"}, "data: secret\n\n", "data: \n\n", true},
		"an event's name of a text": {[]string{"text"}, "event: the Secret, told\ndata: {}\n\n", "data: {}\n\n", true},
		"events without an end":     {[]string{"text"}, "data: {\"text\":\"secret\"}", "data: {\"text\":\"[redacted]\"}\n", true},
	} {
		if got := redacted(t, c.body, false, c.entries...); string(got.Data) != c.want || got.Redacted != c.redacted {
			t.Errorf("%s: got %q (%v), want %q", name, got.Data, got.Redacted, c.want)
		}
	}
}

// Nothing of what is redacted is left, wherever a body is cut.
func TestRedactCut(t *testing.T) {
	for _, body := range []string{
		`{"messages":[{"role":"user","content":"SECRET"},{"content":[{"text":"SECRET"}]}],"n":1}`,
		"event: x\ndata: {\"delta\":{\"content\":\"SECRET\"}}\n\ndata: {\"content\":[\"SECRET\"]}\n\n",
	} {
		for end := range len(body) + 1 {
			for _, cut := range []bool{false, true} {
				if got := redacted(t, body[:end], cut, "content"); bytes.Contains(got.Data, []byte("S")) {
					t.Errorf("%q (%v) becomes %q", body[:end], cut, got.Data)
				}
			}
		}
	}
}

// Depth that no client sends does not exhaust the stack.
func TestRedactDepth(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 200_000)
	if got := redacted(t, deep, false, "x"); len(got.Data) >= len(deep) || !got.Redacted {
		t.Errorf("%d bytes are left", len(got.Data))
	}
}

// No body makes it fail, and none of its texts under a redacted name is left.
func FuzzRedact(f *testing.F) {
	for _, body := range []string{`{"x":"SECRET"}`, "data: {\"x\":\"SECRET\"}\n\n", `[{"x":["SECRET"]}`, "data: {\"x\":\ndata: \"SECRET\"}\r\n\r\n"} {
		f.Add(body, 7)
	}
	f.Fuzz(func(t *testing.T, body string, at int) {
		if len(body) > 1<<12 {
			return
		}
		redacted(t, body, false, "x", "/a/*")
		at = max(0, min(at, len(body)))
		whole := `{"y":` + `"` + strings.Repeat("z", at%50) + `","x":"SECRET"}`
		if got := redacted(t, whole, false, "x"); bytes.Contains(got.Data, []byte("SECRET")) {
			t.Errorf("%q", got.Data)
		}
	})
}
