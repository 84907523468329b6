package cases_test

import (
	"cmp"
	"testing"
	"testing/synctest"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/probe"
	"github.com/genway/genway/test/cases/transcript"
)

// way is one way through the gateway: who asks, who answers, and how.
type way struct {
	*harness.Gateway
	caller, upstream harness.Protocol
	streamed         bool
	// target is the model at the upstream. Default: m.
	target string
}

// everyWay runs a test for each caller over each upstream, streamed and not.
func everyWay(t *testing.T, callers, upstreams []harness.Protocol, run func(*testing.T, way)) {
	for _, caller := range callers {
		for _, upstream := range upstreams {
			for name, streamed := range map[string]bool{"unary": false, "streamed": true} {
				t.Run(string(caller)+" over "+string(upstream)+" "+name, func(t *testing.T) {
					run(t, way{Gateway: harness.New(t, harness.Config{}), caller: caller, upstream: upstream, streamed: streamed})
				})
			}
		}
	}
}

// everyStream runs a test for each caller over each upstream, streamed, in a bubble of synctest: what
// upstreams are given before they are given up is time of the bubble, and takes none.
func everyStream(t *testing.T, callers, upstreams []harness.Protocol, run func(*testing.T, way)) {
	for _, caller := range callers {
		for _, upstream := range upstreams {
			t.Run(string(caller)+" over "+string(upstream), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					run(t, way{Gateway: harness.New(t, harness.Config{Bubble: true}), caller: caller, upstream: upstream, streamed: true})
				})
			})
		}
	}
}

// others are the text protocols but the given ones.
func others(but ...harness.Protocol) []harness.Protocol {
	var list []harness.Protocol
	for _, p := range harness.Texts() {
		found := false
		for _, b := range but {
			found = found || p == b
		}
		if !found {
			list = append(list, p)
		}
	}
	return list
}

func only(p ...harness.Protocol) []harness.Protocol { return p }

func (w way) model() string { return string(w.upstream) + "/" + cmp.Or(w.target, "m") }

// ask sends a body on the way.
func (w way) ask(body string) harness.Answer {
	if w.streamed {
		return w.Stream(w.caller, w.model(), body)
	}
	return w.Post(w.caller, w.model(), body)
}

// receive has the upstream answer with a reply and returns the caller's transcript of it.
func (w way) receive(t *testing.T, reply answers.Reply) transcript.Transcript {
	t.Helper()
	w.Upstream(w.upstream).Answer(reply.Answer(w.upstream, w.streamed))
	return transcript.Read(t, w.caller, w.ask(w.caller.Hello()), w.streamed)
}

// sees has the caller send a body, and returns the body the upstream got.
func (w way) sees(t *testing.T, body string) probeValue {
	t.Helper()
	w.Upstream(w.upstream).Answer(answers.Text("fine").Answer(w.upstream, w.streamed))
	if a := w.ask(body); a.Status != 200 {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	return parse(t, w.Upstream(w.upstream).Last(t).Body)
}

// lost has the caller send a body, and returns what the answer's header names as lost.
func (w way) lost(t *testing.T, body string) string {
	t.Helper()
	w.Upstream(w.upstream).Answer(answers.Text("fine").Answer(w.upstream, w.streamed))
	a := w.ask(body)
	if a.Status != 200 {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	return a.Header.Get("X-Genway-Lost")
}

// probeValue saves the files of cases an import.
type probeValue = probe.Value

func parse(t *testing.T, document []byte) probe.Value {
	t.Helper()
	return probe.Parse(t, document)
}
