package responses_test

import (
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/responses"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// The events of a compaction stay as they are: in one process core and edge have the same.
func TestCompactionLeavesEventsAsTheyAre(t *testing.T) {
	request, err := responses.Codec{}.DecodeRequest([]byte(`{"model":"m","stream":true,"input":[{"role":"user","content":"hi"},{"type":"compaction_trigger"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	e := responses.Codec{}.NewStreamEncoder(codec.Answer{Request: request})
	for _, payload := range []proto.Message{
		&genwayv1.TextStarted{Id: "gen_1", Model: "m"},
		&genwayv1.PartStarted{Part: codec.TextPart("")},
		codec.TextDelta("a summary"),
		&genwayv1.PartCompleted{},
		&genwayv1.TextCompleted{Candidates: []*genwayv1.CandidateEnd{{StopReason: genwayv1.StopReason_STOP_REASON_END_TURN}}},
	} {
		if p, ok := payload.(*genwayv1.PartStarted); ok {
			t.Cleanup(func() {
				if p.GetPart().GetText().GetText() != "" {
					t.Errorf("the event of the part's start became %v", p)
				}
			})
		}
		if _, err := e.Encode(codec.Event(payload)); err != nil {
			t.Fatal(err)
		}
	}
}
