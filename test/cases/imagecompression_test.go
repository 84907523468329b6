package cases_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

// The compression of images (SDK: ResponseNewParamsImage) goes to upstreams of responses as it
// is; all others answer, and the member is named as lost.
func TestCompressionOfImagesIsAskedForOrNamed(t *testing.T) {
	const member = `"image":{"context_compression":"enabled"}`
	everyWay(t, []harness.Protocol{harness.Responses}, harness.Texts(), func(t *testing.T, w way) {
		w.Upstream(w.upstream).Answer(answers.Text("fine").Answer(w.upstream, w.streamed))
		a := w.ask(`{"input":"hi",` + member + `}`)
		sent := string(w.Upstream(w.upstream).Last(t).Body)
		lost := a.Header.Get("X-Genway-Lost") + a.Trailer.Get("X-Genway-Lost")
		own := w.upstream == harness.Responses
		if a.Status != http.StatusOK || strings.Contains(sent, member) != own || (lost == "image") == own {
			t.Errorf("%d, lost %q, the upstream got %s", a.Status, lost, sent)
		}
	})
}

// The policy that an answer was made with (SDK: ResponseImage) reaches callers of responses as
// it is; for all others it is named as lost.
func TestCompressionOfImagesIsReportedOrNamed(t *testing.T) {
	const (
		member = `"image":{"context_compression":"disabled"}`
		begun  = `{"id":"resp_1","object":"response","created_at":1,"status":"in_progress","model":"m",` + member + `,"output":[]}`
		item   = `{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[]}]}`
		whole  = `{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m",` + member + `,"output":[` + item + `]}`
	)
	events := []string{
		`{"type":"response.created","sequence_number":0,"response":` + begun + `}`,
		`{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}`,
		`{"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}`,
		`{"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"hi"}`,
		`{"type":"response.output_text.done","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"text":"hi"}`,
		`{"type":"response.content_part.done","sequence_number":5,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"hi","annotations":[]}}`,
		`{"type":"response.output_item.done","sequence_number":6,"output_index":0,"item":` + item + `}`,
		`{"type":"response.completed","sequence_number":7,"response":` + whole + `}`,
	}
	everyWay(t, harness.Texts(), []harness.Protocol{harness.Responses}, func(t *testing.T, w way) {
		w.Upstream(w.upstream).Answer(fake.JSON(whole))
		if w.streamed {
			w.Upstream(w.upstream).Answer(fake.Stream(fake.Events(events...)...))
		}
		a := w.askForBill()
		lost := a.Header.Get("X-Genway-Lost") + a.Trailer.Get("X-Genway-Lost")
		own := w.caller == harness.Responses
		if a.Status != http.StatusOK || strings.Contains(string(a.Body), member) != own || strings.Contains(lost, "image") == own {
			t.Errorf("%d, lost %q: %s", a.Status, lost, a.Body)
		}
	})
}
