package chat_test

import (
	"testing"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func TestModels(t *testing.T) {
	list := &genwayv1.ListModelsResponse{Models: []*genwayv1.Model{{Name: "a", OwnedBy: "genway", CreateTime: &timestamppb.Timestamp{Seconds: 7}}, {Name: "b/c"}}}
	body, err := c.EncodeModels(list)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"object":"list","data":[{"id":"a","object":"model","created":7,"owned_by":"genway"},{"id":"b/c","object":"model","created":0,"owned_by":""}]}`; string(body) != want {
		t.Errorf("%s", body)
	}
	if body, err = c.EncodeModels(&genwayv1.ListModelsResponse{}); err != nil || string(body) != `{"object":"list","data":[]}` {
		t.Errorf("%s %v", body, err)
	}
	if body, err = c.EncodeModel(list.Models[0]); err != nil || string(body) != `{"id":"a","object":"model","created":7,"owned_by":"genway"}` {
		t.Errorf("%s %v", body, err)
	}
}

// What is known of a model is written beside the vendor's members, exactly; the rest is absent.
func TestModelsAreDescribed(t *testing.T) {
	const most = int64(1<<63 - 1)
	for want, m := range map[string]*genwayv1.Model{
		`"context_length":400000,"architecture":{"input_modalities":["text","file"],"output_modalities":["text"]},"top_provider":{"max_completion_tokens":128000},` +
			`"pricing":{"prompt":"0.00000125","completion":"12","input_cache_read":"0.000000000000001","input_cache_write":"0"}`: {
			ContextTokenLimit: new(int64(400000)), InputTokenLimit: new(int64(272000)), OutputTokenLimit: new(int64(128000)),
			Inputs:  []genwayv1.Modality{genwayv1.Modality_MODALITY_TEXT, genwayv1.Modality_MODALITY_DOCUMENT, 77},
			Outputs: []genwayv1.Modality{genwayv1.Modality_MODALITY_TEXT},
			Price:   &genwayv1.ModelPrice{InputNanoDollars: 1_250_000_000, OutputNanoDollars: 12_000_000_000_000_000, CacheReadNanoDollars: 1, CacheWriteNanoDollars: -1},
		},
		`"context_length":9`: {InputTokenLimit: new(int64(9))},
		`"architecture":{"output_modalities":["image"]},"pricing":{"prompt":"9223.372036854775807","completion":"0","input_cache_read":"0","input_cache_write":"0"}`: {
			Outputs: []genwayv1.Modality{genwayv1.Modality_MODALITY_IMAGE}, Price: &genwayv1.ModelPrice{InputNanoDollars: most},
		},
	} {
		body, err := c.EncodeModel(m)
		if want = `{"id":"","object":"model","created":0,"owned_by":"",` + want + `}`; err != nil || string(body) != want {
			t.Errorf("%s, %v\nwant %s", body, err, want)
		}
	}
}

func TestProtocol(t *testing.T) {
	if c.Protocol() != own {
		t.Error(c.Protocol())
	}
}
