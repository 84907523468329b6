package providers_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/auth"
	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/bedrock"
	"github.com/anthropics/anthropic-sdk-go/foundry"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/vertex"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/test/clouds"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/genai"
)

// bothMessages has the place's SDK and genway send a message, unary and streamed.
func bothMessages(t *testing.T, p *place, upstream string, messages func(at *http.Client) anthropic.MessageService, leave ...string) {
	t.Helper()
	for _, streamed := range []bool{false, true} {
		p.answer, p.typed = answered, "application/json"
		if streamed {
			p.answer, p.typed = sse(), "text/event-stream"
		}
		asks(t, anthropic.Client{Messages: messages(&http.Client{Transport: p})}, claude, streamed)
		sdk := p.last
		same(t, sdk, genway(t, upstream, p, claude, sent(t, claude, streamed), streamed), leave...)
	}
}

func TestBedrockMantle(t *testing.T) {
	made := func(c bedrock.MantleClientConfig) func(*http.Client) anthropic.MessageService {
		c.AWSRegion = region
		return func(at *http.Client) anthropic.MessageService {
			client, err := bedrock.NewMantleClient(t.Context(), c, anthropicoption.WithHTTPClient(at))
			if err != nil {
				t.Fatal(err)
			}
			return client.Messages
		}
	}
	const upstream = "kind: messages, provider: bedrock, endpoint: mantle, region: us-east-1, "
	bothMessages(t, &place{t: t}, upstream+"api_key: k", made(bedrock.MantleClientConfig{APIKey: "k"}))
	signed := &place{t: t, verifier: &clouds.Verifier{Region: region, Service: "bedrock-mantle", Keys: []clouds.AWSKeys{{ID: keyID, Secret: secret, Token: session}}}}
	bothMessages(t, signed, upstream+"auth: {aws: {}}", made(bedrock.MantleClientConfig{AWSAccessKey: keyID, AWSSecretAccessKey: secret, AWSSessionToken: session}), signatures...)
}

func TestFoundry(t *testing.T) {
	made := func(c foundry.ClientConfig) func(*http.Client) anthropic.MessageService {
		c.Resource = "my-resource"
		return func(at *http.Client) anthropic.MessageService {
			client, err := foundry.NewClient(c, anthropicoption.WithHTTPClient(at))
			if err != nil {
				t.Fatal(err)
			}
			return client.Messages
		}
	}
	const upstream = "kind: messages, provider: azure, resource: my-resource, "
	bothMessages(t, &place{t: t}, upstream+"api_key: k", made(foundry.ClientConfig{APIKey: "k"}))
	bothMessages(t, &place{t: t}, upstream+"auth: {entra: {tenant: t, client_id: c, client_secret: s}}", made(foundry.ClientConfig{AzureADTokenProvider: func(context.Context) (string, error) { return token, nil }}))
}

// Tokens are counted where the place's SDK has them counted.
func TestCounts(t *testing.T) {
	counts := func(messages anthropic.MessageService) {
		got, err := messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: claude, Messages: params(claude).Messages})
		if err != nil || got.InputTokens != 7 {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	for upstream, made := range map[string]func(at *http.Client) anthropic.MessageService{
		"kind: messages, provider: bedrock, endpoint: mantle, region: us-east-1, api_key: k": func(at *http.Client) anthropic.MessageService {
			client, err := bedrock.NewMantleClient(t.Context(), bedrock.MantleClientConfig{APIKey: "k", AWSRegion: region}, anthropicoption.WithHTTPClient(at))
			if err != nil {
				t.Fatal(err)
			}
			return client.Messages
		},
		"kind: messages, provider: azure, resource: my-resource, api_key: k": func(at *http.Client) anthropic.MessageService {
			client, err := foundry.NewClient(foundry.ClientConfig{APIKey: "k", Resource: "my-resource"}, anthropicoption.WithHTTPClient(at))
			if err != nil {
				t.Fatal(err)
			}
			return client.Messages
		},
		"kind: messages, provider: vertex, project: my-project, region: us-east5, auth: {google: {}}": func(at *http.Client) anthropic.MessageService {
			creds := &google.Credentials{TokenSource: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token, TokenType: "Bearer"})}
			return anthropic.NewClient(anthropicoption.WithHTTPClient(at), vertex.WithCredentials(t.Context(), "us-east5", "my-project", creds)).Messages
		},
	} {
		p := &place{t: t, answer: `{"input_tokens":7}`, typed: "application/json"}
		counts(made(&http.Client{Transport: p}))
		sdk := p.last
		plain := &place{t: t, answer: p.answer, typed: p.typed}
		counts(anthropic.NewClient(anthropicoption.WithAPIKey("k"), anthropicoption.WithHTTPClient(&http.Client{Transport: plain})).Messages)
		to, req := adapter(t, upstream, p, claude, plain.last)
		if got, err := to.CountTokens(t.Context(), &genwayv1.CountTokensRequest{Request: req, Wire: req.GetWire()}); err != nil || got.GetInputTokens() != 7 {
			t.Errorf("%s: got %v, %v", upstream, got, err)
		}
		same(t, sdk, p.last)
	}
}

const generated = `{"candidates":[{"content":{"role":"model","parts":[{"text":"fine"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`

// tokens returns Google's tokens.
type tokens struct{}

func (tokens) Token(context.Context) (*auth.Token, error) {
	return &auth.Token{Value: token, Type: "Bearer", Expiry: time.Now().Add(time.Hour)}, nil
}

// generates sends a request with a client, and demands the answer.
func generates(t *testing.T, c genai.ClientConfig, streamed bool) {
	t.Helper()
	client, err := genai.NewClient(t.Context(), &c)
	if err != nil {
		t.Fatal(err)
	}
	ask := []*genai.Content{{Role: "user", Parts: []*genai.Part{{Text: "Say fine, ü."}, {InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("hello")}}}}}
	settings := &genai.GenerateContentConfig{MaxOutputTokens: 64, SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "Be <brief> & plain."}}}}
	if !streamed {
		if got, err := client.Models.GenerateContent(t.Context(), "gemini-9-flash", ask, settings); err != nil || got.Text() != "fine" {
			t.Fatalf("got %+v, %v", got, err)
		}
		return
	}
	var text strings.Builder
	for got, err := range client.Models.GenerateContentStream(t.Context(), "gemini-9-flash", ask, settings) {
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(got.Text())
	}
	if text.String() != "fine" {
		t.Errorf("got %q", text.String())
	}
}

func TestVertexGenerateContent(t *testing.T) {
	credentials := auth.NewCredentials(&auth.CredentialsOptions{TokenProvider: tokens{}})
	for _, location := range []string{"us-east5", "global"} {
		for _, streamed := range []bool{false, true} {
			p := &place{t: t, answer: generated, typed: "application/json"}
			if streamed {
				p.answer, p.typed = "data: "+generated+"\n\n", "text/event-stream"
			}
			generates(t, genai.ClientConfig{Backend: genai.BackendVertexAI, Project: "my-project", Location: location, Credentials: credentials, HTTPClient: &http.Client{Transport: p}, HTTPOptions: genai.HTTPOptions{APIVersion: "v1"}}, streamed)
			sdk := p.last
			plain := &place{t: t, answer: p.answer, typed: p.typed}
			generates(t, genai.ClientConfig{APIKey: "k", Backend: genai.BackendGeminiAPI, HTTPClient: &http.Client{Transport: plain}}, streamed)
			same(t, sdk, genway(t, "kind: generatecontent, provider: vertex, project: my-project, region: "+location+", auth: {google: {}}", p, "gemini-9-flash", plain.last, streamed), "Authorization")
		}
	}
}
