package generatecontent_test

import (
	"strings"
	"testing"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

func TestModels(t *testing.T) {
	list := &genwayv1.ListModelsResponse{NextPageToken: "p", Models: []*genwayv1.Model{
		{Name: "a", GeneratesText: true, InputTokenLimit: proto.Int64(8), Description: "d", DisplayName: "A"}, {Name: "models/b", GeneratesImages: true, ContextTokenLimit: proto.Int64(9)},
	}}
	out, err := c.EncodeModels(list)
	want := `{"models":[{"name":"models/a","baseModelId":"a","version":"","displayName":"A","description":"d","inputTokenLimit":8,"supportedGenerationMethods":["generateContent","streamGenerateContent","countTokens"]},{"name":"models/b","baseModelId":"b","version":"","displayName":"b","description":"","inputTokenLimit":9,"supportedGenerationMethods":[]}],"nextPageToken":"p"}`
	if err != nil || string(out) != want {
		t.Errorf("%s, %v", out, err)
	}
	if out, err = c.EncodeModels(&genwayv1.ListModelsResponse{}); err != nil || string(out) != `{"models":[]}` {
		t.Errorf("%s, %v", out, err)
	}
	if out, err = c.EncodeModel(list.Models[1]); err != nil || !strings.HasPrefix(string(out), `{"name":"models/b"`) {
		t.Errorf("%s, %v", out, err)
	}
}
