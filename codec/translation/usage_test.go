package translation

import (
	"regexp"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/generatecontent"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// A usage whose counts do not sum to its total is told alike of a stream and of a unary answer.
func TestUsageThatDoesNotSum(t *testing.T) {
	for _, counts := range []string{
		`"promptTokenCount":87,"candidatesTokenCount":99,"totalTokenCount":165`, `"promptTokenCount":87,"candidatesTokenCount":99,"totalTokenCount":86`,
		`"promptTokenCount":87,"candidatesTokenCount":78,"totalTokenCount":165`, `"promptTokenCount":87,"candidatesTokenCount":99`, `"promptTokenCount":87,"totalTokenCount":165`, `"candidatesTokenCount":99,"totalTokenCount":165`,
		`"promptTokenCount":87,"candidatesTokenCount":99,"thoughtsTokenCount":10,"totalTokenCount":165`, `"totalTokenCount":165`,
	} {
		candidate := `"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]},"finishReason":"STOP","index":0}]`
		whole := `{` + candidate + `,"usageMetadata":{` + counts + `},"modelVersion":"m","responseId":"r"}`
		for name, c := range codecOf {
			resp, err := generatecontent.Codec{}.DecodeResponse([]byte(whole))
			if err != nil {
				t.Fatal(err)
			}
			resp.Id = "r"
			unary, err := c.EncodeResponse(resp, codec.Answer{})
			if err != nil {
				t.Fatal(err)
			}
			for how, frames := range map[string][]string{
				"in one":                              {whole},
				"with thoughts that the last has not": {`{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"index":0}],"usageMetadata":{"promptTokenCount":87,"thoughtsTokenCount":21,"totalTokenCount":108},"modelVersion":"m","responseId":"r"}`, whole},
				"with a total that the last has not":  {`{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"index":0}],"usageMetadata":{"promptTokenCount":87,"candidatesTokenCount":78,"totalTokenCount":165},"modelVersion":"m","responseId":"r"}`, whole},
				"with a first":                        {`{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"index":0}],"usageMetadata":{"promptTokenCount":87,"totalTokenCount":87},"modelVersion":"m","responseId":"r"}`, whole},
			} {
				fits := map[string]string{"in one": "", "with a first": `87,"candidatesTokenCount":99,"totalTokenCount"`, "with thoughts that the last has not": `87,"candidatesTokenCount":78,"totalTokenCount":165`,
					"with a total that the last has not": `99`}[how]
				if !strings.Contains(counts, fits) || how == "with a total that the last has not" && counts != `"promptTokenCount":87,"candidatesTokenCount":99` {
					continue // what the first frame says stays
				}
				streamed := encoded(t, c, frames)
				for _, field := range []string{"prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens", "promptTokenCount", "candidatesTokenCount", "totalTokenCount"} {
					if got, want := last(streamed, field), last(string(unary), field); got != want {
						t.Errorf("%s %s, %s: %s is %s in a stream, %s in a unary answer", counts, how, name, field, got, want)
					}
				}
			}
		}
	}
}

// last is the last number of a field.
func last(of, field string) string {
	all := regexp.MustCompile(`"`+field+`":(-?\d+)`).FindAllStringSubmatch(of, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1][1]
}

// encoded is a stream of generateContent for a caller of a protocol.
func encoded(t *testing.T, c codec.Codec, frames []string) string {
	t.Helper()
	decoder, encoder := generatecontent.Codec{}.NewStreamDecoder(), c.NewStreamEncoder(codec.Answer{Request: &codec.Request{GenerateTextRequest: &genwayv1.GenerateTextRequest{}, IncludeUsage: true}})
	var out strings.Builder
	write := func(events []*genwayv1.StreamGenerateTextResponse, err error) {
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			written, err := encoder.Encode(ev)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range written {
				out.Write(f.Data)
			}
		}
	}
	for _, data := range frames {
		write(decoder.Decode(codec.Frame{Data: []byte(data)}))
	}
	write(decoder.Close())
	return out.String()
}
