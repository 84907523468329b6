package cases_test

import (
	"context"
	"strings"
	"testing"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/harness"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func directCases() []Case {
	return []Case{
		{"X1", "what a direct caller says in extra_json or native fields is never another model, limit, count or delivery than admission, routing, overrides and metering looked at: the member is refused by its name, and no upstream is called", smuggled},
	}
}

func smuggled(t *testing.T) {
	g := harness.New(t, harness.Config{})
	ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer internal")
	for p, members := range map[harness.Protocol]map[string]string{
		harness.Chat:            {"model": `"dear"`, "max_tokens": `1000000`, "max_completion_tokens": `1000000`, "n": `50`, "stream": `true`, "Model": `"dear"`},
		harness.Responses:       {"model": `"dear"`, "max_output_tokens": `1000000`, "stream": `true`, "reasoning": `{"effort":"high"}`},
		harness.Messages:        {"model": `"dear"`, "max_tokens": `1000000`, "stream": `true`, "thinking": `{"type":"enabled","budget_tokens":90000}`},
		harness.GenerateContent: {"generationConfig": `{"candidateCount":8}`, "generation_config": `{"max_output_tokens":1000000}`},
		harness.Interactions:    {"model": `"dear"`, "generation_config": `{"max_output_tokens":1000000}`, "stream": `true`},
		harness.Images:          {"model": `"dear"`, "n": `10`, "size": `"4096x4096"`},
	} {
		for name, value := range members {
			fields := []*genwayv1.NativeField{{Protocol: p.ID(), Name: name, Json: []byte(value)}}
			extra := `{"` + name + `":` + value + `}`
			model := string(p) + "/m"
			check := func(err error) {
				t.Helper()
				if st := status.Convert(err); st.Code() != codes.InvalidArgument || !strings.Contains(st.Message(), name) {
					t.Errorf("%s %s: %v", p, extra, err)
				}
			}
			if p == harness.Images {
				_, err := g.Core.GenerateImage(ctx, &genwayv1.GenerateImageRequest{Model: model, Prompt: "p", ExtraJson: extra})
				check(err)
				_, err = g.Core.GenerateImage(ctx, &genwayv1.GenerateImageRequest{Model: model, Prompt: "p", NativeFields: fields})
				check(err)
				continue
			}
			for _, req := range []*genwayv1.GenerateTextRequest{{Model: model, ExtraJson: extra}, {Model: model, NativeFields: fields}} {
				req.Messages = []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "hi"}}}}}}
				_, err := g.Core.GenerateText(ctx, req)
				check(err)
				stream, err := g.Core.StreamGenerateText(ctx, req)
				if err == nil {
					_, err = stream.Recv()
				}
				check(err)
			}
		}
		if p != harness.Images && len(g.Upstream(p).Requests()) > 0 {
			t.Errorf("%s was asked", p)
		}
	}
	g.Chat.Answer(answers.Text("fine").Answer(harness.Chat, false))
	if _, err := g.Core.GenerateText(ctx, &genwayv1.GenerateTextRequest{Model: "chat/m", ExtraJson: `{"top_k":4}`, Messages: []*genwayv1.Message{
		{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "hi"}}}}},
	}}); err != nil || !strings.Contains(string(g.Chat.Last(t).Body), `"top_k":4`) {
		t.Errorf("an option of the vendor's: %v", err)
	}
}
