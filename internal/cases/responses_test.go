package cases_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/internal/cases/gate"
	"github.com/genway/genway/internal/cases/say"
)

// responsesCases are the cases of clients that speak the responses protocol.
func responsesCases() []Case {
	return []Case{
		{"C1", "a response that runs in the background is refused by name at every upstream; what retrieves, deletes or cancels one says that it is not offered", background},
	}
}

func background(t *testing.T) {
	everyWay(t, only(gate.Responses), gate.Texts(), func(t *testing.T, w way) {
		for _, value := range []string{`true`, `"true"`, `1`, `{}`} {
			a := w.ask(`{"input":"hi","background":` + value + `}`)
			if message := native(t, gate.Responses, a, 400); !strings.Contains(message, "background") || a.JSON().At("error.param").Text() != "background" {
				t.Errorf("%s: %s", value, a.Body)
			}
		}
		if a := w.ask(`{"input":"hi","b\u0061ckground":true}`); a.Status != 400 {
			t.Errorf("with an escape: %d", a.Status)
		}
		if asked := w.Upstream(w.upstream).Requests(); len(asked) != 0 {
			t.Errorf("the upstream was asked: %s", asked[0].Body)
		}
		for _, value := range []string{`false`, `null`} {
			w.Upstream(w.upstream).Answer(say.Text("fine").Answer(w.upstream, w.streamed))
			if a := w.ask(`{"input":"hi","background":` + value + `}`); a.Status != 200 {
				t.Errorf("%s: %d %s", value, a.Status, a.Body)
			}
		}
	})
	g := gate.New(t, gate.Config{})
	for _, c := range []struct{ method, path string }{
		{http.MethodGet, "/v1/responses/resp_1"},
		{http.MethodDelete, "/v1/responses/resp_1"},
		{http.MethodPost, "/v1/responses/resp_1/cancel"},
		{http.MethodGet, "/v1/responses/resp_1/input_items?limit=5"},
	} {
		call := gate.CallOf(gate.Responses, "responses/m", gate.Responses.Hello(), false)
		call.Method, call.Path = c.method, c.path
		if message := native(t, gate.Responses, g.Call(call), 404); !strings.Contains(message, "not offered by this server") {
			t.Errorf("%s %s: %s", c.method, c.path, message)
		}
	}
}
