package core

import (
	"context"
	"log/slog"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/telemetry/wideline"
)

// outcomeRefused is the outcome of a call that was not admitted; all others have that of the
// ledger.
const outcomeRefused = "refused"

// logCall writes the call's one line. Its fields are documented in docs/observability.md: they
// keep their names. It never holds a prompt, an answer or a key.
func logCall(ctx context.Context, log *slog.Logger, r *call.Record, end time.Time, err error) {
	f := fault.From(err)
	if f != nil && r.Usage == nil {
		r.Usage = f.Usage
	}
	level, grave := slog.LevelInfo, f != nil && f.HTTPStatus() >= 500
	if grave {
		level = slog.LevelWarn
	}
	handler := log.Handler()
	if !handler.Enabled(ctx, level) {
		return
	}
	took := end.Sub(r.Start)
	fields := append(wideline.Take(),
		slog.String("request_id", r.ID),
		slog.String("method", r.RPC()),
		slog.String("protocol", protocolName(r.Caller.Protocol)),
		slog.String("key", r.Caller.KeyID),
		slog.String("owner", r.Caller.Owner),
		slog.String("asked_model", clipped(r.AskedModel)),
		slog.String("model", r.Model),
		slog.String("route", r.Route),
		slog.String("upstream", r.Upstream),
		slog.Int64("attempts", r.Calls),
		slog.String("outcome", outcomeOf(r, f)),
		slog.String("status", statusWord(err)),
		slog.Float64("duration_seconds", seconds(took)),
		slog.Float64("own_seconds", seconds(r.Own(took))),
		slog.Int64("input_tokens", r.Usage.GetInputTokens()),
		slog.Int64("output_tokens", r.Usage.GetOutputTokens()),
		slog.Int64("cache_read_tokens", r.Usage.GetCacheReadInputTokens()),
		slog.Int64("cache_write_tokens", r.Usage.GetCacheWriteInputTokens()+r.Usage.GetCacheWrite_1HInputTokens()),
		slog.Int64("thinking_tokens", r.Usage.GetThinkingTokens()),
	)
	if r.Span.IsValid() {
		fields = append(fields, slog.String("trace_id", r.TraceID()))
	}
	if n := len(r.Attempts); n > 0 {
		fields = append(fields, slog.String("upstream_protocol", r.Attempts[n-1].Provider))
		if n > 1 {
			fields = append(fields, slog.Int("targets", n), slog.String("fallback_reason", r.Attempts[n-2].Reason))
		}
	}
	if r.FirstEvent > 0 {
		fields = append(fields, slog.Float64("first_event_seconds", seconds(r.FirstEvent)))
	}
	if r.Cost > 0 {
		fields = append(fields, slog.Float64("cost_dollars", float64(r.Cost)/1e9))
	}
	if len(r.Losses) > 0 {
		fields = append(fields, slog.String("losses", lostMembers(r)))
	}
	if r.UsageSource != string(ledger.Reported) {
		fields = append(fields, slog.String("usage_source", r.UsageSource))
	}
	if r.UsageSource == string(ledger.Rejected) {
		fields = append(fields, slog.Int64("told_input_tokens", r.RejectedUsage.GetInputTokens()), slog.Int64("told_output_tokens", r.RejectedUsage.GetOutputTokens()))
	}
	if r.ClientID != "" {
		fields = append(fields, slog.String("client_request_id", r.ClientID))
	}
	if f != nil {
		fields = append(fields, slog.String("kind", fault.Name(f.Kind)), slog.String("reason", f.Reason))
	}
	if grave && f.Cause != nil {
		fields = append(fields, slog.String("cause", f.Cause.Error()))
	}
	wideline.Write(ctx, handler, slog.NewRecord(end, level, "call", 0), fields)
}

// outcomeOf gives the outcome of a call that failed with f, or succeeded.
func outcomeOf(r *call.Record, f *fault.Error) string {
	switch {
	case r.Outcome != "":
		return r.Outcome
	case f != nil:
		return outcomeRefused
	}
	return string(ledger.OK)
}

func statusWord(err error) string {
	if err == nil {
		return "OK"
	}
	return codeOf(err)
}

// seconds is a duration as logs have it: in seconds, to the microsecond.
func seconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e6 }
