package member

import "testing"

func TestHead(t *testing.T) {
	standIns := []StandIn{{"messages", `[0]`}, {"tools", ""}}
	for _, c := range []struct{ body, want string }{
		{`{"model":"m","messages":[{"a":1},2],"n":1}`, `{"model":"m","messages":[0],"n":1}`},
		{" {\n\"messages\" : [ 1 ] , \"tools\": [7]\n} \n", "{\n\"messages\" : [0] , \"tools\": null\n}"},
		{`{"messages":"text"}`, `{"messages":[0]}`},
		// These are decoded whole.
		{`{"messages":[]}`, ""}, {`{"messages":[ ]}`, ""}, {`{"messages":""}`, ""}, {`{"messages":{}}`, ""}, {`{"messages":null}`, ""},
		{`{"model":"m"}`, ""}, {`[1]`, ""}, {``, ""}, {`{"messages":[1]} x`, ""}, {`{"messages":[1],"messages":[1]}`, ""},
		{`{"messages":[{"a":1,"a":2}]}`, ""}, {`{"messages":[1],"tools":[}`, ""},
	} {
		got, ok := Head([]byte(c.body), standIns)
		if string(got) != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v, want %q", c.body, got, ok, c.want)
		}
	}
}

func TestElements(t *testing.T) {
	for body, want := range map[string]int{
		`{"data":[]}`: 0, `{"data":[ ]}`: 0, `{"data":[1]}`: 1, ` {"x":[1,2,3],"data":[ {"a":[1,2]} , "b" ]}`: 2,
		`{"data":7}`: 0, `{}`: 0, ``: 0, `[1]`: 0,
	} {
		if got := Elements([]byte(body), "data"); got != want {
			t.Errorf("%s: %d, want %d", body, got, want)
		}
	}
}
