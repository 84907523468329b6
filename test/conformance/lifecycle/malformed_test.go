package lifecycle

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/server"
)

var gateway *server.Server

func TestMain(m *testing.M) { server.Main(m, &gateway) }

// keyed sets the headers a caller of the group sends.
func keyed(h http.Header, group, key string) {
	h.Set("Content-Type", "application/json")
	switch group {
	case "messages":
		h.Set("X-Api-Key", key)
		h.Set("Anthropic-Version", "2023-06-01")
	case "generatecontent":
		h.Set("X-Goog-Api-Key", key)
	default:
		h.Set("Authorization", "Bearer "+key)
	}
}

// native says what is wrong with an error answer of the group's protocol; empty
// when it is as the vendor's SDK expects it.
func native(group string, status int, body []byte) string {
	var openai struct {
		Error *struct {
			Message *string `json:"message"`
			Type    *string `json:"type"`
		} `json:"error"`
	}
	var anthropic struct {
		Type  string `json:"type"`
		Error *struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
		RequestID string `json:"request_id"`
	}
	var google struct {
		Error *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
			Status  string `json:"status"`
		} `json:"error"`
	}
	switch group {
	case "messages":
		if err := json.Unmarshal(body, &anthropic); err != nil || anthropic.Type != "error" || anthropic.Error == nil || anthropic.Error.Type == "" || anthropic.Error.Message == "" || anthropic.RequestID == "" {
			return "not an error of the messages protocol"
		}
	case "generatecontent":
		if err := json.Unmarshal(body, &google); err != nil || google.Error == nil || google.Error.Code != status || google.Error.Message == "" || google.Error.Status == "" {
			return "not an error of the generateContent protocol"
		}
	default:
		if err := json.Unmarshal(body, &openai); err != nil || openai.Error == nil || openai.Error.Message == nil || *openai.Error.Message == "" || openai.Error.Type == nil {
			return "not an error of the chat completions protocol"
		}
	}
	return ""
}

// Every malformed body gets a native 4xx on every path: never a 5xx, never a hang,
// never a success.
func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	client := &http.Client{Timeout: 3 * time.Minute}
	for _, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			bodies := malformedBodies(op)
			if len(bodies) < 300 {
				t.Fatalf("only %d bodies", len(bodies))
			}
			for _, b := range bodies {
				status, contentType, answer := post(t, client, op, b.body)
				shown := b.body[:min(len(b.body), 120)]
				switch problem := native(op.group, status, answer); {
				case status < 400 || status > 499:
					t.Errorf("%s: %q gets %d %s", b.class, shown, status, answer[:min(len(answer), 200)])
				case contentType != "application/json" || problem != "":
					t.Errorf("%s: %q gets %s: %s", b.class, shown, problem, answer)
				}
			}
			t.Logf("%d bodies", len(bodies))
		})
	}
}

func post(t *testing.T, client *http.Client, op operation, body string) (status int, contentType string, answer []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, gateway.URL()+op.path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	keyed(req.Header, op.group, gateway.Keys[op.group])
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("%q: %v", body[:min(len(body), 120)], err)
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Content-Type"), answer
}
