package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// maxMessage is the size in bytes of the largest message that is taken. Images exceed gRPC's default of 4 MiB.
const maxMessage = 128 << 20

// kit is the server that is checked, and what is known of it.
type kit struct {
	client  genwayv1.GenerationClient
	health  grpc_health_v1.HealthClient
	key     string
	timeout time.Duration
	// The models that are asked. Those that are empty are found by ListModels.
	textModel, imageModel string
}

// check is one of the contract's promises. It returns nil if the server keeps it, a skipError if
// the server may do without, and else what is wrong.
type check struct {
	name string
	run  func(*kit, context.Context) error
}

// checks are all, in the order in which they run. The first ones find the models.
var checks = []check{
	{"health", (*kit).isServing},
	{"models/list", (*kit).listsModels},
	{"models/pages", (*kit).pagesModels},
	{"models/token", (*kit).refusesForeignToken},
	{"models/get", (*kit).getsModels},
	{"text/unary", (*kit).generatesText},
	{"text/stream", (*kit).streamsText},
	{"text/same", (*kit).streamsTheSameText},
	{"text/usage", (*kit).reportsUsage},
	{"text/turns", (*kit).takesTurns},
	{"text/max_output_tokens", (*kit).boundsOutput},
	{"tools/call", (*kit).callsTool},
	{"tools/stream", (*kit).streamsCall},
	{"tools/result", (*kit).takesResult},
	{"tools/none", (*kit).callsNone},
	{"images/unary", (*kit).generatesImages},
	{"images/stream", (*kit).streamsImages},
	{"count", (*kit).countsTokens},
	{"errors/unknown model", (*kit).refusesUnknownModel},
	{"errors/no model", (*kit).refusesNoModel},
	{"errors/no messages", (*kit).refusesNoMessages},
	{"errors/no prompt", (*kit).refusesNoPrompt},
	{"errors/extra_json", (*kit).refusesExtraJSON},
	{"errors/no key", (*kit).refusesNoKey},
	{"errors/wrong key", (*kit).refusesWrongKey},
	{"calls/unknown fields", (*kit).ignoresUnknownFields},
	{"calls/large", (*kit).takesLargeMessages},
	{"calls/gzip", (*kit).takesGzip},
	{"calls/cancel", (*kit).survivesCancel},
	{"calls/deadline", (*kit).survivesDeadline},
}

// skipError says why a check does not apply to the server.
type skipError string

func (s skipError) Error() string { return string(s) }

// run runs all checks and prints a line for each. The error says how many failed.
func (k *kit) run(ctx context.Context, out io.Writer) error {
	failed, passed, left := 0, 0, 0
	for _, c := range checks {
		err := c.run(k, ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if failed+passed+left == 0 && status.Code(err) == codes.Unavailable {
			return fmt.Errorf("the server is not reachable: %w", err)
		}
		line := "ok    " + c.name
		switch reason := (skipError)(""); {
		case err == nil:
			passed++
		case errors.As(err, &reason):
			left++
			line = "skip  " + c.name + ": " + string(reason)
		default:
			failed++
			line = "FAIL  " + c.name + ": " + err.Error()
		}
		if _, err := fmt.Fprintln(out, strings.ReplaceAll(line, "\n", " ")); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(out, "%d checks: %d ok, %d failed, %d skipped\n", len(checks), passed, failed, left); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(checks))
	}
	return nil
}

// call returns the context of a call: the deadline and the key.
func (k *kit) call(ctx context.Context) (context.Context, context.CancelFunc) {
	if k.key != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+k.key)
	}
	return context.WithTimeout(ctx, k.timeout)
}

// isServing asks the health service, which a server may do without.
func (k *kit) isServing(ctx context.Context) error {
	ctx, cancel := k.call(ctx)
	defer cancel()
	answer, err := k.health.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: genwayv1.Generation_ServiceDesc.ServiceName})
	if status.Code(err) == codes.Unimplemented {
		return skipError("the server has no grpc.health.v1.Health")
	}
	if err != nil {
		return err
	}
	if answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("genway.v1.Generation is %s, not SERVING", answer.GetStatus())
	}
	return nil
}

// reasons are stable words that programs compare.
var reasons = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

// refused checks that a call failed with the code, and with an ErrorDetail of the kind. If param is not empty,
// it is the member at fault, or has it.
func refused(err error, code codes.Code, kind genwayv1.ErrorKind, param string) error {
	if err == nil {
		return fmt.Errorf("the call succeeds; it must fail with %s", code)
	}
	s, told := status.FromError(err)
	if !told {
		return err
	}
	if s.Code() != code {
		return fmt.Errorf("the call fails with %s (%q), not %s", s.Code(), s.Message(), code)
	}
	var detail *genwayv1.ErrorDetail
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *genwayv1.ErrorDetail:
			detail = d
		case error:
			return fmt.Errorf("a detail of the status cannot be read: %w", d)
		}
	}
	switch {
	case detail == nil:
		return fmt.Errorf("%s has no genway.v1.ErrorDetail in its details", code)
	case detail.GetKind() != kind:
		return fmt.Errorf("the kind is %s, not %s", detail.GetKind(), kind)
	case !reasons.MatchString(detail.GetReason()):
		return fmt.Errorf("the reason %q is not in UPPER_SNAKE_CASE", detail.GetReason())
	case detail.GetMessage() == "":
		return errors.New("the detail has no message")
	case detail.GetRetryAfter().AsDuration() < 0:
		return fmt.Errorf("retry_after is %s", detail.GetRetryAfter().AsDuration())
	case param != "" && detail.GetParam() != param && !strings.HasPrefix(detail.GetParam(), param+"."):
		return fmt.Errorf("the param is %q, not %q", detail.GetParam(), param)
	}
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetReason() != detail.GetReason() {
			return fmt.Errorf("the reason of ErrorInfo is %q, and that of ErrorDetail %q", info.GetReason(), detail.GetReason())
		}
	}
	return nil
}
