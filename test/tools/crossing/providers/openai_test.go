package providers_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/genway/genway/test/clouds"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/azure"
	"github.com/openai/openai-go/v3/bedrock"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

const (
	completion = `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"fine"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`
	chunks     = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"fine"},"finish_reason":null}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}

data: [DONE]

`
	response = `{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","output":[{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"fine","annotations":[]}]}],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`
)

// responseEvents are the events of a streamed response.
func responseEvents() string {
	return "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":" + strings.Replace(response, "completed", "in_progress", 1) + "}\n\n" +
		"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":1,\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\"fine\"}\n\n" +
		"event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":2,\"response\":" + response + "}\n\n"
}

// protocolCase is a protocol of the SDK: what asks by it, and how it is answered.
type protocolCase struct {
	asks           func(t *testing.T, client openai.Client, model string, streamed bool)
	answer, stream string
}

var protocolCases = map[string]protocolCase{
	"chat":      {asksChat, completion, chunks},
	"responses": {asksResponses, response, responseEvents()},
}

func asksChat(t *testing.T, client openai.Client, model string, streamed bool) {
	t.Helper()
	ask := openai.ChatCompletionNewParams{
		Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("Be <brief> & plain."), openai.UserMessage("Say fine, ü.")},
		MaxCompletionTokens: openai.Int(64),
		Tools:               []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "look", Parameters: openai.FunctionParameters{"type": "object"}})},
	}
	if !streamed {
		if got, err := client.Chat.Completions.New(t.Context(), ask); err != nil || got.Choices[0].Message.Content != "fine" {
			t.Fatalf("got %+v, %v", got, err)
		}
		return
	}
	ask.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(t.Context(), ask)
	var got openai.ChatCompletionAccumulator
	for stream.Next() {
		got.AddChunk(stream.Current())
	}
	if stream.Err() != nil || len(got.Choices) != 1 || got.Choices[0].Message.Content != "fine" || got.Usage.TotalTokens != 2 {
		t.Fatalf("got %+v, %v", got.ChatCompletion, stream.Err())
	}
}

func asksResponses(t *testing.T, client openai.Client, model string, streamed bool) {
	t.Helper()
	ask := responses.ResponseNewParams{Model: model, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Say fine, ü.")}, MaxOutputTokens: openai.Int(64)}
	if !streamed {
		if got, err := client.Responses.New(t.Context(), ask); err != nil || got.OutputText() != "fine" {
			t.Fatalf("got %+v, %v", got, err)
		}
		return
	}
	stream := client.Responses.NewStreaming(t.Context(), ask)
	var text strings.Builder
	ended := false
	for stream.Next() {
		text.WriteString(stream.Current().Delta)
		ended = ended || stream.Current().Type == "response.completed"
	}
	if stream.Err() != nil || text.String() != "fine" || !ended {
		t.Fatalf("got %q, %v", text.String(), stream.Err())
	}
}

// both has a client of the place's SDK and genway call the place, unary and streamed.
func both(t *testing.T, p *place, kind, upstream, model string, client func(at *http.Client) openai.Client, leave ...string) {
	t.Helper()
	say := protocolCases[kind]
	for _, streamed := range []bool{false, true} {
		p.answer, p.typed = say.answer, "application/json"
		if streamed {
			p.answer, p.typed = say.stream, "text/event-stream"
		}
		at := &http.Client{Transport: p}
		say.asks(t, client(at), model, streamed)
		sdk := p.last
		// What a client without any place sends to genway.
		plain := &place{t: t, answer: p.answer, typed: p.typed}
		say.asks(t, openai.NewClient(openaioption.WithAPIKey("k"), openaioption.WithBaseURL("https://gateway.test/v1"), openaioption.WithHTTPClient(&http.Client{Transport: plain})), model, streamed)
		same(t, sdk, genway(t, upstream, p, model, plain.last, streamed), leave...)
	}
}

// entra returns a token as azidentity does.
type entra struct{}

func (entra) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: token, ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// The SDK's azure option serves only dated API versions. At the v1 API it is the SDK itself, with
// a key or a token as its key: both are documented for the place, beside the header api-key.
func TestAzure(t *testing.T) {
	for kind := range protocolCases {
		for host, endpoint := range map[string]string{"openai.azure.com": "", "services.ai.azure.com": "endpoint: foundry, "} {
			upstream := "kind: " + kind + ", provider: azure, " + endpoint + "resource: my-resource, "
			made := func(key string) func(*http.Client) openai.Client {
				return func(at *http.Client) openai.Client {
					return openai.NewClient(openaioption.WithBaseURL("https://my-resource."+host+"/openai/v1"), openaioption.WithAPIKey(key), openaioption.WithHTTPClient(at))
				}
			}
			both(t, &place{t: t}, kind, upstream+"auth: {entra: {tenant: t, client_id: c, client_secret: s}}", "my-deployment", made(token))
			p := &place{t: t}
			both(t, p, kind, upstream+"api_key: k", "my-deployment", made("k"), "Authorization")
			if got := p.last.header.Get("Api-Key"); got != "k" {
				t.Errorf("api-key is %q", got)
			}
		}
	}
}

func TestAzureDeployments(t *testing.T) {
	const query = `query: {api-version: "2025-04-01-preview"}, `
	for kind, base := range map[string]string{
		"chat":      `kind: chat, base_url: "https://my-resource.openai.azure.com/openai/deployments/my-deployment", ` + query,
		"responses": `kind: responses, base_url: "https://my-resource.openai.azure.com/openai", ` + query,
	} {
		made := func(authorised openaioption.RequestOption) func(*http.Client) openai.Client {
			return func(at *http.Client) openai.Client {
				return openai.NewClient(openaioption.WithHTTPClient(at), azure.WithEndpoint("https://my-resource.openai.azure.com", "2025-04-01-preview"), authorised)
			}
		}
		both(t, &place{t: t}, kind, base+"headers: {api-key: k}", "my-deployment", made(azure.WithAPIKey("k")))
		both(t, &place{t: t}, kind, base+"auth: {entra: {tenant: t, client_id: c, client_secret: s}}", "my-deployment", made(azure.WithTokenCredential(entra{})))
	}
}

func TestBedrockOpenAI(t *testing.T) {
	for _, test := range []struct {
		kind, endpoint, service string
		of                      bedrock.Endpoint
	}{
		{"chat", "endpoint: runtime, ", "bedrock", bedrock.EndpointRuntime},
		{"chat", "endpoint: mantle, ", "bedrock-mantle", bedrock.EndpointMantle},
		{"responses", "", "bedrock-mantle", bedrock.EndpointMantle},
	} {
		upstream := "kind: " + test.kind + ", provider: bedrock, " + test.endpoint + "region: us-east-1, "
		made := func(c bedrock.Config) func(*http.Client) openai.Client {
			c.Endpoint, c.AWSRegion = test.of, region
			return func(at *http.Client) openai.Client {
				client, err := bedrock.NewClient(t.Context(), c, openaioption.WithHTTPClient(at))
				if err != nil {
					t.Fatal(err)
				}
				return client
			}
		}
		both(t, &place{t: t}, test.kind, upstream+"api_key: k", "openai.gpt-oss-120b-1:0", made(bedrock.Config{APIKey: "k"}))
		signed := &place{t: t, verifier: &clouds.Verifier{Region: region, Service: test.service, Keys: []clouds.AWSKeys{{ID: keyID, Secret: secret, Token: session}}}}
		both(t, signed, test.kind, upstream+"auth: {aws: {}}", "openai.gpt-oss-120b-1:0", made(bedrock.Config{AWSAccessKeyID: keyID, AWSSecretAccessKey: secret, AWSSessionToken: session}), signatures...)
	}
}
