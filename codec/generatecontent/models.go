package generatecontent

import (
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// modelPrefix leads the resource names of models.
const modelPrefix = "models/"

// model is SDK type Model as the API spells it. The gateway knows of no versions;
// the member is there because the API's reference requires it.
type model struct {
	Name                       string
	BaseModelID                string
	Version                    string
	DisplayName                string
	Description                string
	InputTokenLimit            *int64
	OutputTokenLimit           *int64
	SupportedGenerationMethods []string
}

type modelList struct {
	Models        []model
	NextPageToken string
}

// EncodeModels writes a page of models.
func (Codec) EncodeModels(list *genwayv1.ListModelsResponse) ([]byte, error) {
	w := modelList{NextPageToken: list.NextPageToken, Models: []model{}}
	for _, m := range list.Models {
		w.Models = append(w.Models, wireModel(m))
	}
	return marshal(&w, 256*(len(w.Models)+1), fault.Internal)
}

// EncodeModel writes one model.
func (Codec) EncodeModel(m *genwayv1.Model) ([]byte, error) {
	w := wireModel(m)
	return marshal(&w, 256, fault.Internal)
}

func (w *modelList) write(to *member.Writer) {
	to.Begin()
	to.List("models")
	for i := range w.Models {
		w.Models[i].write(to)
	}
	to.EndList()
	to.StrOpt("nextPageToken", w.NextPageToken)
	to.End()
}

func (w *model) write(to *member.Writer) {
	to.Begin()
	to.Str("name", w.Name)
	to.Str("baseModelId", w.BaseModelID)
	to.Str("version", w.Version)
	to.Str("displayName", w.DisplayName)
	to.Str("description", w.Description)
	member.IntOpt(to, "inputTokenLimit", w.InputTokenLimit)
	member.IntOpt(to, "outputTokenLimit", w.OutputTokenLimit)
	to.List("supportedGenerationMethods")
	for _, m := range w.SupportedGenerationMethods {
		to.String(m)
	}
	to.EndList()
	to.End()
}

func wireModel(m *genwayv1.Model) model {
	id := strings.TrimPrefix(m.Name, modelPrefix)
	w := model{
		Name: modelPrefix + id, BaseModelID: id, DisplayName: m.DisplayName, Description: m.Description,
		InputTokenLimit: m.InputTokenLimit, OutputTokenLimit: m.OutputTokenLimit,
		SupportedGenerationMethods: []string{},
	}
	if w.DisplayName == "" {
		w.DisplayName = id
	}
	if m.GeneratesText {
		w.SupportedGenerationMethods = append(w.SupportedGenerationMethods, "generateContent", "streamGenerateContent", "countTokens")
	}
	return w
}
