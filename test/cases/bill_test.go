package cases_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/probe"
)

// reportedUsage is the usage that package answers puts into every answer, in each protocol's
// words; messages has a second one at the end of its streams.
var reportedUsage = map[harness.Protocol]string{
	harness.Chat:            `{"completion_tokens":7,"prompt_tokens":11,"total_tokens":18}`,
	harness.Responses:       `{"input_tokens":11,"input_tokens_details":{"cached_tokens":0},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":18}`,
	harness.Messages:        `{"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"input_tokens":11,"output_tokens":7}`,
	harness.GenerateContent: `{"promptTokenCount":11,"candidatesTokenCount":7,"totalTokenCount":18}`,
	harness.Interactions:    `{"total_input_tokens":11,"total_output_tokens":7,"total_thought_tokens":0,"total_tokens":18}`,
}

const usageLast = `{"output_tokens":7}`

// billing is an answer of the protocol that reports the usage; for messages it
// stands at the start of a stream and at its end.
func billing(t *testing.T, p harness.Protocol, usage string, streamed bool) fake.Answer {
	t.Helper()
	if !streamed {
		return fake.JSON(replaced(t, answers.Text("fine").Body(p), reportedUsage[p], usage))
	}
	return fake.Stream(fake.Events(billedEvents(t, p, usage, usage)...)...)
}

// billedEvents are the events of such a stream. For messages, first is the usage
// at the start; it has no place in the others.
func billedEvents(t *testing.T, p harness.Protocol, first, last string) []string {
	t.Helper()
	all := strings.Join(answers.Text("fine").Events(p), "\n")
	if p == harness.Messages {
		all = replaced(t, replaced(t, all, reportedUsage[p], first), usageLast, last)
	} else {
		all = replaced(t, all, reportedUsage[p], last)
	}
	return strings.Split(all, "\n")
}

func replaced(t *testing.T, in, old, by string) string {
	t.Helper()
	if strings.Count(in, old) != 1 {
		t.Fatalf("the test's own: %q is not once in %s", old, in)
	}
	return strings.Replace(in, old, by, 1)
}

// askForBill asks with the protocol's smallest body, and for chat's usage chunk.
func (w way) askForBill() harness.Answer {
	body := w.caller.Hello()
	if w.caller == harness.Chat && w.streamed {
		body = strings.TrimSuffix(body, "}") + `,"stream_options":{"include_usage":true}}`
	}
	return w.ask(body)
}

// bill is the usage an answer ends with.
func (w way) bill(t *testing.T, a harness.Answer) probe.Value {
	t.Helper()
	if a.Status != 200 {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	member := "usage"
	if w.caller == harness.GenerateContent {
		member = "usageMetadata"
	}
	if !w.streamed {
		return a.JSON().At(member)
	}
	frames := a.Frames()
	switch last := len(frames) - 1; w.caller {
	case harness.Responses:
		return frames[last].JSON().At("response.usage")
	case harness.GenerateContent:
		return frames[last].JSON().At(member)
	case harness.Interactions: // before [DONE]
		return frames[last-1].JSON().At("interaction.usage")
	default: // [DONE] and message_stop come after it
		return frames[last-1].JSON().At(member)
	}
}

// billed has the upstream report a usage and returns what the caller gets.
func (w way) billed(t *testing.T, usage string) probe.Value {
	t.Helper()
	w.Upstream(w.upstream).Answer(billing(t, w.upstream, usage, w.streamed))
	return w.bill(t, w.askForBill())
}

// ledger sees every call between the core and its upstreams, and notes the
// canonical usage of each answer. With foreign set it takes the wire messages
// away, so that same-protocol calls go through the canonical messages too.
type ledger struct {
	upstream.Upstream
	foreign bool

	mu   sync.Mutex
	last *genwayv1.Usage
}

func (l *ledger) wrap(u upstream.Upstream) upstream.Upstream {
	l.Upstream = u
	return l
}

func (l *ledger) note(u *genwayv1.Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = u
}

// usage is that of the last answer.
func (l *ledger) usage() *genwayv1.Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// seen is the request as the upstream sees it: read, and without the caller's own body,
// if that is to look foreign.
func (l *ledger) seen(req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextRequest, error) {
	if !l.foreign {
		return req, nil
	}
	req, err := deferred.New(req).Whole()
	if err == nil {
		req.Wire = nil
	}
	return req, err
}

func (l *ledger) GenerateText(ctx context.Context, asked *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	req, err := asked.Whole()
	if err != nil {
		return nil, err
	}
	req, err = l.seen(req)
	if err != nil {
		return nil, err
	}
	resp, err := l.Upstream.GenerateText(ctx, deferred.New(req))
	l.note(resp.GetUsage())
	return resp, err
}

func (l *ledger) StreamGenerateText(ctx context.Context, asked *deferred.Request, send upstream.Send) error {
	req, err := asked.Whole()
	if err != nil {
		return err
	}
	req, err = l.seen(req)
	if err != nil {
		return err
	}
	return l.Upstream.StreamGenerateText(ctx, deferred.New(req), func(ev *genwayv1.StreamGenerateTextResponse) error {
		if end := ev.GetCompleted(); end != nil {
			l.note(end.GetUsage())
		}
		return send(ev)
	})
}

func (l *ledger) GenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	if l.foreign {
		req.Wire = nil
	}
	resp, err := l.Upstream.GenerateImage(ctx, req)
	l.note(resp.GetUsage())
	return resp, err
}

func (l *ledger) StreamGenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest, send upstream.SendImage) error {
	if l.foreign {
		req.Wire = nil
	}
	return l.Upstream.StreamGenerateImage(ctx, req, func(ev *genwayv1.StreamGenerateImageResponse) error {
		if end := ev.GetCompleted(); end != nil {
			l.note(end.GetUsage())
		}
		return send(ev)
	})
}
