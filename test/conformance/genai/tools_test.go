package genai_test

import (
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/picture"
	"google.golang.org/genai"
)

// tools are declared in both of the protocol's ways.
func tools() []*genai.Tool {
	return []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{
		{
			Name: "get_weather", Description: "Get the current weather in a city.",
			Parameters: &genai.Schema{
				Type: genai.TypeObject,
				Properties: map[string]*genai.Schema{
					"city": {Type: genai.TypeString},
					"unit": {Type: genai.TypeString, Enum: []string{"celsius", "fahrenheit"}},
				},
				Required: []string{"city", "unit"},
			},
		},
		{
			Name: "find_train", Description: "Finds a train between two stations.",
			ParametersJsonSchema: map[string]any{
				"type":       "object",
				"properties": map[string]any{"from": map[string]any{"type": "string"}, "seats": map[string]any{"type": "integer", "minimum": 1}},
				"required":   []string{"from", "seats"},
			},
		},
		{Name: "get_time"},
	}}}
}

func called(t *testing.T, answer *genai.GenerateContentResponse, count int) []*genai.FunctionCall {
	t.Helper()
	check.Equal(t, "finishReason", only(t, answer).FinishReason, genai.FinishReasonStop)
	calls := answer.FunctionCalls()
	if len(calls) != count {
		t.Fatalf("%d calls, not %d", len(calls), count)
	}
	return calls
}

func TestToolLoop(t *testing.T) {
	t.Parallel()
	config := &genai.GenerateContentConfig{Tools: tools()}
	contents := genai.Text("What's the weather like in San Francisco?")
	first := generate(t, contents, config)
	call := called(t, first, 1)[0]
	check.Equal(t, "tool", call.Name, "get_weather")
	unit, _ := call.Args["unit"].(string)
	city, _ := call.Args["city"].(string)
	check.Truef(t, city != "" && (unit == "celsius" || unit == "fahrenheit"), "args do not satisfy the schema: %v", call.Args)

	result := genai.NewPartFromFunctionResponse(call.Name, map[string]any{"degrees": 18, "sky": "sunny"})
	contents = append(contents, only(t, first).Content, genai.NewContentFromParts([]*genai.Part{result}, genai.RoleUser))
	second := generate(t, contents, config)
	called(t, second, 0)
	check.Contains(t, second.Text(), "get_weather returned", "18", "sunny", "San Francisco", "1 of the sandbox accepted")
}

func TestToolByJSONSchema(t *testing.T) {
	t.Parallel()
	answer := generate(t, genai.Text("Use the tool find_train, please."), &genai.GenerateContentConfig{Tools: tools()})
	call := called(t, answer, 1)[0]
	check.Equal(t, "tool", call.Name, "find_train")
	seats, ok := call.Args["seats"].(float64)
	check.Truef(t, ok && seats >= 1 && seats == float64(int(seats)), "args do not satisfy the schema: %v", call.Args)
}

// TestParallelTools: two calls, whose results come back in the other order, one of
// them with an image.
func TestParallelTools(t *testing.T) {
	t.Parallel()
	png := picture.PNG(t, 7, 5)
	config := &genai.GenerateContentConfig{Tools: tools()}
	contents := genai.Text(`Call the tool get_weather with {"city":"Oslo","unit":"celsius"}. Call the tool get_time with {"zone":"UTC"}.`)
	first := generate(t, contents, config)
	calls := called(t, first, 2)
	check.Equal(t, "city", calls[0].Args["city"], any("Oslo"))
	check.Equal(t, "tool", calls[1].Name, "get_time")
	check.Equal(t, "zone", calls[1].Args["zone"], any("UTC"))

	noon := genai.NewPartFromFunctionResponse("get_time", map[string]any{"output": "noon"})
	cold := genai.NewPartFromFunctionResponseWithParts("get_weather", map[string]any{"output": "4 degrees"},
		[]*genai.FunctionResponsePart{genai.NewFunctionResponsePartFromBytes(png, "image/png")})
	contents = append(contents, only(t, first).Content, genai.NewContentFromParts([]*genai.Part{noon, cold}, genai.RoleUser))
	check.Contains(t, generate(t, contents, config).Text(),
		"The tool get_time returned", "noon", "The tool get_weather returned", "4 degrees", picture.Described(png, 7, 5))
}

func TestToolChoice(t *testing.T) {
	t.Parallel()
	mode := func(mode genai.FunctionCallingConfigMode, names ...string) *genai.GenerateContentConfig {
		return &genai.GenerateContentConfig{Tools: tools(), ToolConfig: &genai.ToolConfig{
			FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: mode, AllowedFunctionNames: names},
		}}
	}
	hello, weather := genai.Text("Hello."), genai.Text("What's the weather like in San Francisco?")
	called(t, generate(t, hello, mode(genai.FunctionCallingConfigModeAuto)), 0)
	called(t, generate(t, hello, mode(genai.FunctionCallingConfigModeAny)), 1)
	check.Equal(t, "tool", called(t, generate(t, hello, mode(genai.FunctionCallingConfigModeAny, "get_time")), 1)[0].Name, "get_time")
	called(t, generate(t, weather, mode(genai.FunctionCallingConfigModeNone)), 0)
	called(t, generate(t, weather, mode(genai.FunctionCallingConfigModeValidated)), 1)
}
