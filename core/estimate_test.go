package core

import (
	"strings"
	"testing"

	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// A deferred request is estimated much as one that is decoded; its body's words
// around the text weigh a little.
func TestEstimateOfDeferred(t *testing.T) {
	text := strings.Repeat("What is the weather like? ", 400)
	image := `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + strings.Repeat("QUJD", 100_000) + `"}}`
	for name, content := range map[string]string{
		"text":  `"` + text + `"`,
		"image": `[{"type":"text","text":"what is it?"},` + image + `,` + image + `]`,
	} {
		req := deferred.New(&genwayv1.GenerateTextRequest{Model: "m", Wire: &genwayv1.WireMessage{
			Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: []byte(`{"model":"m","messages":[{"role":"user","content":` + content + `}]}`),
		}})
		whole, err := req.Whole()
		if err != nil {
			t.Fatal(err)
		}
		got, want := textRequest{req}.input(), textRequest{deferred.New(whole)}.input()
		if got < want*9/10 || got > want*11/10+20 {
			t.Errorf("%s: %d deferred, %d whole", name, got, want)
		}
	}
}

// A batch of events flows as its events do.
func TestFlowOfBatches(t *testing.T) {
	single := frameFlow(&genwayv1.WireFrame{Data: make([]byte, 200)})
	if got := frameFlow(&genwayv1.WireFrame{Batch: &edgev1.FrameBatch{Events: make([]byte, 2000), Count: 10}}); got != 10*single {
		t.Errorf("%d for ten, %d for one", got, single)
	}
}
