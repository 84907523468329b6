package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/server"
)

func TestMain(m *testing.M) { server.Main(m, nil) }

// row is a line of the report, as `genway usage --format json` prints it.
type row struct {
	Model       string `json:"model"`
	Requests    int    `json:"requests"`
	OK          int    `json:"ok"`
	Failed      int    `json:"failed"`
	Cancelled   int    `json:"cancelled"`
	Interrupted int    `json:"interrupted"`
	Open        int    `json:"open"`
	Input       int    `json:"input_tokens"`
	Output      int    `json:"output_tokens"`
}

// usage returns the report by model, and the sum of it.
func usage(t *testing.T, data string) (byModel map[string]row, total row) {
	t.Helper()
	out, err := server.Output("genway", append([]string{"usage", "--by", "model", "--format", "json"}, server.At(data)...)...)
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	byModel = map[string]row{}
	for _, r := range rows {
		byModel[r.Model] = r
		total.Requests += r.Requests
		total.OK += r.OK
		total.Failed += r.Failed
		total.Cancelled += r.Cancelled
		total.Interrupted += r.Interrupted
		total.Open += r.Open
	}
	return byModel, total
}

// within waits until the report is as it should be.
func within(t *testing.T, limit time.Duration, data string, good func(row) bool) row {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		_, total := usage(t, data)
		if good(total) {
			return total
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v the report is %+v", limit, total)
		}
	}
}

// call is one request.
type call struct {
	path, key, body string
}

// answer is what became of a call.
type answer struct {
	status        int
	input, output int
}

// do makes a call and reads the answer to its end.
func do(ctx context.Context, s *server.Server, c call) (answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+c.path, strings.NewReader(c.body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Anthropic-Version", "2023-06-01")
	if strings.HasPrefix(c.path, "/v1beta/") {
		req.Header.Del("Authorization")
		req.Header.Set("X-Goog-Api-Key", c.key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	got := answer{status: resp.StatusCode}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return got, err
	}
	var chat struct {
		Usage struct {
			Prompt     int `json:"prompt_tokens"`
			Completion int `json:"completion_tokens"`
		} `json:"usage"`
	}
	if json.Unmarshal(body, &chat) == nil {
		got.input, got.output = chat.Usage.Prompt, chat.Usage.Completion
	}
	return got, nil
}

// chat is a chat completion of a model.
func chat(s *server.Server, model string, stream bool, n int) call {
	return call{path: "/v1/chat/completions", key: s.Keys["chat"],
		body: fmt.Sprintf(`{"model":%q,"stream":%v,"messages":[{"role":"user","content":"Request number %d."}]}`, model, stream, n)}
}
