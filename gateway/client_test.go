package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// What fails after the end is no business of the caller's: it has the whole answer,
// and nothing may follow the protocol's last event.
func TestNothingFollowsTheEnd(t *testing.T) {
	e := serve(t, nil)
	e.core.stream = func(_ context.Context, send func(*genwayv1.StreamGenerateTextResponse) error) error {
		if err := begin(send); err != nil {
			return err
		}
		for _, ev := range codec.Events(answer(), nil) {
			if ev.GetCompleted() != nil {
				if err := send(ev); err != nil {
					return err
				}
			}
		}
		return detailed(fault.New(fault.Internal, "X", "too late"))
	}
	for _, p := range streamed {
		if r := e.do(t, http.MethodPost, p.path, right(p.name), p.body); strings.Contains(r.body, "too late") || r.status != http.StatusOK {
			t.Errorf("%s: %s", p.name, r.body)
		}
	}
	array := e.do(t, http.MethodPost, "/v1/models/m:streamGenerateContent", right("generatecontent"), streamed[3].body)
	if !json.Valid([]byte(array.body)) {
		t.Errorf("array: %s", array.body)
	}
}
