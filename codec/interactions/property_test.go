package interactions_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/interactions"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"
)

const own = genwayv1.Protocol_PROTOCOL_INTERACTIONS

func words(t *rapid.T, label string) string { return rapid.StringN(1, 12, -1).Draw(t, label) }

func chance(t *rapid.T, label string) bool { return rapid.Bool().Draw(t, label) }

func maybe[T any](t *rapid.T, label string, g *rapid.Generator[T]) *T {
	if !chance(t, label+"?") {
		return nil
	}
	return new(g.Draw(t, label))
}

func jsonObject(t *rapid.T, label string) string {
	quoted, err := json.Marshal(words(t, label))
	if err != nil {
		t.Fatal(err)
	}
	return rapid.SampledFrom([]string{`{}`, `{"a":1.50,"b":[null,true]}`, `{"b":{"a":"\u00e9"},"a":1e400}`, `{"text":` + string(quoted) + `}`}).Draw(t, label+" object")
}

func ownNatives(t *rapid.T, names ...string) []*genwayv1.NativeField {
	var fields []*genwayv1.NativeField
	for _, name := range names {
		if rapid.IntRange(0, 4).Draw(t, "native "+name) == 0 {
			fields = append(fields, &genwayv1.NativeField{Protocol: own, Name: name, Json: []byte(jsonObject(t, name))})
		}
	}
	return fields
}

func seal(t *rapid.T) *genwayv1.Seal {
	if !chance(t, "sealed?") {
		return nil
	}
	return &genwayv1.Seal{Protocol: own, Value: []byte(rapid.StringMatching(`[A-Ya-z0-9+/_-]{4,12}`).Draw(t, "signature"))}
}

func drawText(t *rapid.T) *genwayv1.Part {
	p := codec.TextPart(words(t, "text"))
	p.NativeFields = ownNatives(t, "xNew")
	return p
}

func drawMedia(t *rapid.T) *genwayv1.Part {
	m := &genwayv1.Media{MimeType: rapid.SampledFrom([]string{"image/png", "audio/wav", ""}).Draw(t, "type")}
	p := &genwayv1.Part{NativeFields: ownNatives(t, "xNew")}
	switch rapid.IntRange(0, 2).Draw(t, "source") {
	case 0:
		m.Source = &genwayv1.Media_Data{Data: rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "data")}
	case 1:
		m.Source = &genwayv1.Media_Url{Url: "https://a.example/" + words(t, "url")}
	default:
		m.Source = &genwayv1.Media_FileId{FileId: "files/" + words(t, "file")}
	}
	switch rapid.IntRange(0, 3).Draw(t, "medium") {
	case 0:
		m.Detail = rapid.SampledFrom([]string{"", "low", "ultra_high"}).Draw(t, "resolution")
		p.Kind = &genwayv1.Part_Image{Image: m}
	case 1:
		p.Kind = &genwayv1.Part_Audio{Audio: m}
	case 2:
		p.Kind = &genwayv1.Part_Video{Video: m}
	default:
		m.MimeType = "application/pdf"
		p.Kind = &genwayv1.Part_File{File: m}
	}
	return p
}

func drawCall(t *rapid.T) *genwayv1.Part {
	p := codec.CallPart(words(t, "function"), jsonObject(t, "arguments"))
	p.GetToolCall().Id = words(t, "id")
	p.ThoughtSignature, p.NativeFields = seal(t), ownNatives(t, "xNew")
	return p
}

func drawOpaque(t *rapid.T) *genwayv1.Part {
	kind := rapid.SampledFrom([]string{"google_search_call", "hologram"}).Draw(t, "kind")
	return &genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{Protocol: own, Type: kind, Json: []byte(`{"type":"` + kind + `","x":` + jsonObject(t, kind) + `}`)}}}
}

func drawThinking(t *rapid.T) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{Text: words(t, "thought"), Signature: seal(t)}}, NativeFields: ownNatives(t, "xNew")}
}

func drawResult(t *rapid.T) *genwayv1.Part {
	r := &genwayv1.ToolResult{ToolCallId: words(t, "id"), Name: words(t, "function"), IsError: chance(t, "error")}
	switch rapid.IntRange(0, 2).Draw(t, "result") {
	case 0:
		r.ResultJson = new(jsonObject(t, "result"))
	case 1:
		r.Parts = []*genwayv1.Part{codec.TextPart(words(t, "output"))}
	default:
		r.Parts = []*genwayv1.Part{drawText(t), drawMedia(t)}
	}
	return &genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: r}, NativeFields: ownNatives(t, "signature")}
}

func drawParts(t *rapid.T, kinds ...func(*rapid.T) *genwayv1.Part) (parts []*genwayv1.Part) {
	for range rapid.IntRange(1, 4).Draw(t, "parts") {
		parts = append(parts, rapid.SampledFrom(kinds).Draw(t, "part kind")(t))
	}
	return parts
}

// drawRequest draws a request as decoding makes it: neighbouring steps of the model are one message.
func drawRequest(t *rapid.T) *genwayv1.GenerateTextRequest {
	req := &genwayv1.GenerateTextRequest{
		Model: words(t, "model"), Store: maybe(t, "store", rapid.Bool()), MaxOutputTokens: maybe(t, "max", rapid.Int64Range(1, 1<<40)),
		ServiceTier:   rapid.SampledFrom([]string{"", "flex", "deferred"}).Draw(t, "tier"),
		StopSequences: rapid.SliceOfN(rapid.String(), 0, 2).Draw(t, "stop"),
		Modalities:    rapid.SliceOfN(rapid.SampledFrom([]string{"text", "image"}), 0, 2).Draw(t, "modalities"),
		NativeFields:  ownNatives(t, "labels", "xNew", "generation_config.xNew"),
	}
	if chance(t, "system") {
		req.Messages = append(req.Messages, &genwayv1.Message{Role: genwayv1.Role_ROLE_SYSTEM, Parts: []*genwayv1.Part{codec.TextPart(words(t, "system text"))}})
	}
	model := false
	for range rapid.IntRange(1, 4).Draw(t, "turns") {
		switch rapid.IntRange(0, 2).Draw(t, "role") {
		case 0:
			req.Messages = append(req.Messages, &genwayv1.Message{Role: genwayv1.Role_ROLE_USER, Parts: drawParts(t, drawText, drawMedia, drawOpaque), NativeFields: ownNatives(t, "xNew")})
			model = false
		case 1:
			req.Messages = append(req.Messages, &genwayv1.Message{Role: genwayv1.Role_ROLE_TOOL, Parts: []*genwayv1.Part{drawResult(t)}})
			model = false
		default:
			parts := drawParts(t, drawText, drawMedia, drawCall, drawOpaque, drawThinking)
			if model {
				last := req.Messages[len(req.Messages)-1]
				last.Parts = append(last.Parts, parts...)
			} else {
				req.Messages = append(req.Messages, &genwayv1.Message{Role: genwayv1.Role_ROLE_ASSISTANT, Parts: parts})
			}
			model = true
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "tools") {
		f := &genwayv1.FunctionTool{Name: words(t, "function"), Description: rapid.String().Draw(t, "description")}
		if chance(t, "parameters") {
			f.ParametersJson = jsonObject(t, "schema")
		}
		req.Tools = append(req.Tools, &genwayv1.Tool{Kind: &genwayv1.Tool_Function{Function: f}, NativeFields: ownNatives(t, "xNew")})
	}
	req.ToolChoice = rapid.SampledFrom([]*genwayv1.ToolChoice{
		nil,
		{Mode: genwayv1.ToolChoice_MODE_NONE},
		{Mode: genwayv1.ToolChoice_MODE_AUTO},
		{Mode: genwayv1.ToolChoice_MODE_AUTO, NativeMode: "VALIDATED"},
		{Mode: genwayv1.ToolChoice_MODE_AUTO, Names: []string{"f"}, AllowedList: true},
		{Mode: genwayv1.ToolChoice_MODE_REQUIRED, Names: []string{"f"}},
		{NativeMode: "novel"},
	}).Draw(t, "choice")
	req.ResponseFormat = rapid.SampledFrom([]*genwayv1.ResponseFormat{
		nil,
		{Kind: genwayv1.ResponseFormat_KIND_TEXT},
		{Kind: genwayv1.ResponseFormat_KIND_JSON_OBJECT},
		{Kind: genwayv1.ResponseFormat_KIND_JSON_SCHEMA, SchemaJson: `{"type":"object","properties":{"b":{"type":"integer"},"a":{}}}`},
	}).Draw(t, "format")
	req.Thinking = rapid.SampledFrom([]*genwayv1.ThinkingConfig{nil, {Effort: "low", IncludeThoughts: new(bool)}, {Effort: "novel"}, {IncludeThoughts: new(true)}}).Draw(t, "thinking")
	if chance(t, "sampling") {
		req.Sampling = &genwayv1.Sampling{Temperature: new(rapid.Float64Range(0, 2).Draw(t, "temperature")), TopP: maybe(t, "topP", rapid.Float64Range(0, 1)), Seed: maybe(t, "seed", rapid.Int64Range(-1<<31, 1<<31-1))}
	}
	return req
}

// drawResponse draws an answer.
func drawResponse(t *rapid.T) *genwayv1.GenerateTextResponse {
	resp := &genwayv1.GenerateTextResponse{
		Id: words(t, "id"), Model: words(t, "model"), ServiceTier: rapid.SampledFrom([]string{"", "standard", "flex"}).Draw(t, "tier"),
		NativeFields: ownNatives(t, "environment_id"),
	}
	if chance(t, "created") {
		resp.CreateTime = timestamppb.New(time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "second"), rapid.Int64Range(0, 999999999).Draw(t, "nano")))
		resp.CompleteTime = proto.CloneOf(resp.CreateTime)
	}
	if chance(t, "usage") {
		resp.Usage = drawUsage(t)
	}
	c := &genwayv1.Candidate{NativeStopReason: rapid.SampledFrom([]string{"completed", "requires_action", "incomplete", "requires_continuation", "budget_exceeded", "novel", "SAFETY", "refusal", "error"}).Draw(t, "status")}
	c.StopReason = codec.StopReasonOf(c.NativeStopReason)
	if chance(t, "parts?") {
		c.Parts = drawParts(t, drawText, drawMedia, drawCall, drawOpaque, drawThinking)
	}
	for _, p := range c.Parts {
		if p.GetToolCall() != nil && c.NativeStopReason == "completed" {
			c.StopReason, c.NativeStopReason = genwayv1.StopReason_STOP_REASON_TOOL_CALL, "requires_action"
		}
	}
	if n := len(c.Parts); n > 0 && codec.Cut(c.StopReason) { // an answer cut within a call without arguments leaves that out
		if call := c.Parts[n-1].GetToolCall(); call.GetArgumentsJson() == "{}" {
			call.Arguments = &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: `{"a":1}`}
		}
	}
	if c.NativeStopReason == "novel" {
		c.NativeFields = []*genwayv1.NativeField{member.Mark(own, "status")}
	} else if codec.StopReasonOf(c.NativeStopReason) == genwayv1.StopReason_STOP_REASON_CONTENT_FILTER {
		c.StopMessage = rapid.SampledFrom([]string{"", "because"}).Draw(t, "message")
	}
	resp.Candidates = []*genwayv1.Candidate{c}
	return resp
}

func drawUsage(t *rapid.T) *genwayv1.Usage {
	count := rapid.Int64Range(0, 1000)
	u := &genwayv1.Usage{
		InputTokens: count.Draw(t, "input"), CacheReadInputTokens: maybe(t, "cached", count),
		ThinkingTokens: maybe(t, "thoughts", count), ToolUseInputTokens: maybe(t, "tool use", count),
		InputTextTokens: maybe(t, "text in", count), InputImageTokens: maybe(t, "image in", count), InputAudioTokens: maybe(t, "audio in", count),
		OutputTextTokens: maybe(t, "text out", count), OutputImageTokens: maybe(t, "image out", count), OutputAudioTokens: maybe(t, "audio out", count),
	}
	u.OutputTokens = u.GetThinkingTokens() + count.Draw(t, "output")
	u.InputTokens += u.GetToolUseInputTokens()
	u.TotalTokens = u.InputTokens + u.OutputTokens
	return u
}

func TestRequestsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		codectest.RoundTripRequest(t, c, &codec.Request{GenerateTextRequest: drawRequest(t), Stream: chance(t, "stream")})
	})
}

func TestResponsesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { codectest.RoundTripResponse(t, c, drawResponse(t), nil) })
}

// A stream folds to the same answer as a unary one.
func TestStreamsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 5).Draw(t, "piece size")
		codectest.RoundTripStream(t, c, drawResponse(t), nil, func(text string) (pieces []string) {
			for r := []rune(text); len(r) > 0; {
				n := min(size, len(r))
				pieces, r = append(pieces, string(r[:n])), r[n:]
			}
			return pieces
		})
	})
}

// seed adds a section of the goldens that match.
func seed(f *testing.F, glob, section string) {
	f.Helper()
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds in %s", glob)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, s := range archive.Files {
			if s.Name == section {
				f.Add(s.Data)
			}
		}
	}
}

// compact takes out the white space, which encoding does not keep.
func compact(body []byte) []byte {
	v := jsontext.Value(body).Clone()
	if v.Compact(jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true)) != nil {
		return body
	}
	return v
}

func FuzzDecodeRequest(f *testing.F) {
	seed(f, "testdata/request-*.txtar", "in.json")
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := c.DecodeRequest(compact(body))
		if err != nil {
			var e *fault.Error
			if !errors.As(err, &e) || e.Kind != fault.InvalidRequest {
				t.Fatalf("%v is no invalid request", err)
			}
			return
		}
		var losses codec.Losses
		out, err := c.EncodeRequest(req, &losses)
		if err != nil {
			return // a conversation that only its own shape can have
		}
		again, err := c.DecodeRequest(out)
		if err != nil {
			t.Fatalf("decode: %v\n%s", err, out)
		}
		if once, err := c.EncodeRequest(again, nil); err != nil || !bytes.Equal(once, out) {
			t.Fatalf("%v: %s\nbecame %s", err, out, once)
		}
	})
}

func FuzzDecodeResponse(f *testing.F) {
	seed(f, "testdata/response-*.txtar", "in.json")
	f.Fuzz(func(t *testing.T, body []byte) {
		resp, err := c.DecodeResponse(compact(body))
		if err != nil {
			if _, ok := errors.AsType[*fault.Error](err); !ok {
				t.Fatal(err)
			}
			return
		}
		if codectest.Broken(resp) {
			return
		}
		out, err := c.EncodeResponse(resp, codec.Answer{})
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		if again, err := c.DecodeResponse(out); err == nil {
			if diff := cmp.Diff(len(resp.GetCandidates()[0].GetParts()), len(again.GetCandidates()[0].GetParts()), protocmp.Transform()); diff != "" {
				t.Fatalf("%s\n%s", diff, out)
			}
		}
	})
}

func FuzzDecodeStream(f *testing.F) {
	seed(f, "testdata/stream-*.txtar", "in.txt")
	f.Fuzz(func(t *testing.T, body []byte) {
		resp, err := codectest.DecodeStream(c, codectest.ParseFrames(string(body)))
		if err != nil {
			if _, ok := errors.AsType[*fault.Error](err); !ok {
				t.Fatal(err)
			}
			return
		}
		if codectest.Broken(resp) {
			return
		}
		codectest.EncodeStream(t, c, codec.Events(resp, halves), codec.Answer{})
	})
}

func FuzzDecodeError(f *testing.F) {
	seed(f, "testdata/error-*.txtar", "in.json")
	f.Fuzz(func(t *testing.T, body []byte) {
		e := c.DecodeError(400, body)
		if e.Message == "" || e.Kind == 0 {
			t.Fatalf("%+v", e)
		}
		if status, out := c.EncodeError(e); status < 400 || len(out) == 0 {
			t.Fatalf("%d %s", status, out)
		}
	})
}

func FuzzHeads(f *testing.F) { codectest.FuzzHeads(f, interactions.Codec{}) }

func TestHeads(t *testing.T) { codectest.Heads(t, interactions.Codec{}) }

func TestResults(t *testing.T) {
	codectest.Results(t, interactions.Codec{}, `{"model":"m","input":[{"type":"function_call","id":"c","name":"f","arguments":{}},{"type":"function_result",%s"result":"x"}]}`, "call_id")
}

// A stream that is cut at any byte, or whose events come in another order, fails or is whole, and never ends twice.
func TestStreamsOfStrangers(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/stream-everything.txtar")
	if err != nil {
		t.Fatal(err)
	}
	text := string(archive.Files[0].Data)
	for at := range len(text) {
		_, err := codectest.DecodeStream(c, codectest.ParseFrames(text[:at]))
		if err == nil && !strings.Contains(text[:at], `"updated"`) {
			t.Fatalf("a stream that was cut at %d is whole", at)
		}
	}
	frames := codectest.ParseFrames(text)
	for i := range frames {
		for j := range frames {
			moved := append([]codec.Frame{}, frames...)
			moved[i], moved[j] = moved[j], moved[i]
			if _, err := codectest.DecodeStream(c, moved); err != nil {
				if _, ok := errors.AsType[*fault.Error](err); !ok {
					t.Fatalf("events %d and %d: %v", i, j, err)
				}
			}
			twice := append(append([]codec.Frame{}, frames[:i]...), frames[j:]...)
			_, _ = codectest.DecodeStream(c, twice)
		}
	}
}

// Deep and large bodies cost what they are long.
func TestDeepAndLarge(t *testing.T) {
	deep := strings.Repeat(`[`, 100_000) + strings.Repeat(`]`, 100_000)
	for _, body := range []string{
		`{"model":"m","input":` + deep + `}`,
		`{"model":"m","input":[{"type":"function_result","call_id":"c","result":` + deep + `}]}`,
	} {
		if _, err := c.DecodeRequest([]byte(body)); err == nil {
			t.Error("a body that is too deep is taken")
		}
	}
	const length = 20_000
	body := []byte(`{"model":"m","input":[` + strings.TrimSuffix(strings.Repeat(`{"type":"function_result","call_id":"c","result":[]},`, length), ",") + `]}`)
	codectest.CostsItsLength(t, len(body), func() {
		if _, err := c.DecodeRequest(body); err != nil {
			t.Error(err)
		}
	})
}
