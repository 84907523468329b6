package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// A long list of losses does not cost the caller the answer: clients and proxies
// bound the headers they take.
func TestLossesFitTheirHeader(t *testing.T) {
	e := serve(t, nil)
	e.core.answer = answer()
	said := `{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}`
	body := `{"model":"m","messages":[` + strings.Repeat(said+",", 399) + said + `]}`
	for i := range 400 {
		e.core.answer.Losses = append(e.core.answer.Losses, &genwayv1.Loss{Member: fmt.Sprintf("messages[%d].parts[0].cache_control", i)})
	}
	lost := e.do(t, http.MethodPost, protocols[0].path, right("chat"), body).header.Get("X-Genway-Lost")
	names := strings.Split(lost, ", ")
	if len(lost) > 2200 || names[0] != "messages[0].content[0].cache_control" || names[len(names)-1] != fmt.Sprintf("and %d more", 400-len(names)+1) {
		t.Errorf("%d bytes, %d names: %s … %s", len(lost), len(names), names[0], names[len(names)-1])
	}
	e.core.answer.Losses = e.core.answer.GetLosses()[:2]
	if lost := e.do(t, http.MethodPost, protocols[0].path, right("chat"), body).header.Get("X-Genway-Lost"); lost != "messages[0].content[0].cache_control, messages[1].content[0].cache_control" {
		t.Error(lost)
	}
}
