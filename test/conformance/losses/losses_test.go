package losses

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/server"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

func TestMain(m *testing.M) { server.Main(m, nil) }

// answer is a stream of generateContent that ends with what the other protocols have no
// place for: a signature of a text, and tokens of tools counted apart.
const answer = `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"hello"}]},"index":0}],"modelVersion":"m","responseId":"r"}

data: {"candidates":[{"content":{"role":"model","parts":[{"text":"","thoughtSignature":"c2lnbmF0dXJl"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":7,"toolUsePromptTokenCount":5},"modelVersion":"m","responseId":"r"}

`

// recorded keeps the answers that an SDK reads.
type recorded struct {
	body     strings.Builder
	response *http.Response
}

func (r *recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		r.response = resp
		resp.Body = &drained{Reader: io.TeeReader(resp.Body, &r.body), Closer: resp.Body}
	}
	return resp, err
}

// drained is a body that is read to its end before it is closed: SDKs stop at the last
// event, and trailers are behind it.
type drained struct {
	io.Reader
	io.Closer
	closed bool
}

func (d *drained) Close() error {
	if d.closed {
		return nil
	}
	d.closed = true
	_, err := io.Copy(io.Discard, d.Reader)
	return errors.Join(err, d.Closer.Close())
}

// hasLoss fails unless the stream had a comment with a loss, before its end, and a trailer
// with the same.
func (r *recorded) hasLoss(t *testing.T, lost, end string) {
	t.Helper()
	if err := r.response.Body.Close(); err != nil {
		t.Error(err)
	}
	_, after, found := strings.Cut(r.body.String(), ": x-genway-lost ")
	comment, rest, _ := strings.Cut(after, "\n\n")
	check.Truef(t, found && strings.Contains(comment, lost) && strings.Contains(rest, end), "the stream does not name %s ahead of %s:\n%s", lost, end, r.body.String())
	check.Equal(t, "the trailer", r.response.Trailer.Get("X-Genway-Lost"), comment)
}

func TestStreamsWithLosses(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, answer)
	}))
	defer upstream.Close()
	file := filepath.Join(t.TempDir(), "genway.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "upstreams:\n  u: {kind: generatecontent, base_url: %q, api_key: k}\nroutes:\n  - {model: \"*\", targets: [{upstream: u}]}\n", upstream.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	gateway := server.Start(t, server.Options{Args: []string{"--config", file}})

	t.Run("chat", func(t *testing.T) {
		r := &recorded{}
		client := openai.NewClient(openaioption.WithBaseURL(gateway.URL()+"/v1"), openaioption.WithAPIKey(gateway.Keys["chat"]), openaioption.WithHTTPClient(&http.Client{Transport: r}))
		stream := client.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{Model: "m", StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
			Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")}})
		all := openai.ChatCompletionAccumulator{}
		for stream.Next() {
			check.Truef(t, all.AddChunk(stream.Current()), "the accumulator refuses %s", stream.Current().RawJSON())
		}
		check.Equal(t, "the error", stream.Err(), nil)
		check.Equal(t, "the text", all.Choices[0].Message.Content, "hello")
		r.hasLoss(t, "usage.tool_use_input_tokens", "[DONE]")
	})
	t.Run("responses", func(t *testing.T) {
		r := &recorded{}
		client := openai.NewClient(openaioption.WithBaseURL(gateway.URL()+"/v1"), openaioption.WithAPIKey(gateway.Keys["chat"]), openaioption.WithHTTPClient(&http.Client{Transport: r}))
		stream := client.Responses.NewStreaming(t.Context(), responses.ResponseNewParams{Model: "m", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("hi")}})
		var text strings.Builder
		for stream.Next() {
			text.WriteString(stream.Current().AsResponseOutputTextDelta().Delta)
		}
		check.Equal(t, "the error", stream.Err(), nil)
		check.Equal(t, "the text", text.String(), "hello")
		r.hasLoss(t, "thought_signature", "response.completed")
	})
	t.Run("messages", func(t *testing.T) {
		r := &recorded{}
		client := anthropic.NewClient(anthropicoption.WithBaseURL(gateway.URL()), anthropicoption.WithAPIKey(gateway.Keys["messages"]), anthropicoption.WithHTTPClient(&http.Client{Transport: r}))
		stream := client.Messages.NewStreaming(t.Context(), anthropic.MessageNewParams{Model: "m", MaxTokens: 9, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hi"))}})
		all := anthropic.Message{}
		for stream.Next() {
			check.Equal(t, "the accumulator's error", all.Accumulate(stream.Current()), nil)
		}
		check.Equal(t, "the error", stream.Err(), nil)
		check.Truef(t, len(all.Content) > 0 && all.Content[0].Text == "hello", "the text is in %s", all.RawJSON())
		r.hasLoss(t, "thought_signature", "message_stop")
	})
}
