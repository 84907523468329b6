package main

import (
	"strings"
	"testing"
	"time"
)

// A key is captured as its flags say, which change one by one, until it is not.
func TestKeysCapture(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "keys", "create", "--group=chat", "--name=ci", "--capture-until=2h", "--capture-share=0.25", "--capture-redact=content,/messages/*/name")
	shows := func(want ...string) {
		t.Helper()
		shown := fixed(must(t, dir, "keys", "show", "ci"))
		for _, w := range want {
			if !strings.Contains(shown, w+"\n") {
				t.Errorf("there is no %q in\n%s", w, shown)
			}
		}
	}
	shows("captured  0.25 of the requests until TIME, 65536 bytes a body", "redacted  content,/messages/*/name")
	must(t, dir, "keys", "update", "ci", "--capture-share=1", "--capture-max-bytes=1000", "--capture-redact=none")
	shows("captured  all requests until TIME, 1000 bytes a body", "redacted  -")
	must(t, dir, "keys", "update", "ci", "--capture-until=none")
	if shown := must(t, dir, "keys", "show", "ci"); strings.Contains(shown, "captured") {
		t.Errorf("%s", shown)
	}
	far, past := time.Now().Add(8*24*time.Hour).UTC().Format(time.RFC3339), time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	for _, flags := range [][]string{
		{"--capture-share=0.5"}, {"--capture-max-bytes=1"}, {"--capture-redact=a"}, // of nothing that is captured
		{"--capture-until=soon"}, {"--capture-until=-1h"}, {"--capture-until=0s"}, {"--capture-until=" + far}, {"--capture-until=" + past}, {"--capture-until=169h"}, {"--capture-until=2562047h"},
		{"--capture-until=1h", "--capture-share=0"}, {"--capture-until=1h", "--capture-share=-1"}, {"--capture-until=1h", "--capture-share=1.1"}, {"--capture-until=1h", "--capture-share=NaN"},
		{"--capture-until=1h", "--capture-max-bytes=-1"}, {"--capture-until=1h", "--capture-max-bytes=1048577"}, {"--capture-until=1h", "--capture-max-bytes=9223372036854775808"},
		{"--capture-until=1h", "--capture-redact=a,,b"}, {"--capture-until=1h", "--capture-redact=a,a"}, {"--read-captures"},
	} {
		if out, err := genway(t, dir, append([]string{"keys", "update", "ci"}, flags...)...); err == nil {
			t.Errorf("%v: %s", flags, out)
		}
	}
	must(t, dir, "keys", "create", "--group=admin", "--name=reader", "--read-captures")
	if list := must(t, dir, "keys", "list"); !strings.Contains(list, "reads captures") {
		t.Errorf("%s", list)
	}
}
