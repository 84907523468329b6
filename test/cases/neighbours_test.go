package cases_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

func neighbourCases() []Case {
	return []Case{
		{"N61", "events in answer to a unary call are read as the one answer that they amount to, one object in answer to a streamed call as events; what is neither is a native failure, never a success", otherForms},
		{"N62", "while keys cannot be checked, callers of every protocol are told so natively, and when to try again", keysAway},
	}
}

func otherForms(t *testing.T) {
	g := harness.New(t, harness.Config{})
	for _, p := range harness.Texts() {
		for _, caller := range harness.Texts() {
			unary := answers.Text("fine").Answer(p, false)
			streamed := answers.Text("fine").Answer(p, true)
			body := caller.Hello()
			g.Upstream(p).Answer(streamed)
			if a := g.Post(caller, string(p)+"/m", body); a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/json" || !strings.Contains(string(a.Body), `"fine"`) {
				t.Errorf("%s asks %s, and gets events: %d %s", caller, p, a.Status, a.Body)
			}
			g.Upstream(p).Answer(unary)
			a := g.Stream(caller, string(p)+"/m", body)
			if a.Status != http.StatusOK || len(a.Frames()) == 0 || !strings.Contains(string(a.Body), `"fine"`) {
				t.Errorf("%s asks %s for events, and gets an object: %d %s", caller, p, a.Status, a.Body)
			}
			for _, garbage := range []string{"no chat here", "data: {}\n\n", "<h1>Sign in</h1>", ""} {
				for _, mediaType := range []string{"text/event-stream", "text/plain", "application/json"} {
					answer := fake.Answer{Header: map[string]string{"Content-Type": mediaType}, Steps: []fake.Step{fake.Bytes(garbage)}}
					g.Upstream(p).Answer(answer)
					a := g.Post(caller, string(p)+"/m", body)
					if passes := caller == p && garbage == "no chat here" && mediaType != "application/json"; !passes {
						native(t, caller, a, http.StatusBadGateway)
					} else if a.Status != http.StatusOK || string(a.Body) != garbage || a.Header.Get("Content-Type") != mediaType {
						t.Errorf("%s gets a text: %d %s", caller, a.Status, a.Body) // it is for its readers
					}
					g.Upstream(p).Answer(answer)
					native(t, caller, g.Stream(caller, string(p)+"/m", body), http.StatusBadGateway)
				}
			}
		}
	}
}

// awayKeys are keys whose store does not answer.
type awayKeys struct{}

func (awayKeys) Authenticate(context.Context, string) (keys.Principal, error) {
	return keys.Principal{}, errors.New("the store is away")
}

func keysAway(t *testing.T) {
	g := harness.New(t, harness.Config{Keys: awayKeys{}})
	for _, p := range slices.Concat(harness.Texts(), []harness.Protocol{harness.Images}) {
		a := g.Post(p, string(p)+"/m", p.Hello())
		if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || a.Header.Get("Retry-After-Ms") == "" {
			t.Errorf("%s: %d %v", p, a.Status, a.Header)
		}
		envelope(t, p, a.JSON(), http.StatusServiceUnavailable)
		if strings.Contains(string(a.Body), "the store is away") {
			t.Errorf("%s: %s", p, a.Body)
		}
	}
}
