package responses_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/responses"
	"github.com/genway/genway/codec/stored"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// A response that is stored says so, and when it was completed, streamed or not; one that fails is not stored.
func TestStoredResponses(t *testing.T) {
	resp := answered()
	resp.Stored, resp.CreateTime, resp.CompleteTime = true, &timestamppb.Timestamp{Seconds: 100}, &timestamppb.Timestamp{Seconds: 107}
	body, err := c.EncodeResponse(resp, codec.Answer{})
	if err != nil || string(member.Value(body, "store")) != "true" || string(member.Value(body, "completed_at")) != "107" {
		t.Errorf("%v %s", err, body)
	}
	for _, wire := range []*genwayv1.WireMessage{nil, {Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: []byte("{}")}} { // of a core that sends no body of the protocol
		stored := codec.Shared(resp)
		stored.Wire = wire
		if got, err := c.EncodeStored(&genwayv1.GetResponseResponse{Response: stored}); err != nil || !bytes.Equal(got, body) {
			t.Errorf("fetched %s, %v", got, err)
		}
	}
	recorder := responses.Codec{}.NewRecorder(codec.Answer{})
	events := codec.Events(resp, nil)
	for _, ev := range events {
		if _, err := recorder.Add(ev); err != nil {
			t.Fatal(err)
		}
	}
	frames := codectest.EncodeStream(t, c, events, codec.Answer{})
	for _, got := range []string{string(recorder.Body()), string(member.Value(frames[len(frames)-1].Data, "response"))} {
		if got != string(body) {
			t.Errorf("streamed\n%s\nunary\n%s", got, body)
		}
	}
	encoder := c.NewStreamEncoder(codec.Answer{})
	if _, err := encoder.Encode(events[0]); err != nil {
		t.Fatal(err)
	}
	failed := encoder.Fail(fault.New(fault.Unavailable, "X", "away"))
	if response := member.Value(failed[len(failed)-1].Data, "response"); string(member.Value(response, "store")) != "false" {
		t.Errorf("%s", response)
	}
}

// A turn is what a request adds to a conversation, and the conversation goes before the input of the next.
func TestTurns(t *testing.T) {
	for _, test := range []struct{ request, next, want string }{
		{`{"input":"a"}`, `{"model":"m","previous_response_id":"x","input":"b"}`,
			`{"model":"m","input":[{"type":"message","role":"user","content":"a"},{"id":"o"},{"type":"message","role":"user","content":"b"}]}`},
		{`{"input":[{"role":"user","content":"a"}]}`, `{"input":[{"role":"user","content":"b"}],"pr\u0065vious_response_id":"x","store":null}`,
			`{"input":[{"role":"user","content":"a"},{"id":"o"},{"role":"user","content":"b"}],"store":null}`},
		{`{"input":[]}`, `{"previous_response_id":"x"}`, `{"input":[{"id":"o"}]}`},
		{`{}`, `{"previous_response_id":"x","input":null}`, `{"input":[{"id":"o"}]}`},
	} {
		turn := (responses.Codec{}).Stored().NewTurn([]byte(test.request), 0, []byte(`{"id":"x","output":[{"id":"o"}]}`), []string{"y", "z"})
		turn = stored.ParseTurn(turn.Encode())
		if strings.Join(turn.Before, " ") != "y z" || strings.Join(turn.After("x"), " ") != "x y z" {
			t.Errorf("%v", turn.Before)
		}
		body, earlier, err := (responses.Codec{}).Stored().Continue([]byte(test.next), []*stored.Turn{turn})
		if err != nil || string(body) != test.want {
			t.Errorf("%v\n%s\nwant\n%s", err, body, test.want)
		}
		own := (responses.Codec{}).Stored().NewTurn(body, earlier, []byte(`{}`), nil)
		if both, _, err := (responses.Codec{}).Stored().Continue([]byte(`{}`), []*stored.Turn{own, turn}); err != nil || !bytes.Equal(member.Value(both, "input"), member.Value(body, "input")) {
			t.Errorf("%v\n%s\nwant\n%s", err, both, body)
		}
	}
}

// The input of any request is listed with a type and an identifier for each item, and nothing else is changed.
func FuzzInputItems(f *testing.F) {
	f.Add([]byte(`{"input":[{"role":"user","content":"a"},{"id":"msg_1"},{"type":"function_call","id":null,"call_id":"c"},1,{"type":7}]}`))
	f.Add([]byte(`{"input":"a"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := c.DecodeRequest(body); err != nil {
			return
		}
		turn := (responses.Codec{}).Stored().NewTurn(body, 0, []byte(`{}`), nil)
		listed := responses.InputItems(turn, "resp_1")
		seen := 0
		for range member.Elements(turn.Input) {
			seen++
		}
		if seen != len(listed) {
			t.Fatalf("%d items, %d listed", seen, len(listed))
		}
		for _, item := range listed {
			if !member.Valid(item.GetJson()) || responses.ItemID(item) == "" || item.GetProtocol() != genwayv1.Protocol_PROTOCOL_RESPONSES {
				t.Errorf("%s", item.GetJson())
			}
		}
	})
}
