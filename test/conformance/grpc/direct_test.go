package grpc

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fullstorydev/grpcurl"
	"github.com/genway/genway/test/conformance/server"
	"github.com/jhump/protoreflect/grpcreflect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
)

var gateway *server.Server

func TestMain(m *testing.M) { server.Main(m, &gateway) }

// call invokes a method by reflection and returns its messages as JSON.
func call(t *testing.T, target, method, body string, headers ...string) ([]string, *grpcurl.DefaultEventHandler) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reflection := grpcreflect.NewClientAuto(ctx, conn)
	defer reflection.Reset()
	source := grpcurl.DescriptorSourceFromServer(ctx, reflection)
	parser, formatter, err := grpcurl.RequestParserAndFormatter(grpcurl.FormatJSON, source, strings.NewReader(body), grpcurl.FormatOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	handler := &grpcurl.DefaultEventHandler{Out: &out, Formatter: formatter}
	if err := grpcurl.InvokeRPC(ctx, source, conn, method, headers, handler, parser.Next); err != nil {
		t.Fatal(err)
	}
	var messages []string
	decoder := json.NewDecoder(&out)
	for {
		var raw json.RawMessage
		if decoder.Decode(&raw) != nil {
			return messages, handler
		}
		messages = append(messages, string(raw))
	}
}

func internal() string { return "authorization: Bearer " + gateway.Keys["internal"] }

const hello = `{"model":"sandbox-text","messages":[{"role":"ROLE_USER","parts":[{"text":{"text":"Say hello."}}]}]}`

func TestServicesAreListed(t *testing.T) {
	conn, err := grpc.NewClient(gateway.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := grpcreflect.NewClientAuto(t.Context(), conn)
	defer client.Reset()
	methods, err := grpcurl.ListMethods(grpcurl.DescriptorSourceFromServer(t.Context(), client), "genway.v1.Generation")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"GenerateText", "StreamGenerateText", "GenerateImage", "StreamGenerateImage", "CountTokens", "ListModels", "GetModel"} {
		if !strings.Contains(strings.Join(methods, " "), "genway.v1.Generation."+want) {
			t.Errorf("%s is not among %v", want, methods)
		}
	}
}

func TestGenerateText(t *testing.T) {
	messages, handler := call(t, gateway.GRPC, "genway.v1.Generation/GenerateText", hello, internal())
	if handler.Status.Code() != codes.OK || len(messages) != 1 {
		t.Fatalf("%v %v", handler.Status, messages)
	}
	var answer struct {
		ID         string
		Candidates []struct {
			Parts      []struct{ Text struct{ Text string } }
			StopReason string
		}
		Usage struct{ InputTokens, OutputTokens, TotalTokens string }
	}
	if err := json.Unmarshal([]byte(messages[0]), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.ID == "" || len(answer.Candidates) != 1 || answer.Candidates[0].StopReason != "STOP_REASON_END_TURN" ||
		!strings.Contains(answer.Candidates[0].Parts[0].Text.Text, "Say hello.") || answer.Usage.InputTokens == "" {
		t.Errorf("%s", messages[0])
	}
}

// The stream says the same as the unary answer, ends with completed, and the
// pieces of its text add up.
func TestStreamGenerateText(t *testing.T) {
	unary, _ := call(t, gateway.GRPC, "genway.v1.Generation/GenerateText", hello, internal())
	messages, handler := call(t, gateway.GRPC, "genway.v1.Generation/StreamGenerateText", hello, internal())
	if handler.Status.Code() != codes.OK || len(messages) < 4 {
		t.Fatalf("%v %v", handler.Status, messages)
	}
	var text strings.Builder
	for _, m := range messages {
		var event struct{ PartDelta struct{ Text string } }
		if err := json.Unmarshal([]byte(m), &event); err != nil {
			t.Fatal(err)
		}
		text.WriteString(event.PartDelta.Text)
	}
	quoted, err := json.Marshal(text.String())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(messages[0], "started") || !strings.Contains(messages[len(messages)-1], "completed") || !strings.Contains(unary[0], string(quoted)) {
		t.Errorf("streamed %s\nunary %s", text.String(), unary[0])
	}
}

func TestOtherCalls(t *testing.T) {
	for _, c := range []struct{ method, body, says string }{
		{"GenerateImage", `{"model":"sandbox-image","prompt":"A red square","size":"64x64"}`, `"generationId"`},
		{"CountTokens", `{"request":` + hello + `}`, `"inputTokens"`},
		{"ListModels", `{}`, `"sandbox-text"`},
		{"GetModel", `{"name":"sandbox-image"}`, `"sandbox-image"`},
	} {
		messages, handler := call(t, gateway.GRPC, "genway.v1.Generation/"+c.method, c.body, internal())
		if handler.Status.Code() != codes.OK || len(messages) != 1 || !strings.Contains(messages[0], c.says) {
			t.Errorf("%s: %v %v", c.method, handler.Status, messages)
		}
	}
}

func TestDirectCallersNeedTheInternalGroup(t *testing.T) {
	for _, c := range []struct {
		name    string
		headers []string
		code    codes.Code
		says    string
	}{
		{"no key", nil, codes.Unauthenticated, "no API key"},
		{"wrong key", []string{"authorization: Bearer gwk_wrong"}, codes.Unauthenticated, "invalid API key"},
		{"another group", []string{"authorization: Bearer " + gateway.Keys["chat"]}, codes.PermissionDenied, "group internal"},
		{"claims to be an edge", []string{"authorization: Bearer " + gateway.Keys["chat"], "genway-protocol: chat_completions"}, codes.PermissionDenied, "group internal"},
		{"guesses the secret", []string{"authorization: Bearer " + gateway.Keys["chat"], "genway-protocol: chat_completions", "genway-edge-secret: secret"}, codes.PermissionDenied, "group internal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, handler := call(t, gateway.GRPC, "genway.v1.Generation/GenerateText", hello, c.headers...)
			if handler.Status.Code() != c.code || !strings.Contains(handler.Status.Message(), c.says) || len(handler.Status.Details()) == 0 {
				t.Errorf("%v", handler.Status)
			}
		})
	}
}

func TestBadRequestsNameTheMember(t *testing.T) {
	for _, c := range []struct{ method, body, param string }{
		{"GenerateText", `{"messages":[{"role":"ROLE_USER","parts":[{"text":{"text":"a"}}]}]}`, "model"},
		{"GenerateText", `{"model":"sandbox-text"}`, "messages"},
		{"GenerateText", `{"model":"sandbox-text","messages":[{"parts":[{"text":{"text":"a"}}]}]}`, "messages[0].role"},
		{"GenerateText", `{"model":"sandbox-text","messages":[{"role":"ROLE_USER","parts":[{}]}]}`, "messages[0].parts[0].kind"},
		{"StreamGenerateImage", `{"model":"sandbox-image"}`, "prompt"},
		{"CountTokens", `{}`, "request.model"},
		{"CountTokens", `{"request":{"model":"sandbox-text"}}`, "request.messages"},
		{"CountTokens", `{"request":{"model":"sandbox-text","messages":[{"parts":[]}]}}`, "request.messages[0].role"},
		{"GetModel", `{}`, "name"},
	} {
		_, handler := call(t, gateway.GRPC, "genway.v1.Generation/"+c.method, c.body, internal())
		named := ""
		for _, d := range handler.Status.Details() {
			if request, ok := d.(*errdetails.BadRequest); ok {
				named = request.GetFieldViolations()[0].GetField()
			}
		}
		if handler.Status.Code() != codes.InvalidArgument || !strings.HasSuffix(handler.Status.Message(), ": "+c.param) || named != c.param {
			t.Errorf("%s %s: %v", c.method, c.param, handler.Status)
		}
	}
}

// The same calls through the core's unix socket, in the two-process form.
func TestTwoProcesses(t *testing.T) {
	two := server.Start(t, server.Options{TwoProcess: true})
	messages, handler := call(t, two.GRPC, "genway.v1.Generation/GenerateText", hello, "authorization: Bearer "+two.Keys["internal"])
	if handler.Status.Code() != codes.OK || len(messages) != 1 {
		t.Errorf("%v %v", handler.Status, messages)
	}
}
