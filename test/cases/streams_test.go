package cases_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/probe"
	"github.com/genway/genway/test/cases/transcript"
)

func streamCases() []Case {
	return []Case{
		{"S1", "every framing of server-sent events is read, split at any byte", framings},
		{"S2", "a silent upstream is covered by the protocol's own heartbeats, before content too", heartbeats},
		{"S3", "an upstream that ends without its terminator, or lingers after it, ends; one that hangs is given up", lingering},
		{"S4", "a failure after content is told in band and never looks like success", failures},
		{"S5", "the end of the bytes is not the end of the answer: cut streams and bodies are errors", cutAnswers},
		{"S6", "a failure before the first content is a plain error, whatever the upstream has said before (its fallback: TestFallback in test/faults)", earlyFailures},
		{"S7", "after content nothing is tried again: one upstream call, one message_start, no text twice (with a fallback at hand: TestNoFallbackAfterContent in test/faults)", noSecondTry},
		{"S8", "a refused stream is a complete JSON error, never events", refusedStreams},
		{"S9", "headers fit the body that is sent; gzip is taken, up to a limit", encodings},
		{"S10", "callers who leave in the middle end their upstream calls, without a race", departures},
		{"S11", "no answer of an upstream, however malformed, brings the gateway down", malformedAnswers},
		{"S12", "connecting and the first byte belong to the attempt: their failure is a plain error (retried: TestFaults, TestFallback in test/faults)", unreachable},
		{"T55", "a letter whose surrogate pair, or whose bytes, are split between two events of a stream, or two strings of an answer, reaches callers of each protocol as that letter, in texts and in arguments", splitBetweenEvents},
	}
}

// styles are ways to write the same events.
var styles = map[string]func(event, data string) string{
	"no space": func(event, data string) string { return "event:" + event + "\ndata:" + data + "\n\n" },
	"CRLF":     func(event, data string) string { return "event: " + event + "\r\ndata: " + data + "\r\n\r\n" },
	"CR":       func(event, data string) string { return "event: " + event + "\rdata: " + data + "\r\r" },
	"comments": func(event, data string) string {
		return ": ping\n\n:\nevent: " + event + "\n: x\ndata: " + data + "\n\n"
	},
	"other fields": func(event, data string) string {
		return "retry: 7\n\nid: 7\n\nid: 8\nevent: " + event + "\nfoo: bar\ndata: " + data + "\n\n"
	},
	"many lines": func(event, data string) string {
		return "event: " + event + "\ndata: " + strings.Replace(data, ",", ",\ndata: ", 1) + "\n\n\n\n"
	},
	"data first": func(event, data string) string { return "data: " + data + "\nevent: " + event + "\n\n" },
}

// framed writes the events of a turn in a style; chat and generateContent have no
// names of events.
func framed(t *testing.T, p harness.Protocol, reply answers.Reply, style func(event, data string) string) string {
	t.Helper()
	var raw strings.Builder
	nameless := strings.NewReplacer("event: \r\n", "", "event: \r", "", "event: \n", "", "event:\n", "", "\nevent: ", "")
	for _, data := range reply.Events(p) {
		if p == harness.Messages || p == harness.Responses {
			raw.WriteString(style(parse(t, []byte(data)).At("type").Text(), data))
		} else {
			raw.WriteString(nameless.Replace(style("", data)))
		}
	}
	return raw.String()
}

func framings(t *testing.T) {
	reply := answers.Text("fine so fine").Then(answers.Tool("call_1", "weather", `{"city":"Paris"}`))
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		if !w.streamed {
			return
		}
		want := w.receive(t, reply)
		for name, style := range styles {
			for _, sizes := range [][]int{{1}, {7, 3}, {1 << 20}} {
				w.Upstream(w.upstream).Answer(fake.Stream(fake.Bytes(framed(t, w.upstream, reply, style))).Split(sizes...))
				got := transcript.Read(t, w.caller, w.ask(w.caller.Hello()), true)
				if alike(got) != alike(want) {
					t.Errorf("%s in pieces of %v: %+v, want %+v", name, sizes, got, want)
				}
			}
		}
	})
}

func heartbeats(t *testing.T) {
	alive := map[harness.Protocol]harness.Frame{
		harness.Chat: {Comment: "ping"}, harness.Responses: {Comment: "ping"}, harness.GenerateContent: {Comment: "\n"}, harness.Interactions: {Comment: "ping"},
		harness.Messages: {Event: "ping", Data: `{"type":"ping"}`},
	}
	everyStream(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		w.Gateway = harness.New(t, harness.Config{Bubble: true, Heartbeat: 10 * time.Second})
		for name, first := range map[string][]fake.Step{"before content": hello(w.upstream), "after content": begun(w.upstream)} {
			silence := make(chan struct{})
			rest := fake.Events(answers.Text("fine").Events(w.upstream)[len(first):]...)
			if w.upstream == harness.GenerateContent && name == "before content" {
				rest = fake.Events(answers.Text("fine").Events(w.upstream)...)
			}
			w.Upstream(w.upstream).Answer(then(first, append([]fake.Step{fake.Wait(silence)}, rest...)...))
			r := w.Open(t.Context(), w.caller, w.model(), w.caller.Hello())
			beats, all := 0, []harness.Frame{}
			for f, ok := r.Next(); ok; f, ok = r.Next() {
				all = append(all, f)
				beat := alive[w.caller]
				if f.Event == beat.Event && f.Data == beat.Data && f.Comment == beat.Comment {
					if beats++; beats == 3 {
						close(silence)
					}
				}
			}
			if !strings.Contains(fmt.Sprint(all), lastWords[w.caller]) {
				t.Errorf("%s: the answer does not end: %v", name, all)
			}
		}
	})
}

// lastWords is in the last events of an answer that ended well.
var lastWords = map[harness.Protocol]string{
	harness.Chat: "[DONE]", harness.Responses: "response.completed", harness.Messages: "message_stop", harness.GenerateContent: `"finishReason":"STOP"`, harness.Interactions: "interaction.completed",
}

func lingering(t *testing.T) {
	everyStream(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		never := make(chan struct{})
		whole := answers.Text("fine").Events(w.upstream)
		tails := map[string][]string{"lingers": whole}
		if w.upstream == harness.Chat || w.upstream == harness.Messages {
			tails["lingers without terminator"] = whole[:len(whole)-1]
		}
		for name, events := range tails {
			w.Upstream(w.upstream).Answer(then(fake.Events(events...), fake.Bytes(": ping\n\n: ping\n\n"), fake.Wait(never)))
			if got := transcript.Read(t, w.caller, w.ask(w.caller.Hello()), true); got.Text != "fine" {
				t.Errorf("%s: %+v", name, got)
			}
			if name != "lingers" {
				w.Upstream(w.upstream).Answer(then(fake.Events(events...)))
				transcript.Read(t, w.caller, w.ask(w.caller.Hello()), true)
			}
		}
		w.Upstream(w.upstream).Answer(then(begun(w.upstream), fake.Wait(never)))
		failsInBand(t, w.caller, w.ask(w.caller.Hello()))
	})
}

func encodings(t *testing.T) {
	zip := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(text))
		_ = z.Close()
		return b.String()
	}
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		answer := answers.Text("fine").Answer(w.upstream, w.streamed)
		want := w.receive(t, answers.Text("fine"))
		var body strings.Builder
		if w.streamed {
			body.WriteString(framed(t, w.upstream, answers.Text("fine"), styles["CRLF"]))
		} else {
			body.WriteString(answers.Text("fine").Body(w.upstream))
		}
		answer.Header["Content-Encoding"] = "gzip"
		answer.Steps = []fake.Step{fake.Bytes(zip(body.String()))}
		w.Upstream(w.upstream).Answer(answer.Split(5))
		call := harness.CallOf(w.caller, w.model(), w.caller.Hello(), w.streamed)
		call.Body = zip(call.Body)
		call.Header.Set("Content-Encoding", "gzip")
		a := w.Call(call)
		if got := transcript.Read(t, w.caller, a, w.streamed); alike(got) != alike(want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if a.Header.Get("Content-Encoding") != "" || !w.streamed && a.Header.Get("Content-Length") != strconv.Itoa(len(a.Body)) {
			t.Errorf("headers %v of %d bytes", a.Header, len(a.Body))
		}
		seen := w.Upstream(w.upstream).Last(t)
		if seen.Header.Get("Content-Encoding") != "" || seen.Header.Get("Content-Length") != strconv.Itoa(len(seen.Body)) {
			t.Errorf("the upstream got %v with %d bytes", seen.Header, len(seen.Body))
		}
		probe.Parse(t, seen.Body)
	})
	g := harness.New(t, harness.Config{MaxBodyBytes: 1000})
	for _, p := range append(harness.Texts(), harness.Images) {
		for _, c := range []struct {
			encoding, body string
			status         int
		}{
			{"gzip", zip(`{"x":"` + strings.Repeat("a", 1<<20) + `"}`), http.StatusRequestEntityTooLarge},
			{"", `{"x":"` + strings.Repeat("a", 1000) + `"}`, http.StatusRequestEntityTooLarge},
			{"gzip", "not gzip", http.StatusBadRequest},
			{"zstd", "{}", http.StatusUnsupportedMediaType},
		} {
			call := harness.CallOf(p, "chat/m", p.Hello(), false)
			call.Body = c.body
			call.Header.Set("Content-Encoding", c.encoding)
			native(t, p, g.Call(call), c.status)
		}
	}
}

// ourIDs are identifiers of items that Genway made: those of two answers differ when they
// were created in two seconds.
var ourIDs = regexp.MustCompile(`_gw[0-9a-f]{16}`)

// alike is the content of a turn without its times.
func alike(t transcript.Transcript) string { return ourIDs.ReplaceAllString(fmt.Sprint(t), "_gw") }
