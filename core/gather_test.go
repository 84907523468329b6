package core_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
)

// gathered makes a streamed call of an edge, or of a direct caller, and returns the texts of the events
// of each message.
func gathered(t *testing.T, edge, takes bool, stream func(*call.Record, upstream.Send) error) (messages [][]string, err error) {
	t.Helper()
	f := serve(t)
	f.streamOf = func(ctx context.Context, send upstream.Send) error { return stream(call.Of(ctx), send) }
	req := request()
	md := []string{"authorization", "Bearer internal"}
	if edge {
		md = []string{"authorization", "Bearer chat", "genway-protocol", "chat_completions", "genway-edge-secret", secret}
	}
	req.Wire = &genwayv1.WireMessage{
		Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: []byte(`{}`),
		Extension: &edgev1.RequestExtension{AcceptsTranslatedBatches: takes},
	}
	events, err := f.client.StreamGenerateText(as(t, md...), req)
	if err != nil {
		t.Fatal(err)
	}
	for {
		message, err := events.Recv()
		if errors.Is(err, io.EOF) {
			return messages, nil
		}
		if err != nil {
			return messages, err
		}
		messages = append(messages, said(t, message))
	}
}

// said returns the texts of the events of a message: "." for one that completes the stream.
func said(t *testing.T, message *genwayv1.StreamGenerateTextResponse) (texts []string) {
	t.Helper()
	batch := message.GetWire().GetBatch().GetTranslated()
	if batch == nil {
		if message.GetCompleted() != nil {
			return []string{"."}
		}
		return []string{message.GetPartDelta().GetText()}
	}
	for len(batch) > 0 {
		ev := new(genwayv1.StreamGenerateTextResponse)
		var err error
		if batch, err = transport.NextEvent(batch, ev); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, said(t, ev)...)
	}
	if int(message.GetWire().GetBatch().GetCount()) != len(texts) {
		t.Errorf("a batch of %q says that it has %d events", texts, message.GetWire().GetBatch().GetCount())
	}
	return texts
}

func text(s string) *genwayv1.StreamGenerateTextResponse {
	return codec.Event(&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Text{Text: s}})
}

// Events that are ready together are one message, for an edge that takes batches and of an upstream
// that says when it waits. Any other caller gets each event as a message.
func TestGather(t *testing.T) {
	says := func(gathers bool) func(*call.Record, upstream.Send) error {
		return func(record *call.Record, send upstream.Send) error {
			record.Gathers = gathers
			err := errors.Join(send(text("a")), send(text("b")), send(text("c")))
			record.Flush()
			record.Flush()
			return errors.Join(err, send(text("d")), send(codec.Event(&genwayv1.TextCompleted{})))
		}
	}
	together, single := [][]string{{"a", "b", "c"}, {"d", "."}}, [][]string{{"a"}, {"b"}, {"c"}, {"d"}, {"."}}
	for _, c := range []struct {
		edge, takes, gathers bool
		want                 [][]string
	}{
		{true, true, true, together},
		{true, true, false, single},
		{true, false, true, single},
		{false, true, true, single},
	} {
		got, err := gathered(t, c.edge, c.takes, says(c.gathers))
		if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("edge %t, takes %t, gathers %t: %q, %v", c.edge, c.takes, c.gathers, got, err)
		}
	}
}

// What was said before a failure arrives before it.
func TestGatherBeforeFailure(t *testing.T) {
	got, err := gathered(t, true, true, func(record *call.Record, send upstream.Send) error {
		record.Gathers = true
		return errors.Join(send(text("a")), send(text("b")), fault.New(fault.BadUpstream, "X", "it broke"))
	})
	if err == nil || fmt.Sprint(got) != "[[a b]]" {
		t.Errorf("%q, %v", got, err)
	}
	got, err = gathered(t, true, true, func(record *call.Record, send upstream.Send) error {
		record.Gathers = true
		return errors.Join(send(text("a")), send(text("b"))) // without an end
	})
	if err == nil || detail(t, err).GetReason() != fault.ReasonStreamCut || fmt.Sprint(got) != "[[a b]]" {
		t.Errorf("cut: %q, %v", got, err)
	}
}

// Events do not wait without bound, whatever the upstream does.
func TestGatherIsBounded(t *testing.T) {
	const events = 1000
	most := 0
	got, err := gathered(t, true, true, func(record *call.Record, send upstream.Send) error {
		record.Gathers = true
		for i := range events {
			if err := send(text(strconv.Itoa(i))); err != nil {
				return err
			}
		}
		return send(codec.Event(&genwayv1.TextCompleted{}))
	})
	for _, m := range got {
		most = max(most, len(m))
	}
	want := make([]string, 0, events+1)
	for i := range events {
		want = append(want, strconv.Itoa(i))
	}
	if all := slices.Concat(got...); err != nil || most > 64 || len(got) > 100 || !slices.Equal(all, append(want, ".")) {
		t.Errorf("%d messages of at most %d events, %d in all: %v", len(got), most, len(all), err)
	}
}
