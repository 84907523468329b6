package faults_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/test/faults/faulty"
)

var update = flag.Bool("update", false, "write docs/faults.md")

// document holds docs/faults.md against the table, or writes it when every cell
// has come out as written.
func document(t *testing.T) {
	t.Helper()
	file := filepath.Join("..", "..", "docs", "faults.md")
	want := page()
	if *update && !t.Failed() {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/faults.md is not what the table says (%v): run make faults", err)
	}
}

// String is the outcome as the page has it.
func (o outcome) String() string {
	switch {
	case o.complete:
		return "whole"
	case o.inBand:
		return "event: " + string(o.why)
	}
	calls := ""
	if o.calls > 1 {
		calls = ", retried"
	}
	return fmt.Sprintf("%d %s%s", statuses[o.why], o.why, calls)
}

func page() []byte {
	var b bytes.Buffer
	b.WriteString(`# The fault table

What a caller gets when an upstream fails: in each way, at each moment of the answer,
for a unary answer and for a stream. The outcomes are the same for upstreams and callers of
chat completions, responses, messages, generateContent, interactions and images, each of whom gets an error in its own shape.
TestFaults in test/faults breaks an answer on the wire for every cell, protocol of
the upstream and protocol of the caller, and holds what comes to this table.

` + "`make faults`" + ` runs it and writes this page; do not edit it.

- **whole**: the answer in full, and nothing else looks like it: a 200 body, or a stream
  with the protocol's terminator.
- **503 unreachable, 504 timeout, 502 cut off, 502 malformed**: nothing of the answer was
  sent; only an error, with that status. **Retried**: the upstream has been asked once
  more before (a retry is allowed here), or the next one of the route would be.
  A unary answer has begun when its headers say 2xx: a failure after that is not tried
  again, here or elsewhere, since the upstream may have done and charged what was asked.
  A stream has begun with its first content.
- **event: …**: part of the answer was sent; the stream ends with the protocol's error
  event, and nothing says that the answer is complete. Nothing is tried again. A stream of
  chat completions has ` + "`" + `[DONE]` + "`" + ` after the error, as the vendor's has: it ends the stream
  and is no success; the vendor's SDKs raise at the error and read no further.
- **–**: there is no such case; the reason is below.

Timeouts are the upstream's ` + "`first_byte` and `idle`" + ` of the configuration. A stream that has
been silent for 15 s has begun for the caller, with a heartbeat: what would have been an
error with a status until then is an event from then on.

`)
	b.WriteString("| fault | | " + strings.Join(names(faulty.Moments()), " | ") + " |\n|---|---|" + strings.Repeat("---|", len(faulty.Moments())) + "\n")
	for _, f := range faulty.Faults() {
		for i, how := range []string{"unary", "stream"} {
			table := []map[faulty.Fault]byMoment{unary, streamed}[i]
			fmt.Fprintf(&b, "| %s | %s |", map[bool]faulty.Fault{true: f}[i == 0], how)
			for j, m := range faulty.Moments() {
				answerText := table[f][j].String()
				if faulty.Meaningless(f, m, i == 1) != "" {
					answerText = "–"
				}
				fmt.Fprintf(&b, " %s%s |", answerText, mark(f, m, i == 1))
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\n## The exceptions\n\n")
	for e, x := range exceptions {
		fmt.Fprintf(&b, "\\* %s, %s, over %s: %s, since %s.\n", e.fault, e.moment, e.upstream, x.outcome, x.because)
	}
	b.WriteString("\n## The faults\n\n")
	for _, f := range faulty.Faults() {
		fmt.Fprintf(&b, "- **%s**: %s.\n", f, f.About())
	}
	b.WriteString("\n## The moments\n\n")
	for _, m := range faulty.Moments() {
		fmt.Fprintf(&b, "- **%s**: %s.\n", m, m.About())
	}
	b.WriteString("\n## Where there is no case\n\n")
	for _, line := range meaningless() {
		b.WriteString("- " + line + ".\n")
	}
	b.WriteString("- Images, streamed: TestCutImageStreams in core/upstream/remote cuts them at every byte, and case C20 holds them to the same outcomes; TestCutDrawing does so for upstreams that draw in answers of text.\n")
	b.WriteString(ofNetHTTP)
	return b.Bytes()
}

// ofNetHTTP is what no protocol has a say in; TestAnswersOfNetHTTP of package gateway holds it.
const ofNetHTTP = `
## What net/http answers itself

Before any handler is called, over HTTP/1: text, without an identifier and without a line in the log. Then the connection ends.

| a request | answer |
|---|---|
| with a malformed request line, target, field or length; with no ` + "`" + `Host` + "`" + ` or two | 400 |
| with a request line and header fields of more than 64 KiB | 431 |
| with an ` + "`" + `Expect` + "`" + ` other than ` + "`" + `100-continue` + "`" + ` | 417 |
| with a Transfer-Encoding other than ` + "`" + `chunked` + "`" + ` | 501 |
| of a version other than HTTP/1.0 and HTTP/1.1 | 505 |
| in clear text, where the port speaks TLS | 400 |

Over HTTP/2 a malformed request has its stream reset (RFC 9113, 8.1.1). 431 and 400, for a field of HTTP/1 alone such as ` + "`" + `Connection` + "`" + `,
are text as well; the connection goes on.
`

// mark points to the exceptions.
func mark(f faulty.Fault, m faulty.Moment, streamed bool) string {
	for e := range exceptions {
		if streamed && e.fault == f && e.moment == m {
			return " \\*"
		}
	}
	return ""
}

// meaningless lists the cases there are none of, by reason.
func meaningless() []string {
	reasons := map[string]map[string]bool{}
	for _, f := range faulty.Faults() {
		for _, m := range faulty.Moments() {
			for _, how := range []bool{false, true} {
				if why := faulty.Meaningless(f, m, how); why != "" {
					if reasons[why] == nil {
						reasons[why] = map[string]bool{}
					}
					at := string(f) + " " + string(m)
					if m == faulty.AfterEnd && !how {
						at = "unary, " + string(m)
					}
					reasons[why][at] = true
				}
			}
		}
	}
	var lines []string
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		lines = append(lines, strings.Join(slices.Sorted(maps.Keys(reasons[why])), "; ")+": "+why)
	}
	return lines
}

func names[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, name := range list {
		out[i] = string(name)
	}
	return out
}
