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

func TestProtocol(t *testing.T) {
	if c.Protocol() != own {
		t.Error(c.Protocol())
	}
}
