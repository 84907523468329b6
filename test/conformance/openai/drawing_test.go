package openai_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/picture"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/strict"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"
)

// painter is a fake of both vendors that draw in answers of text. It takes what their SDKs' types and rules say, and nothing
// else; a prompt that begins with no is answered without an image.
type painter struct {
	t     *testing.T
	image []byte
}

func (p *painter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	name, answer, stream := "generatecontent", p.content, strings.Contains(r.URL.Path, "stream")
	if r.URL.Path == "/v1/responses" {
		name, answer, stream = "responses", p.response, bytes.Contains(body, []byte(`"stream":true`))
	}
	for _, refusal := range strict.Judge(strict.Target{Protocol: name, Model: "painter"}, body) {
		p.t.Errorf("the vendor refuses: %s: %s", refusal, body)
	}
	events := answer(body, bytes.Contains(body, []byte(`"no `)))
	if !stream {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, events[len(events)-1])
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i, data := range events {
		if i == len(events)-1 && name == "responses" {
			data = `{"type":"response.completed","sequence_number":9,"response":` + data + `}`
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
	}
}

// strictly reads a body as a type has it.
func (p *painter) strictly(body []byte, into any) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		p.t.Errorf("%v: %s", err, body)
	}
}

// content is an answer of generateContent.
func (p *painter) content(body []byte, refuses bool) []string {
	var asked struct {
		Contents         []*genai.Content        `json:"contents"`
		GenerationConfig *genai.GenerationConfig `json:"generationConfig"`
	}
	var config struct {
		GenerationConfig struct {
			ImageConfig *genai.ImageConfig `json:"imageConfig"`
		} `json:"generationConfig"`
	}
	_ = json.Unmarshal(body, &config)
	var rest struct {
		Contents         json.RawMessage            `json:"contents"`
		GenerationConfig map[string]json.RawMessage `json:"generationConfig"`
	}
	p.strictly(body, &rest)
	delete(rest.GenerationConfig, "imageConfig")
	plain, _ := json.Marshal(rest)
	p.strictly(plain, &asked)
	if c := config.GenerationConfig.ImageConfig; c == nil || c.AspectRatio != "3:2" || c.ImageSize != "" || asked.GenerationConfig == nil || len(asked.GenerationConfig.ResponseModalities) != 1 {
		p.t.Errorf("asked %s", body)
	}
	answer := genai.GenerateContentResponse{
		Candidates:    []*genai.Candidate{{Content: &genai.Content{Role: "model", Parts: []*genai.Part{{InlineData: &genai.Blob{MIMEType: "image/png", Data: p.image}}}}, FinishReason: genai.FinishReasonStop}},
		UsageMetadata: &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 10, CandidatesTokenCount: 24, TotalTokenCount: 34, PromptTokensDetails: []*genai.ModalityTokenCount{{Modality: "TEXT", TokenCount: 10}}, CandidatesTokensDetails: []*genai.ModalityTokenCount{{Modality: "IMAGE", TokenCount: 24}}},
	}
	if refuses {
		answer.Candidates[0].Content, answer.Candidates[0].FinishReason = nil, genai.FinishReasonImageSafety
	}
	text, err := json.Marshal(answer)
	if err != nil {
		p.t.Error(err)
	}
	return []string{string(text)}
}

// response is an answer of responses.
func (p *painter) response(body []byte, refuses bool) []string {
	var asked struct {
		Model  string
		Input  any // a text, or a message with images
		Stream bool
		Tools  []struct {
			Type, Size, Quality, Background string
			PartialImages                   int    `json:"partial_images"`
			InputFidelity                   string `json:"input_fidelity"`
			InputImageMask                  struct {
				ImageURL string `json:"image_url"`
			} `json:"input_image_mask"`
		}
		ToolChoice struct{ Type string } `json:"tool_choice"`
	}
	p.strictly(body, &asked)
	var params responses.ResponseNewParams
	if err := json.Unmarshal(body, &params); err != nil || len(params.Tools) != 1 || params.Tools[0].OfImageGeneration == nil || asked.ToolChoice.Type != string(responses.ToolChoiceTypesTypeImageGeneration) {
		p.t.Errorf("%v: %s", err, body)
	}
	output := `{"type":"image_generation_call","id":"ig_1","status":"completed","result":"` + base64.StdEncoding.EncodeToString(p.image) + `","quality":"low","output_format":"png"}`
	if refuses {
		output = `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"refusal","refusal":"I will not"}]}`
	}
	var events []string
	if asked.Stream && len(asked.Tools) == 1 {
		for i := range asked.Tools[0].PartialImages {
			events = append(events, fmt.Sprintf(`{"type":"response.image_generation_call.partial_image","item_id":"ig_1","output_index":0,"sequence_number":%d,"partial_image_index":%d,"partial_image_b64":%q}`, i, i, base64.StdEncoding.EncodeToString(p.image)))
		}
	}
	return append(events, `{"id":"resp_1","object":"response","created_at":7,"model":"painter","status":"completed","error":null,"output":[`+output+`],"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":0},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":14},"tool_usage":{"image_gen":{"input_tokens":5,"output_tokens":20,"total_tokens":25,"output_tokens_details":{"image_tokens":20}}}}`)
}

// TestImagesDrawnInText: the SDK draws by upstreams whose models draw in answers of text (case C21).
func TestImagesDrawnInText(t *testing.T) {
	t.Parallel()
	vendor := httptest.NewServer(&painter{t, picture.PNG(t, 31, 20)})
	defer vendor.Close()
	config := filepath.Join(t.TempDir(), "genway.yaml")
	text := fmt.Sprintf("upstreams:\n  r: {kind: responses, base_url: %q}\n  g: {kind: generatecontent, base_url: %q}\nroutes:\n  - {model: responses, targets: [{upstream: r, model: painter}]}\n  - {model: generatecontent, targets: [{upstream: g, model: painter}]}\n", vendor.URL+"/v1", vendor.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := server.Launch(server.Options{Args: []string{"--config", config}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	c := openai.NewClient(option.WithBaseURL(s.URL()+"/v1"), option.WithAPIKey(s.Keys["chat"]), option.WithMaxRetries(0))
	for _, model := range []string{"responses", "generatecontent"} {
		params := openai.ImageGenerateParams{Model: model, Prompt: "A red fox", N: openai.Int(3), Size: "1536x1024", Quality: "low"}
		answer, err := c.Images.Generate(t.Context(), params)
		if err != nil {
			t.Fatalf("%s: %v", model, err)
		}
		check.Equal(t, model+": number of images", len(answer.Data), 3)
		check.Equal(t, model+": size", string(answer.Size), "31x20")
		for _, item := range answer.Data {
			check.Equal(t, model+": size of the pixels", picture.Size(picture.Decode(t, "png", item.B64JSON)), "31x20")
		}
		u := answer.Usage
		check.Equal(t, model+": total_tokens", u.TotalTokens, u.InputTokens+u.OutputTokens)
		check.Equal(t, model+": output details", u.OutputTokensDetails.TextTokens+u.OutputTokensDetails.ImageTokens, u.OutputTokens)

		params.N, params.PartialImages = openai.Int(1), openai.Int(2)
		stream := c.Images.GenerateStreaming(t.Context(), params)
		previews, images := 0, 0
		for stream.Next() {
			ev := stream.Current()
			switch ev.Type {
			case "image_generation.partial_image":
				previews++
			case "image_generation.completed":
				images++
				check.Equal(t, model+": streamed size", ev.Size, "31x20")
				check.Truef(t, ev.Usage.TotalTokens > 0, "%s: no usage", model)
			}
		}
		check.Equal(t, model+": previews", previews, map[string]int{"responses": 2}[model])
		check.Truef(t, stream.Err() == nil && images == 1, "%s: %d images, %v", model, images, stream.Err())

		params.Prompt, params.PartialImages = "no fox", openai.Int(0)
		_, err = c.Images.Generate(t.Context(), params)
		var refused *openai.Error
		check.Truef(t, errors.As(err, &refused) && refused.StatusCode == http.StatusBadRequest && refused.Code == "moderation_blocked", "%s: %v", model, err)
		stream = c.Images.GenerateStreaming(t.Context(), params)
		check.Truef(t, !stream.Next() && errors.As(stream.Err(), &refused) && refused.Code == "moderation_blocked", "%s, streamed: %v", model, stream.Err())
	}
}
