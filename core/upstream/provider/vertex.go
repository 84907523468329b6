package provider

import "github.com/genway/genway/codec/dialect"

// vertexHosts are the hosts of locations (anthropic-sdk-go v1.84.0, vertex.WithCredentials).
var vertexHosts = map[string]string{
	"": "{region}-aiplatform.googleapis.com", "global": "aiplatform.googleapis.com",
	"us": "aiplatform.us.rep.googleapis.com", "eu": "aiplatform.eu.rep.googleapis.com",
}

var vertex = Provider{
	Name: "vertex", Title: "Vertex AI", Auth: []string{"google"},
	Endpoints: []Endpoint{
		{
			Kinds: []string{"generatecontent"}, Base: "https://{host}/v1/projects/{project}/locations/{region}/publishers/google", Hosts: vertexHosts, NoList: true,
			Source: "cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference; genai v1.77.0, api_client.go", Read: "2026-11-22",
		},
		{
			Kinds: []string{"messages"}, Betas: claudeBetas, Base: "https://{host}/v1/projects/{project}/locations/{region}/publishers/anthropic/models", Hosts: vertexHosts,
			Generate: "/{model}:rawPredict", Stream: "/{model}:streamRawPredict", Count: "/count-tokens:rawPredict",
			Version: "vertex-2023-10-16", NoList: true, Errors: "google",
			Source: "platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai; anthropic-sdk-go v1.84.0, vertex/vertex.go", Read: "2026-11-22",
		},
		{
			Kinds: []string{"chat"}, Base: "https://{host}/v1/projects/{project}/locations/{region}/endpoints/openapi", Hosts: vertexHosts, NoList: true, Errors: "google",
			Chat:   vertexChat,
			Source: "cloud.google.com/vertex-ai/generative-ai/docs/multimodal/call-vertex-using-openai-library", Read: "2026-11-22",
		},
	},
	Notes: []string{"`region` is the location: `global`, `us`, `eu` or a region."},
}

// vertexChat is the table of supported parameters. extra_content holds the model's signatures.
var vertexChat = dialect.New(`
	max_tokens stop temperature top_p frequency_penalty presence_penalty seed n logprobs top_logprobs logit_bias
	tool_choice tool_choice.function parallel_tool_calls tools.function.strict
	response_format.json_schema reasoning_effort modalities web_search_options stream_options
	messages.name messages.content.array messages.content.image_url messages.content.image_url.detail
	messages.content.input_audio messages.content.file messages.extra_content`)
