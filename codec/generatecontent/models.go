package generatecontent

import (
	"strings"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// modelPrefix leads the resource names of models.
const modelPrefix = "models/"

// model is SDK type Model as the API spells it. The gateway knows of no versions;
// the member is there because the API's reference requires it.
type model struct {
	Name                       string   `json:"name" wire:"always"`
	BaseModelID                string   `json:"baseModelId" wire:"always"`
	Version                    string   `json:"version" wire:"always"`
	DisplayName                string   `json:"displayName" wire:"always"`
	Description                string   `json:"description" wire:"always"`
	InputTokenLimit            *int64   `json:"inputTokenLimit"`
	OutputTokenLimit           *int64   `json:"outputTokenLimit"`
	SupportedGenerationMethods []string `json:"supportedGenerationMethods" wire:"array"`
}

//wire:write
type modelList struct {
	Models        []model `json:"models" wire:"array"`
	NextPageToken string  `json:"nextPageToken"`
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
	if w.InputTokenLimit == nil {
		w.InputTokenLimit = m.ContextTokenLimit
	}
	if m.GeneratesText {
		w.SupportedGenerationMethods = append(w.SupportedGenerationMethods, "generateContent", "streamGenerateContent", "countTokens")
	}
	return w
}
