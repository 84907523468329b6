package cases_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"google.golang.org/protobuf/proto"
)

func terminalUsage(t *testing.T) {
	t.Run("incomplete", func(t *testing.T) {
		everyWay(t, harness.Texts(), only(harness.Responses), func(t *testing.T, w way) {
			if w.streamed {
				events := strings.Join(answers.Text("fine").Cut().Events(harness.Responses), "\n")
				w.Responses.Answer(fake.Stream(fake.Events(strings.Split(replaced(t, events, reportedUsage[harness.Responses], cached[harness.Responses]), "\n")...)...))
			} else {
				w.Responses.Answer(fake.JSON(replaced(t, answers.Text("fine").Cut().Body(harness.Responses), reportedUsage[harness.Responses], cached[harness.Responses])))
			}
			holds(t, w.caller, w.bill(t, w.askForBill()), 0)
		})
	})
	t.Run("failed", func(t *testing.T) {
		everyWay(t, harness.Texts(), only(harness.Responses), func(t *testing.T, w way) {
			failed := `{"id":"resp_1","object":"response","created_at":7,"status":"failed","error":{"code":"server_error","message":"it broke"},"incomplete_details":null,"model":"m","output":[],"usage":` + cached[harness.Responses] + `}`
			if w.streamed {
				events := answers.Text("fine").Events(harness.Responses)
				events = append(events[:len(events)-1], `{"type":"response.failed","sequence_number":99,"response":`+failed+`}`)
				w.Responses.Answer(fake.Stream(fake.Events(events...)...))
			} else {
				w.Responses.Answer(fake.JSON(failed))
			}
			if a := w.ask(w.caller.Hello()); !strings.Contains(string(a.Body), "it broke") {
				t.Errorf("the failure is not reported: %d %s", a.Status, a.Body)
			}
			w.logs(t, 100, 7, 60, 0)
		})
	})
}

// logs demands one line of the core's log with these numbers.
func (w way) logs(t *testing.T, input, output, cacheRead, thinking int) {
	t.Helper()
	lines := regexp.MustCompile(`msg=call .*`).FindAllString(w.Log(), -1)
	if len(lines) != 1 {
		t.Fatalf("want one line, got %q", lines)
	}
	for name, number := range map[string]int{"input_tokens": input, "output_tokens": output, "cache_read_tokens": cacheRead, "thinking_tokens": thinking} {
		if want := fmt.Sprintf(" %s=%d ", name, number); !strings.Contains(lines[0]+" ", want) {
			t.Errorf("want%sin %q", want, lines[0])
		}
	}
}

// classes is a usage with every class of token that the protocol knows.
var classes = map[harness.Protocol]struct {
	wire string
	want *genwayv1.Usage
}{
	harness.Chat: {
		`{"prompt_tokens":100,"prompt_tokens_details":{"cached_tokens":60,"audio_tokens":5},"completion_tokens":20,"completion_tokens_details":{"reasoning_tokens":9,"audio_tokens":2,"accepted_prediction_tokens":1,"rejected_prediction_tokens":3},"total_tokens":120}`,
		&genwayv1.Usage{InputTokens: 100, OutputTokens: 20, TotalTokens: 120, CacheReadInputTokens: proto.Int64(60), InputAudioTokens: proto.Int64(5),
			ThinkingTokens: proto.Int64(9), OutputAudioTokens: proto.Int64(2), AcceptedPredictionTokens: proto.Int64(1), RejectedPredictionTokens: proto.Int64(3)},
	},
	harness.Responses: {
		`{"input_tokens":100,"input_tokens_details":{"cached_tokens":60},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":9},"total_tokens":120}`,
		&genwayv1.Usage{InputTokens: 100, OutputTokens: 20, TotalTokens: 120, CacheReadInputTokens: proto.Int64(60), ThinkingTokens: proto.Int64(9)},
	},
	harness.Messages: {
		`{"input_tokens":25,"cache_creation_input_tokens":15,"cache_read_input_tokens":60,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":5},"output_tokens":20}`,
		&genwayv1.Usage{InputTokens: 100, OutputTokens: 20, TotalTokens: 120, CacheReadInputTokens: proto.Int64(60), CacheWriteInputTokens: proto.Int64(15),
			CacheWrites: []*genwayv1.CacheWrite{{Ttl: "5m", Tokens: 10}, {Ttl: "1h", Tokens: 5}}},
	},
	harness.GenerateContent: {
		`{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":11,"thoughtsTokenCount":9,"totalTokenCount":120,"promptTokensDetails":[{"modality":"TEXT","tokenCount":70},{"modality":"IMAGE","tokenCount":30}]}`,
		&genwayv1.Usage{InputTokens: 100, OutputTokens: 20, TotalTokens: 120, CacheReadInputTokens: proto.Int64(60), ThinkingTokens: proto.Int64(9),
			InputTextTokens: proto.Int64(70), InputImageTokens: proto.Int64(30)},
	},
	harness.Interactions: {
		`{"total_input_tokens":100,"total_cached_tokens":60,"total_output_tokens":11,"total_thought_tokens":9,"total_tokens":120,"input_tokens_by_modality":[{"modality":"text","tokens":70},{"modality":"image","tokens":30}]}`,
		&genwayv1.Usage{InputTokens: 100, OutputTokens: 20, TotalTokens: 120, CacheReadInputTokens: proto.Int64(60), ThinkingTokens: proto.Int64(9),
			InputTextTokens: proto.Int64(70), InputImageTokens: proto.Int64(30)},
	},
}

// For callers of every protocol, and whether or not the body passes through, the ledger gets the
// same usage.
func canonicalUsage(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		t.Run(fmt.Sprintf("foreign %t", foreign), func(t *testing.T) {
			for _, upstream := range harness.Texts() {
				for _, caller := range harness.Texts() {
					for _, streamed := range []bool{false, true} {
						books := &ledger{foreign: foreign}
						w := way{Gateway: harness.New(t, harness.Config{Wrap: books.wrap}), caller: caller, upstream: upstream, streamed: streamed}
						w.billed(t, classes[upstream].wire)
						got := proto.CloneOf(books.usage())
						got.NativeFields = nil // what the vendor says besides
						if !proto.Equal(got, classes[upstream].want) {
							t.Errorf("%s over %s, streamed %t:\n got %v\nwant %v", caller, upstream, streamed, got, classes[upstream].want)
						}
					}
				}
			}
		})
	}
}

func imageUsage(t *testing.T) {
	const usage = `{"input_tokens":50,"output_tokens":4160,"total_tokens":4210,"input_tokens_details":{"image_tokens":40,"text_tokens":10},"output_tokens_details":{"image_tokens":4096,"text_tokens":64}}`
	for _, foreign := range []bool{false, true} {
		books := &ledger{foreign: foreign}
		g := harness.New(t, harness.Config{Wrap: books.wrap})
		g.Images.Answer(fake.JSON(`{"created":7,"background":"opaque","data":[{"b64_json":"iVBORw0KGgo="}],"output_format":"png","quality":"low","size":"1024x1024","usage":` + usage + `}`))
		a := g.Post(harness.Images, "images/m", harness.Images.Hello())
		a.JSON().At("usage").Is(t, usage)
		a.JSON().At("data[0].b64_json").Is(t, `"iVBORw0KGgo="`)
		want := &genwayv1.Usage{InputTokens: 50, OutputTokens: 4160, TotalTokens: 4210, InputImageTokens: proto.Int64(40), InputTextTokens: proto.Int64(10),
			OutputImageTokens: proto.Int64(4096), OutputTextTokens: proto.Int64(64)}
		if !proto.Equal(books.usage(), want) {
			t.Errorf("foreign %t: the books have %v", foreign, books.usage())
		}
	}
}

func loggedUsage(t *testing.T) {
	thinking := map[harness.Protocol]int{harness.Chat: 9, harness.Responses: 9, harness.GenerateContent: 9, harness.Interactions: 9}
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		bill := w.billed(t, classes[w.upstream].wire)
		switch w.caller {
		case harness.Chat:
			bill.At("completion_tokens").Is(t, "20")
		case harness.GenerateContent:
			bill.At("candidatesTokenCount").Is(t, strconv.Itoa(20-thinking[w.upstream]))
		case harness.Interactions:
			bill.At("total_output_tokens").Is(t, strconv.Itoa(20-thinking[w.upstream]))
		case harness.Responses, harness.Messages, harness.Images:
			bill.At("output_tokens").Is(t, "20")
		}
		w.logs(t, 100, 20, 60, thinking[w.upstream])
	})
}

func thoughtUsage(t *testing.T) {
	t.Run("from generateContent", func(t *testing.T) {
		everyWay(t, others(harness.GenerateContent), only(harness.GenerateContent), func(t *testing.T, w way) {
			tokens, details := "completion_tokens", "completion_tokens_details.reasoning_tokens"
			switch w.caller {
			case harness.Chat, harness.GenerateContent, harness.Images:
			case harness.Responses:
				tokens, details = "output_tokens", "output_tokens_details.reasoning_tokens"
			case harness.Messages:
				tokens, details = "output_tokens", "output_tokens_details.thinking_tokens"
			case harness.Interactions: // apart from each other, as upstream
				bill := w.billed(t, `{"promptTokenCount":11,"candidatesTokenCount":3,"thoughtsTokenCount":4,"totalTokenCount":18}`)
				bill.At("total_output_tokens").Is(t, "3")
				bill.At("total_thought_tokens").Is(t, "4")
				return
			}
			bill := w.billed(t, `{"promptTokenCount":11,"candidatesTokenCount":3,"thoughtsTokenCount":4,"totalTokenCount":18}`)
			bill.At(tokens).Is(t, "7")
			bill.At(details).Is(t, "4")
			bill = w.billed(t, `{"promptTokenCount":11,"thoughtsTokenCount":4,"totalTokenCount":15}`)
			bill.At(tokens).Is(t, "4")
			bill.At(details).Is(t, "4")
			bill = w.billed(t, reportedUsage[harness.GenerateContent])
			bill.At(tokens).Is(t, "7")
			if w.caller == harness.Chat {
				bill.At("completion_tokens_details.reasoning_tokens").Absent(t)
			}
		})
	})
	t.Run("to generateContent", func(t *testing.T) {
		everyWay(t, only(harness.GenerateContent), only(harness.Chat, harness.Responses), func(t *testing.T, w way) {
			thought := `{"prompt_tokens":11,"completion_tokens":7,"completion_tokens_details":{"reasoning_tokens":4},"total_tokens":18}`
			if w.upstream == harness.Responses {
				thought = `{"input_tokens":11,"output_tokens":7,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":18}`
			}
			bill := w.billed(t, thought)
			bill.At("candidatesTokenCount").Is(t, "3")
			bill.At("thoughtsTokenCount").Is(t, "4")
			bill.At("totalTokenCount").Is(t, "18")
			if w.upstream == harness.Chat {
				bill = w.billed(t, reportedUsage[harness.Chat])
				bill.At("candidatesTokenCount").Is(t, "7")
				bill.At("thoughtsTokenCount").Absent(t)
			}
		})
	})
}
