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
	line := wideline.New(handler, end, level, "call")
	line.Text("request_id", r.ID)
	line.Text("method", r.RPC())
	line.Text("protocol", protocolName(r.Caller.Protocol))
	line.Text("key", r.Caller.KeyID)
	line.Text("owner", r.Caller.Owner)
	line.Text("asked_model", clipped(r.AskedModel))
	line.Text("model", r.Model)
	line.Text("route", r.Route)
	line.Text("upstream", r.Upstream)
	line.Int("attempts", r.Calls)
	line.Text("outcome", outcomeOf(r, f))
	line.Text("status", codeName(err))
	line.Seconds("duration_seconds", took)
	line.Seconds("own_seconds", r.Own(took))
	line.Int("input_tokens", r.Usage.GetInputTokens())
	line.Int("output_tokens", r.Usage.GetOutputTokens())
	line.Int("cache_read_tokens", r.Usage.GetCacheReadInputTokens())
	line.Int("cache_write_tokens", r.Usage.GetCacheWriteInputTokens())
	line.Int("thinking_tokens", r.Usage.GetThinkingTokens())
	if r.Span.IsValid() {
		line.Text("trace_id", r.TraceID())
	}
	if n := len(r.Attempts); n > 0 {
		line.Text("upstream_protocol", r.Attempts[n-1].Provider)
		if n > 1 {
			line.Int("targets", int64(n))
			line.Text("fallback_reason", r.Attempts[n-2].Reason)
		}
	}
	if r.FirstEvent > 0 {
		line.Seconds("first_event_seconds", r.FirstEvent)
	}
	if r.Cost > 0 {
		line.Float("cost_dollars", float64(r.Cost)/1e9)
	}
	if members := lostMembers(r); members != "" {
		line.Text("losses", members)
	}
	if r.UsageSource != string(ledger.Reported) {
		line.Text("usage_source", r.UsageSource)
	}
	if r.UsageSource == string(ledger.Rejected) {
		line.Int("rejected_input_tokens", r.RejectedUsage.GetInputTokens())
		line.Int("rejected_output_tokens", r.RejectedUsage.GetOutputTokens())
	}
	if r.ClientID != "" {
		line.Text("client_request_id", r.ClientID)
	}
	if f != nil {
		line.Text("kind", fault.Name(f.Kind))
		line.Text("reason", f.Reason)
	}
	if grave && f.Cause != nil {
		line.Text("cause", f.Cause.Error())
	}
	line.Write(ctx)
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
