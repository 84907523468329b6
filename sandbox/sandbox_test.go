package sandbox

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// newSandbox makes one whose identifiers and times are the same for every test.
func newSandbox(t testing.TB) *Sandbox {
	t.Helper()
	var n atomic.Int64
	return New(Config{
		Clock: func() time.Time { return epoch },
		NewID: func(prefix string) string { return fmt.Sprintf("%s%d", prefix, n.Add(1)) },
	})
}

// ask makes a request of one user text.
func ask(prompt string, with ...func(*genwayv1.GenerateTextRequest)) *genwayv1.GenerateTextRequest {
	return conversed([]*genwayv1.Message{say(genwayv1.Role_ROLE_USER, prompt)}, with...)
}

func conversed(messages []*genwayv1.Message, with ...func(*genwayv1.GenerateTextRequest)) *genwayv1.GenerateTextRequest {
	req := &genwayv1.GenerateTextRequest{Model: "sandbox-text", Messages: messages}
	for _, w := range with {
		w(req)
	}
	return req
}

func say(role genwayv1.Role, texts ...string) *genwayv1.Message {
	m := &genwayv1.Message{Role: role}
	for _, text := range texts {
		m.Parts = append(m.Parts, textPart(text))
	}
	return m
}

func called(name string) func(*genwayv1.GenerateTextRequest) {
	return func(r *genwayv1.GenerateTextRequest) { r.Model = name }
}

func wire(p genwayv1.Protocol) func(*genwayv1.GenerateTextRequest) {
	return func(r *genwayv1.GenerateTextRequest) { r.Wire = &genwayv1.WireMessage{Protocol: p} }
}

func generate(t testing.TB, req *genwayv1.GenerateTextRequest) *genwayv1.GenerateTextResponse {
	t.Helper()
	before := proto.CloneOf(req)
	resp, err := newSandbox(t).GenerateText(t.Context(), deferred.New(req))
	if err != nil {
		t.Fatalf("generate: %v", err)
	}
	if !proto.Equal(before, req) {
		t.Fatal("the request was changed")
	}
	return resp
}

// text is what the first candidate says.
func answerText(resp *genwayv1.GenerateTextResponse) string {
	if len(resp.GetCandidates()) == 0 {
		return ""
	}
	return textOf(resp.GetCandidates()[0].GetParts())
}

func refused(t testing.TB, err error, kind fault.Kind, param string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) {
		t.Fatalf("error %v, want a fault", err)
	}
	if f.Kind != kind || f.Param != param {
		t.Errorf("fault %v of kind %v at %q, want kind %v at %q", f, f.Kind, f.Param, kind, param)
	}
}

// fold collects a stream. The error is the call's.
func fold(ctx context.Context, s *Sandbox, req *genwayv1.GenerateTextRequest) (*codec.Accumulator, error) {
	var folder codec.Accumulator
	err := s.StreamGenerateText(ctx, deferred.New(req), func(ev *genwayv1.StreamGenerateTextResponse) error {
		return folder.Add(proto.CloneOf(ev))
	})
	return &folder, err
}

func TestDefaults(t *testing.T) {
	s := New(Config{})
	first, err := s.GenerateText(t.Context(), deferred.New(ask("Say hello.")))
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.GenerateText(t.Context(), deferred.New(ask("Say hello.")))
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Id) != len("gen-")+24 || first.Id == second.Id {
		t.Errorf("ids %q and %q", first.Id, second.Id)
	}
	if age := time.Since(first.CreateTime.AsTime()); age < 0 || age > time.Minute {
		t.Errorf("created %v ago", age)
	}
}

func TestModels(t *testing.T) {
	var names []string
	for _, m := range newSandbox(t).Models() {
		names = append(names, m.Name)
		if m.OwnedBy != "genway" || m.GeneratesText == m.GeneratesImages || !m.CreateTime.AsTime().Equal(epoch) {
			t.Errorf("model %v", m)
		}
	}
	if got, want := fmt.Sprint(names), "[sandbox-image sandbox-text]"; got != want {
		t.Errorf("models %s, want %s", got, want)
	}
}

func TestUnknownModel(t *testing.T) {
	s := newSandbox(t)
	_, err := s.GenerateText(t.Context(), deferred.New(ask("hi", called("nope"))))
	refused(t, err, fault.NotFound, "model")
	if f := fault.From(err); f.Reason != fault.ReasonModelNotFound ||
		f.Message != "The model `nope` does not exist or you do not have access to it." {
		t.Errorf("reason %s, message %q", f.Reason, f.Message)
	}
	for _, name := range []string{"sandbox-", "sandbox-slow-", "sandbox-slow-x", "sandbox-slow-1000h", "sandbox-long-0", "sandbox-cut-2"} {
		_, err := s.CountTokens(t.Context(), &genwayv1.CountTokensRequest{Request: ask("hi", called(name))})
		refused(t, err, fault.NotFound, "model")
	}
	_, err = s.GenerateText(t.Context(), deferred.New(ask("hi", called("sandbox-image"))))
	refused(t, err, fault.InvalidRequest, "model")
}
