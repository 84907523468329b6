package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	table "github.com/genway/genway/protocol"
	"github.com/openai/openai-go/v3"
	openairesponses "github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"
	"google.golang.org/genai/interactions/models/interactions"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// unlisted are members of the SDKs' requests that are not in the table of native members, with the reason: they are named as
// lost with any value.
var unlisted = map[string]string{
	"chat audio_output.voice":                              ownVoice,
	"chat messages.parts.cache_control.ttl":                lifetime,
	"responses messages.parts.cache_control.ttl":           lifetime,
	"messages cache_control.ttl":                           lifetime,
	"messages messages.parts.cache_control.ttl":            lifetime,
	"messages tools.cache_control.ttl":                     lifetime,
	"responses messages.phase":                             "the vendor wants it back as it gave it, and has no default for it",
	"responses messages.parts.message.phase":               "the vendor wants it back as it gave it, and has no default for it",
	"responses messages.status":                            unknownWord,
	"responses messages.parts.status":                      unknownWord,
	"responses messages.parts.message.status":              unknownWord,
	"responses messages.parts.action":                      drawn,
	"responses messages.parts.background":                  drawn,
	"responses messages.parts.error":                       drawn,
	"responses messages.parts.quality":                     drawn,
	"responses messages.parts.revised_prompt":              drawn,
	"responses messages.parts.size":                        drawn,
	"responses messages.parts.svg_usage":                   drawn,
	"responses messages.parts.name":                        "the call of a result says it",
	"responses messages.parts.namespace":                   "the call of a result says it",
	"responses tools.namespace.description":                "what a group of tools is for; it has no default",
	"messages thinking.display":                            unknownWord,
	"messages thinking.type":                               unknownWord,
	"messages thinking.block_binding":                      "it binds signatures to their vendor's models; it has no default",
	"messages compaction":                                  "the translator refuses it by name where an upstream does not summarize",
	"messages output_config":                               "what the translator does not know of it; it has no default",
	"messages messages.output_config":                      "the translator folds what it knows of a turn's settings into the request's",
	"messages messages.parts.toolset_name":                 "it says which tools a call is one of; it has no default",
	"interactions messages.parts.summary":                  "a part of a summary that is no text; it has no default",
	"interactions messages.parts.name":                     "the name of a video; it has no default",
	"interactions messages.parts.step.error":               "why a step of the model failed; it has no default",
	"interactions thinking.thinking_summaries":             unknownWord,
	"generatecontent audio_output.languageCode":            ownVoice,
	"generatecontent audio_output.voiceConfig":             ownVoice,
	"generatecontent audio_output.multiSpeakerVoiceConfig": ownVoice,
}

const (
	ownVoice    = "voices are each vendor's own"
	lifetime    = "it goes the way of its breakpoint"
	unknownWord = "a word that this version does not know"
	drawn       = "what was drawn, and how; it has no default"
)

// The members of the SDKs' requests that the contract has no field for are in the table of native members
// (codec/setting/native.go), which says whether they bind and which value says nothing, or are listed here. An SDK of a
// later version that has a new one fails here.
func TestNativeMembersAreKnown(t *testing.T) {
	left := maps.Clone(unlisted)
	for _, column := range setting.Columns() {
		found := map[string]string{}
		for _, body := range requestBodies[column.Codec] {
			if strings.Contains(body.Name(), "Count") || strings.Contains(body.Name(), "Compact") {
				continue // a part of what the others have
			}
			for _, sample := range samplesOf(body, "") {
				text, err := json.Marshal(sample)
				if err != nil {
					t.Fatal(err)
				}
				req, err := decoded(column.Codec, text)
				if err != nil {
					t.Errorf("%s: %s: %v", column.Codec, text, err)
					continue
				}
				nativesIn(req.ProtoReflect(), "", func(path string) { found[strings.Replace(path, "tool_result.parts.", "", 1)] = string(text) })
			}
		}
		if len(found) == 0 {
			t.Errorf("%s: no SDK has a member that the contract lacks", column.Codec)
		}
		for _, n := range column.Natives {
			delete(found, n.Name)
		}
		for _, path := range slices.Sorted(maps.Keys(found)) {
			if unlisted[column.Codec+" "+path] == "" {
				t.Errorf("%s: %s is in no table: %s", column.Codec, path, found[path])
			}
			delete(left, column.Codec+" "+path)
		}
	}
	for path := range left {
		t.Errorf("%s: no SDK has it, or the table has it now", path)
	}
}

func decoded(kind string, body []byte) (proto.Message, error) {
	if kind == "images" {
		req, err := images.Codec{}.DecodeRequest(body)
		if err != nil {
			return nil, err
		}
		return req.GenerateImageRequest, nil
	}
	req, err := table.ByKind(kind).Codec.DecodeRequest(body)
	if err != nil {
		return nil, err
	}
	return req.GenerateTextRequest, nil
}

// nativesIn calls visit with the path of each native field of a message, through fields of the contract and without indices.
func nativesIn(m protoreflect.Message, path string, visit func(string)) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		each := func(m protoreflect.Message) {
			native, ok := m.Interface().(*genwayv1.NativeField)
			switch {
			case !ok:
				nativesIn(m, strings.TrimPrefix(path+"."+string(f.Name()), "."), visit)
			case f.Name() == "native_fields" && !member.IsMark(native):
				visit(strings.TrimPrefix(path+"."+native.GetName(), "."))
			}
		}
		switch {
		case f.IsMap() || f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				each(v.List().Get(i).Message())
			}
		default:
			each(v.Message())
		}
		return true
	})
}

// words are strings that a codec reads, by the member that has them.
var words = map[string]string{
	"role": "user", "data": "YQ==", "result": "YQ==", "file_data": "data:application/pdf;base64,YQ==", "image_url": "https://a.test/a.png", "call_id": "c",
	"mimeType": "image/png", "media_type": "image/png",
}

// needed are members without which a codec reads no value of an SDK's type, though the type does not mark them as required.
var needed = map[reflect.Type]map[string]any{
	reflect.TypeFor[openai.ChatCompletionContentPartFileFileParam]():            {"file_data": words["file_data"]},
	reflect.TypeFor[openai.ImageGenerateParams]():                               {"model": "x"},
	reflect.TypeFor[openairesponses.ResponseNewParams]():                        {"model": "x", "input": "x"},
	reflect.TypeFor[openairesponses.ResponseInputImageParam]():                  {"image_url": words["image_url"]},
	reflect.TypeFor[openairesponses.ResponseInputImageContentParam]():           {"image_url": words["image_url"]},
	reflect.TypeFor[openairesponses.ResponseInputFileParam]():                   {"file_data": words["file_data"]},
	reflect.TypeFor[openairesponses.ResponseInputFileContentParam]():            {"file_data": words["file_data"]},
	reflect.TypeFor[openairesponses.ResponseInputItemFunctionCallOutputParam](): {"call_id": "c"},
	reflect.TypeFor[generateContentParams]():                                    {"contents": []any{map[string]any{"parts": []any{map[string]any{"text": "x"}}}}},
	reflect.TypeFor[genai.Content]():                                            {"role": "user", "parts": []any{map[string]any{"text": "x"}}},
	reflect.TypeFor[interactions.Function]():                                    {"name": "f"},
	reflect.TypeFor[interactions.ThoughtStep]():                                 {"signature": "YQ=="},
	reflect.TypeFor[interactions.UserInputStep]():                               {"content": []any{map[string]any{"type": "text", "text": "x"}}},
	reflect.TypeFor[interactions.ModelOutputStep]():                             {"content": []any{map[string]any{"type": "text", "text": "x"}}},
	reflect.TypeFor[interactions.AudioContent]():                                {"data": "YQ==", "mime_type": "audio/wav"},
	reflect.TypeFor[interactions.ImageContent]():                                {"data": "YQ==", "mime_type": "image/png"},
	reflect.TypeFor[interactions.VideoContent]():                                {"data": "YQ==", "mime_type": "video/mp4"},
	reflect.TypeFor[interactions.DocumentContent]():                             {"data": "YQ==", "mime_type": "application/pdf"},
	reflect.TypeFor[interactions.CreateModelInteraction]():                      {"input": "x"},
	reflect.TypeFor[genai.FunctionCall]():                                       {"name": "f"},
	reflect.TypeFor[genai.FunctionResponse]():                                   {"name": "f"},
	reflect.TypeFor[genai.FunctionDeclaration]():                                {"name": "f"},
	reflect.TypeFor[genai.Blob]():                                               {"data": "YQ==", "mimeType": "image/png"},
	reflect.TypeFor[genai.FunctionResponseBlob]():                               {"data": "YQ==", "mimeType": "image/png"},
	reflect.TypeFor[genai.FileData]():                                           {"fileUri": "https://a.test/a.png", "mimeType": "image/png"},
	reflect.TypeFor[genai.FunctionResponseFileData]():                           {"fileUri": "https://a.test/a.png", "mimeType": "image/png"},
	reflect.TypeFor[genai.FunctionResponsePart]():                               {"inlineData": map[string]any{"data": "YQ==", "mimeType": "image/png"}},
	reflect.TypeFor[genai.Part]():                                               {"text": "x"},
}

// alone are members that exclude the others of their type.
var alone = map[reflect.Type][]string{
	reflect.TypeFor[interactions.AudioContent]():    {"uri"},
	reflect.TypeFor[interactions.ImageContent]():    {"uri"},
	reflect.TypeFor[interactions.VideoContent]():    {"uri"},
	reflect.TypeFor[interactions.DocumentContent](): {"uri"},
	reflect.TypeFor[genai.Part]():                   {"functionCall", "functionResponse", "inlineData", "fileData", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"},
	reflect.TypeFor[genai.FunctionResponsePart]():   {"fileData"},
}

// samplesOf returns values of a type, which together have each of its members. Name is the member that has the type.
func samplesOf(t reflect.Type, name string, open ...reflect.Type) []any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if value, ok := constantOf(t); ok {
		return []any{value}
	}
	switch t.Kind() {
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return []any{"YQ=="}
		}
		var all []any
		for _, sample := range samplesOf(t.Elem(), name, open...) {
			all = append(all, []any{sample})
		}
		return all
	case reflect.Map:
		all := []any{map[string]any{}}
		for _, sample := range samplesOf(t.Elem(), name, open...) {
			all = append(all, map[string]any{"a": sample})
		}
		return all
	case reflect.Interface:
		return []any{map[string]any{"type": "object"}}
	case reflect.Bool:
		return []any{name != "background"} // what runs in the background is refused
	case reflect.String:
		return []any{cmp.Or(words[name], "x")}
	case reflect.Struct:
		return samplesOfStruct(t, name, open)
	default:
		return []any{1}
	}
}

// samplesOfField returns values of a member. The tag const has its only one.
func samplesOfField(field reflect.StructField, name string, open []reflect.Type) []any {
	if only, ok := field.Tag.Lookup("const"); ok {
		return []any{only}
	}
	return samplesOf(field.Type, name, open...)
}

func samplesOfStruct(t reflect.Type, name string, open []reflect.Type) []any {
	switch {
	case slices.Contains(open, t):
		return nil
	case strings.HasPrefix(t.Name(), "Opt["):
		value, _ := t.FieldByName("Value")
		return samplesOf(value.Type, name, open...)
	case t.PkgPath() == "time":
		return []any{"2026-01-01T00:00:00Z"}
	}
	open = append(slices.Clip(open), t)
	var all []any
	if variants := variantsOf(t); len(variants) > 0 {
		for _, variant := range variants {
			all = append(all, samplesOf(variant, name, open...)...)
		}
		return all
	}
	least := map[string]any{}
	maps.Copy(least, needed[t])
	members := membersOf(t)
	for name, field := range members {
		if _, has := least[name]; !has && isRequired(t, field) {
			if samples := samplesOfField(field, name, open); len(samples) > 0 {
				least[name] = samples[0]
			}
		}
	}
	all = append(all, least)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		for _, sample := range samplesOfField(members[name], name, open) {
			with := map[string]any{}
			for other, value := range least {
				if _, only := members[other].Tag.Lookup("const"); only || !slices.Contains(alone[t], name) {
					with[other] = value
				}
			}
			with[name] = sample
			all = append(all, with)
		}
	}
	return all
}
