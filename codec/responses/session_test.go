package responses_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
)

// ask asks a session, and answers with an item and whether it is stored; nothing if the answer fails. It returns the body that the
// core gets.
func ask(t *testing.T, s codec.Session, message, id string, stored bool) (string, error) {
	t.Helper()
	r, err := s.Read([]byte(message))
	if err != nil {
		t.Fatal(err)
	}
	defer r.End()
	body, _, err := r.Body()
	if err == nil && id != "" {
		r.Event(codec.Frame{Event: "response.completed", Data: fmt.Appendf(nil, `{"type":"response.completed","response":{"id":%q,"store":%t,"output":[{"type":"message","id":%q}]}}`, id, stored, "o"+id)})
		if !r.Ended() {
			t.Error("the answer has not ended")
		}
	}
	return string(body), err
}

func after(id, store string) string {
	return `{"type":"response.create","previous_response_id":"` + id + `","input":"then"` + store + `}`
}

const unstored = `,"store":false`

// A session remembers its last responses and what was before them.
func TestSessionRemembers(t *testing.T) {
	s := c.NewSession()
	_, _ = ask(t, s, `{"type":"response.create","stream_id":"x","generate":true,"input":"a","store":false}`, "r1", false)
	body, err := ask(t, s, after("r1", unstored), "r2", false)
	if want := `{"input":[{"type":"message","role":"user","content":"a"},{"type":"message","id":"or1"},{"type":"message","role":"user","content":"then"}],"store":false,"stream":true}`; err != nil || body != want {
		t.Errorf("%v %s", err, body)
	}
	if body, err = ask(t, s, after("r2", unstored), "", false); err != nil || strings.Count(body, `"id"`) != 2 {
		t.Errorf("%v %s", err, body)
	}
	if _, err = ask(t, s, after("r2", unstored), "", false); fault.From(err).NativeCode != "previous_response_not_found" {
		t.Errorf("after a failure: %v", err)
	}
	// What is stored elsewhere goes on there, and what is not stored after that goes on here, after it.
	_, _ = ask(t, s, `{"type":"response.create","input":"a"}`, "r3", true)
	if body, err = ask(t, s, after("r3", unstored), "r4", false); err != nil || !strings.Contains(body, `"previous_response_id":"r3"`) || strings.Contains(body, "or3") {
		t.Errorf("%v %s", err, body)
	}
	if body, err = ask(t, s, after("r4", unstored), "r5", false); err != nil || !strings.Contains(body, `"previous_response_id":"r3"`) || !strings.Contains(body, "or4") {
		t.Errorf("%v %s", err, body)
	}
	if body, err = ask(t, s, after("r9", ""), "r6", false); err != nil || !strings.Contains(body, `"previous_response_id":"r9"`) {
		t.Errorf("%v %s", err, body)
	}
}

// What is remembered is bounded, and turns that conversations share count once.
func TestSessionIsBounded(t *testing.T) {
	s := c.NewSession()
	_, _ = ask(t, s, `{"type":"response.create","input":"a","store":false}`, "r0", false)
	one := s.Size()
	for i := range 20 {
		if _, err := ask(t, s, after("r"+strconv.Itoa(i), unstored), "r"+strconv.Itoa(i+1), false); err != nil {
			t.Fatal(err)
		}
	}
	if size := s.Size(); size < 20*one || size > 25*one {
		t.Errorf("%d bytes, of %d a turn", size, one)
	}
	if _, err := ask(t, s, after("r12", unstored), "", false); err == nil {
		t.Error("the ninth response is remembered")
	}
	if _, err := ask(t, s, after("r13", unstored), "", false); err != nil {
		t.Error(err)
	}
	if s.Forget(); s.Size() != 0 {
		t.Errorf("%d bytes", s.Size())
	}
}

// A result needs its call, in the conversation or in the request.
func TestSessionResults(t *testing.T) {
	result := `{"type":"function_call_output","call_id":"c1","output":"x"}`
	for input, want := range map[string]bool{
		result: false,
		`{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},` + result: true,
		`{"type":"function_call","call_id":"c2","name":"f","arguments":"{}"},` + result: false,
		`{"type":"custom_tool_call_output","call_id":"c1","output":"x"}`:                false,
		`{"type":"item_reference","id":"fc_1"},` + result:                               true,
		`{"id":"fc_1"},` + result:                 true,
		`{"role":"user","content":"x"},7,null,{}`: true,
	} {
		s := c.NewSession()
		_, _ = ask(t, s, `{"type":"response.create","input":"a","store":false}`, "r1", false)
		_, err := ask(t, s, `{"type":"response.create","previous_response_id":"r1","store":false,"input":[`+input+`]}`, "", false)
		if (err == nil) != want || err != nil && fault.From(err).Param != "input" {
			t.Errorf("%s: %v", input, err)
		}
	}
}

// Failures of upstreams keep their words, and each has a code.
func TestSessionFailures(t *testing.T) {
	for _, of := range []struct {
		err  *fault.Error
		want string
	}{
		{fault.New(fault.Internal, "X", "sorry"), `{"type":"error","status":500,"error":{"message":"sorry","type":"server_error","param":null,"code":"server_error","headers":{"a":"1"}}}`},
		{c.DecodeError(400, []byte(`{"error":{"message":"m","type":"t","code":"c","param":"p","x":1}}`)), `{"type":"error","status":400,"error":{"message":"m","type":"t","code":"c","param":"p","x":1,"headers":{"a":"1"}}}`},
		{c.DecodeError(503, []byte("<html>")), ""},
		{c.DecodeError(400, []byte(`{"error":"text"}`)), ""},
	} {
		r, _ := c.NewSession().Read(nil)
		got := r.Fail(of.err, map[string]string{"a": "1"})
		failure := member.Value(got, "error")
		if of.want != "" && string(got) != of.want || len(member.Value(failure, "code")) < 3 || len(member.Value(failure, "message")) < 3 || !member.Valid(got) {
			t.Errorf("%s", got)
		}
	}
}

// FuzzSession reads any message and answers what can be read.
func FuzzSession(f *testing.F) {
	for _, seed := range []string{`{"type":"response.create","input":"a","store":false,"stream_id":"x","generate":false}`, `{"type":"response.create","previous_response_id":"r1","input":[{"type":"function_call_output","call_id":"c"}]}`, `{"type":"response.steer","input":[]}`, `{}`, `[`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		s := c.NewSession()
		_, _ = ask(t, s, `{"type":"response.create","input":"a","store":false}`, "r1", false)
		r, err := s.Read(message)
		if err != nil {
			if got := r.Fail(fault.From(err), nil); !member.Valid(got) {
				t.Errorf("%s", got)
			}
			return
		}
		body, _, err := r.Body()
		if err == nil && !member.Valid(body) {
			t.Errorf("%s", body)
		}
		got := r.Event(codec.Frame{Data: []byte(`{"type":"response.completed","response":{"id":"r2","output":[]}}`)})
		if !member.Valid(got) {
			t.Errorf("%s", got)
		}
		r.End()
	})
}
