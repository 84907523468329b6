// Package anthropic_test drives a running gateway with the vendor's Go SDK of the
// messages protocol, unmodified. What the sandbox repeats of a request shows that
// nothing of it was lost on the way.
package anthropic_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/server"
)

const textModel = "sandbox-text"

var gateway *server.Server

func TestMain(m *testing.M) { server.Main(m, &gateway) }

// client is the SDK's client with the messages group's key. It does not retry, so
// that a test sees every failure.
func client(options ...option.RequestOption) anthropic.Client {
	return anthropic.NewClient(append([]option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithBaseURL(gateway.URL()),
		option.WithAPIKey(gateway.Keys["messages"]),
		option.WithMaxRetries(0),
	}, options...)...)
}

func message(messages ...anthropic.MessageParam) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{Model: textModel, MaxTokens: 2000, Messages: messages}
}

func user(text string) anthropic.MessageParam {
	return anthropic.NewUserMessage(anthropic.NewTextBlock(text))
}

func create(t *testing.T, params anthropic.MessageNewParams) *anthropic.Message {
	t.Helper()
	c := client()
	answer, err := c.Messages.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// text is the answer's text; there must be some.
func text(t *testing.T, answer *anthropic.Message) string {
	t.Helper()
	var all strings.Builder
	for _, block := range answer.Content {
		if block.Type == "text" {
			all.WriteString(block.Text)
		}
	}
	check.Truef(t, all.Len() > 0, "no text: %s", answer.RawJSON())
	return all.String()
}

func encoded(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
