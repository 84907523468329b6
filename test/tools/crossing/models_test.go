package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/genway/genway/core/catalog"
	table "github.com/genway/genway/protocol"
	"github.com/openai/openai-go/v3"
	openairesponses "github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"
	"google.golang.org/genai/interactions/models/interactions"
)

// requestBodies are the SDKs' types of all bodies that a caller of a protocol sends.
var requestBodies = map[string][]reflect.Type{
	"chat": {reflect.TypeFor[openai.ChatCompletionNewParams]()},
	"responses": {
		reflect.TypeFor[openairesponses.ResponseNewParams](), reflect.TypeFor[openairesponses.ResponseCompactParams](),
		reflect.TypeFor[openairesponses.InputTokenCountParams](),
	},
	"messages": {
		reflect.TypeFor[anthropic.MessageNewParams](), reflect.TypeFor[anthropic.MessageCountTokensParams](),
		reflect.TypeFor[anthropic.BetaMessageNewParams](), reflect.TypeFor[anthropic.BetaMessageCountTokensParams](),
	},
	"generatecontent": {reflect.TypeFor[generateContentParams]()},
	"interactions":    {reflect.TypeFor[interactions.CreateModelInteraction]()},
	"images":          {reflect.TypeFor[openai.ImageGenerateParams]()},
}

// vertexConfig are members that the SDK moves from its own configuration of a call into the body, some
// by another name (generateContentConfigToVertex).
type vertexConfig struct {
	ModelArmorConfig *genai.ModelArmorConfig `json:"modelArmorConfig"`
	GenerationConfig struct {
		RoutingConfig *genai.GenerationConfigRoutingConfig `json:"routingConfig"`
		ModelConfig   *genai.ModelSelectionConfig          `json:"modelConfig"`
	} `json:"generationConfig"`
}

// The members named like a model that an SDK's types have, as far as bodies are made of them, are
// declared by the protocol. An SDK of a later version that names a model in a new place fails here.
func TestModelsAreDeclared(t *testing.T) {
	for _, kind := range slices.Sorted(maps.Keys(requestBodies)) {
		p := table.ByKind(kind)
		found := &modelPaths{models: map[string]bool{}, callers: map[string]bool{}}
		for _, body := range requestBodies[kind] {
			found.walk(body, "")
		}
		if kind == "generatecontent" {
			found.walk(reflect.TypeFor[vertexConfig](), "")
		}
		for _, path := range slices.Sorted(maps.Keys(found.models)) {
			reported := outcome(t, p, path, `"m"`)
			switch declared := slices.Contains(strings.Fields(p.Models.Chosen), path); {
			case reported == "named", reported == "unnamed" && declared, reported == "" && (path == "model" || own(p, path)):
			default:
				t.Errorf("%s: %s is not declared in protocol.Models: it is %q", kind, path, reported)
			}
		}
		for _, path := range slices.Sorted(maps.Keys(found.callers)) {
			if outcome(t, p, path, `{"properties":{"model":{"type":"string"}}}`) != "" && !vendors[path] {
				t.Errorf("%s: a caller's own model in %s is refused", kind, path)
			}
		}
		t.Logf("%s: %d members named like a model, %d of the caller's own JSON", kind, len(found.models), len(found.callers))
	}
}

// vendors are members for which an SDK has no type, though the names in them are a vendor's.
var vendors = map[string]bool{
	"tool_choice.tools[]": true, "tool_choice.allowed_tools.tools[]": true, "messages[].content[].trigger": true,
	"tools[].exaAiSearch.customConfigs": true, "tools[].parallelAiSearch.customConfigs": true,
	"tools[].exa_ai_search_config.custom_config": true, "tools[].parallel_ai_search_config.custom_config": true,
}

func own(p *table.Protocol, path string) bool {
	return slices.ContainsFunc(strings.Fields(p.Models.Own), func(own string) bool { return path == own || strings.HasPrefix(path, own+".") })
}

// outcome says what becomes of a body that has a value at a path.
func outcome(t *testing.T, p *table.Protocol, path, value string) string {
	t.Helper()
	body, steps := value, strings.Split(strings.ReplaceAll(path, "[]", ".[]"), ".")
	for _, step := range slices.Backward(steps) {
		if step == "[]" {
			body = "[" + body + "]"
		} else {
			body = fmt.Sprintf("{%q:%s}", step, body)
		}
	}
	reported := ""
	if err := p.EachModel([]byte(body), func(_, _ string, named bool) error {
		if reported = "unnamed"; named {
			reported = "named"
		}
		return nil
	}); err != nil {
		t.Errorf("%s: %v", body, err)
	}
	return reported
}

// modelPaths are the members of an SDK's types that are named like a model, and those that take
// JSON of any names.
type modelPaths struct{ models, callers map[string]bool }

// walk walks through the members of a type, and not into a type in itself.
func (f *modelPaths) walk(t reflect.Type, path string, open ...reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if t.Kind() == reflect.Slice {
			path += "[]" //nolint:perfsprint // once or twice
		}
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Map || t.Kind() == reflect.Interface:
		f.callers[path] = true
		return
	case t.Kind() != reflect.Struct || slices.Contains(open, t) || t.PkgPath() == "time":
		return
	case strings.HasPrefix(t.Name(), "Opt["):
		value, _ := t.FieldByName("Value")
		f.walk(value.Type, path, open...)
		return
	}
	open = append(slices.Clip(open), t)
	for _, variant := range variantsOf(t) {
		f.walk(variant, path, open...)
	}
	for name, field := range membersOf(t) {
		at := strings.TrimPrefix(path+"."+name, ".")
		if strings.Contains(strings.ToLower(name), "model") {
			f.models[at] = true
		}
		f.walk(field.Type, at, open...)
	}
}

// The catalogue that ships has a row for each model that an SDK lists. An SDK of a later version that lists a new
// one fails here.
func TestModelsAreKnown(t *testing.T) {
	for _, list := range []struct{ module, file, name string }{
		{"github.com/openai/openai-go/v3", "shared/shared.go", "ChatModel"},
		{"github.com/openai/openai-go/v3", "shared/shared.go", "ResponsesModel"},
		{"github.com/openai/openai-go/v3", "image.go", "ImageModel"},
		{"github.com/anthropics/anthropic-sdk-go", "message.go", "Model"},
		{"google.golang.org/genai", "interactions/models/interactions/model.go", "Model"},
	} {
		models := constants(t, list.module, list.file, list.name)
		if len(models) < 10 {
			t.Errorf("%s, %s lists the models %q only", list.module, list.file, models)
		}
		for _, model := range models {
			if catalog.Shipped().Find(model).Source == "" {
				t.Errorf("%s, %s lists %s, which no row of core/catalog/models.yaml matches", list.module, list.file, model)
			}
		}
	}
}
