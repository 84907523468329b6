package core

import (
	"context"
	"log/slog"
	"path"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/telemetry/wideline"
)

// outcomeRefused is the outcome of a call that was not admitted; all others have that of the
// ledger.
const outcomeRefused = "refused"

// log writes the call's one line. Its fields are documented in docs/observability.md: they
// keep their names. It never holds a prompt, an answer or a key.
func (o *outcome) log(ctx context.Context, log *slog.Logger, end time.Time, err error) {
	f := fault.From(err)
	if f != nil && o.usage == nil {
		o.usage = f.Usage
	}
	level, grave := slog.LevelInfo, f != nil && f.HTTPStatus() >= 500
	if grave {
		level = slog.LevelWarn
	}
	handler := log.Handler()
	if !handler.Enabled(ctx, level) {
		return
	}
	took := end.Sub(o.start)
	fields := append(wideline.Take(),
		slog.String("request_id", o.id),
		slog.String("method", path.Base(o.method)),
		slog.String("protocol", protocolName(o.caller.Protocol)),
		slog.String("key", o.caller.KeyID),
		slog.String("owner", o.caller.Owner),
		slog.String("asked_model", clipped(o.asked)),
		slog.String("model", o.model),
		slog.String("route", o.served.Route),
		slog.String("upstream", o.served.Name),
		slog.Int64("attempts", o.served.Calls),
		slog.String("outcome", o.word(f)),
		slog.String("status", statusWord(err)),
		slog.Float64("duration_seconds", seconds(took)),
		slog.Float64("own_seconds", seconds(o.own(took))),
		slog.Int64("input_tokens", o.usage.GetInputTokens()),
		slog.Int64("output_tokens", o.usage.GetOutputTokens()),
		slog.Int64("cache_read_tokens", o.usage.GetCacheReadInputTokens()),
		slog.Int64("cache_write_tokens", o.usage.GetCacheWriteInputTokens()+o.usage.GetCacheWrite_1HInputTokens()),
		slog.Int64("thinking_tokens", o.usage.GetThinkingTokens()),
	)
	if o.span.IsValid() {
		fields = append(fields, slog.String("trace_id", o.traceID()))
	}
	if n := len(o.served.Attempts); n > 0 {
		fields = append(fields, slog.String("upstream_protocol", o.served.Attempts[n-1].Provider))
		if n > 1 {
			fields = append(fields, slog.Int("targets", n), slog.String("fallback_reason", o.served.Attempts[n-2].Reason))
		}
	}
	if o.first > 0 {
		fields = append(fields, slog.Float64("first_event_seconds", seconds(o.first)))
	}
	if o.settled.cost > 0 {
		fields = append(fields, slog.Float64("cost_dollars", float64(o.settled.cost)/1e9))
	}
	if len(o.losses) > 0 {
		fields = append(fields, slog.String("losses", o.lostMembers()))
	}
	if o.source != ledger.Told {
		fields = append(fields, slog.String("usage_source", string(o.source)))
	}
	if o.source == ledger.Rejected {
		fields = append(fields, slog.Int64("told_input_tokens", o.told.GetInputTokens()), slog.Int64("told_output_tokens", o.told.GetOutputTokens()))
	}
	if o.clientID != "" {
		fields = append(fields, slog.String("client_request_id", o.clientID))
	}
	if f != nil {
		fields = append(fields, slog.String("kind", fault.Name(f.Kind)), slog.String("reason", f.Reason))
	}
	if grave && f.Cause != nil {
		fields = append(fields, slog.String("cause", f.Cause.Error()))
	}
	wideline.Write(ctx, handler, slog.NewRecord(end, level, "call", 0), fields)
}

// word is the outcome of the call.
func (o *outcome) word(f *fault.Error) string {
	switch {
	case o.settled.outcome != "":
		return string(o.settled.outcome)
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
