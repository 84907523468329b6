package console_test

import (
	"net/http"
	"strings"
	"testing"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Case V14: the page of the routes says which of them a model takes, for the callers of a protocol, and what there is none for.
func TestRouteOfAModel(t *testing.T) {
	f := openScripted(t)
	session := f.signIn(t, f.viewer)
	f.scripted.text = "messages" // the name of all there is
	got := f.get(t, session, "/upstreams?model=+m+&protocol=messages")
	for _, text := range []string{"m takes route 1, messages. Of its targets it would go to messages now, as messages.", `<li class="card taken">`, `<option value="messages" selected>`} {
		if got.code != http.StatusOK || !strings.Contains(got.body, text) {
			t.Errorf("%d: there is no %s in %s", got.code, text, got.body)
		}
	}
	var asked *adminv1.ExplainRequest
	answer, failure := &adminv1.ExplainResponse{Upstream: "other", UpstreamModel: "m", Route: "gone"}, error(nil)
	f.scripted.explain = func(req *adminv1.ExplainRequest) (*adminv1.ExplainResponse, error) {
		asked = req
		return answer, failure
	}
	if got = f.get(t, session, "/upstreams?model=m&protocol=none"); !strings.Contains(got.body, "m would go to other now, as m.") || strings.Contains(got.body, "taken") {
		t.Errorf("a route that is not listed any more: %s", got.body)
	}
	if asked.GetModel() != "m" || asked.GetProtocol() != genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS || len(asked.GetBody()) == 0 {
		t.Errorf("asked for %v", asked)
	}
	answer = &adminv1.ExplainResponse{Refusal: &adminv1.ExplainedRefusal{Message: "the model may not be used so"}}
	if got = f.get(t, session, "/upstreams?model=m"); !strings.Contains(got.body, "the model may not be used so") || strings.Contains(got.body, "taken") {
		t.Errorf("a refusal: %s", got.body)
	}
	failure = status.Error(codes.InvalidArgument, "model: no route has a target for it")
	if got = f.get(t, session, "/upstreams?model=m"); got.code != http.StatusOK || !strings.Contains(got.body, "no route has a target for it") {
		t.Errorf("no route: %d %s", got.code, got.body)
	}
}
