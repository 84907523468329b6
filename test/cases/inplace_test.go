package cases_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

// tooMany are errors of each protocol that say nothing of a status, as gateways send them with
// status 200.
var tooMany = map[harness.Protocol]string{
	harness.Chat:            `{"error":{"message":"too many cooks","type":"server_error","param":null,"code":"x"}}`,
	harness.Responses:       `{"error":{"message":"too many cooks","type":"server_error","param":null,"code":null}}`,
	harness.Messages:        `{"type":"error","error":{"type":"api_error","message":"too many cooks"}}`,
	harness.GenerateContent: `{"error":{"code":502,"message":"too many cooks","status":"UNAVAILABLE"}}`,
	harness.Interactions:    `{"error":{"code":"internal","message":"too many cooks"}}`,
}

// Case T54: an error in the place of an answer, with status 200, is a failure for callers of each
// protocol, unary as streamed: it gets the protocol's own error, and nothing is charged for it.
func TestErrorsInPlaceOfAnswers(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		bodies := []string{tooMany[w.upstream], `{"error":"too many cooks"}`}
		for i, body := range bodies {
			if w.streamed {
				w.Upstream(w.upstream).Answer(fake.Stream(fake.Events(body)...))
			} else {
				w.Upstream(w.upstream).Answer(fake.JSON(body))
			}
			a := w.ask(w.caller.Hello())
			if message := native(t, w.caller, a, http.StatusBadGateway); i == 0 && message != "too many cooks" {
				t.Errorf("%s: the failure is not reported: %s", body, a.Body)
			}
		}
		for line := range strings.Lines(w.Log()) {
			if strings.Contains(line, "msg=call ") && (!strings.Contains(line, " kind=bad_upstream ") || strings.Contains(line, "estimated")) {
				t.Errorf("the log says %s", line)
			}
		}
		if n := strings.Count(w.Log(), "msg=call "); n != len(bodies) {
			t.Errorf("%d lines in\n%s", n, w.Log())
		}
	})
}

// The same of images.
func TestErrorsInPlaceOfImages(t *testing.T) {
	g := harness.New(t, harness.Config{})
	for _, body := range []string{tooMany[harness.Chat], `{"error":"too many cooks"}`} {
		g.Images.Answer(fake.JSON(body))
		a := g.Post(harness.Images, "images/m", harness.Images.Hello())
		if message := native(t, harness.Images, a, http.StatusBadGateway); message != "too many cooks" {
			t.Errorf("%s: %s", body, a.Body)
		}
	}
}

// What has nothing of an answer is none for callers of other protocols. Those of the upstream's
// own may be able to read it (case X2).
func TestObjectsThatAreNoAnswers(t *testing.T) {
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return
		}
		for _, body := range []string{`{}`, `{"detail":"Not Found"}`, `{"message":"too many cooks","code":429}`, `{"object":"response"}`, `{"usageMetadata":{"promptTokenCount":7},"modelVersion":"m"}`} {
			if w.streamed {
				w.Upstream(w.upstream).Answer(fake.Stream(fake.Events(body)...))
			} else {
				w.Upstream(w.upstream).Answer(fake.JSON(body))
			}
			native(t, w.caller, w.ask(w.caller.Hello()), http.StatusBadGateway)
		}
	})
}
