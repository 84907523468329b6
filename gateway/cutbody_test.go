package gateway_test

import (
	"strings"
	"testing"
)

// Nothing is called for such a body.
func TestChunkedBodiesThatAreCut(t *testing.T) {
	const head = "POST /v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\nTransfer-Encoding: chunked\r\n\r\n"
	const chunk = "4c\r\n" + `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"}]     }` + "\r\n"
	for _, end := range []string{"zz\r\n", "-1\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n"} {
		sent := head + chunk + end + smuggled
		for _, cut := range []int{0, len(head), len(head + chunk)} {
			if got, _ := converse(t, sent, cut); !strings.HasPrefix(got[min(len(got), 8):], " 400 ") || !strings.Contains(got, "could not be read to its end") {
				t.Fatalf("%q, cut at %d:\n%s", end, cut, got)
			}
		}
	}
}
