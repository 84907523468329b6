package core

import (
	"strconv"
	"strings"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/ledger"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens"
	"github.com/genway/genway/internal/tokens/content"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
)

// MaxUsageTokens is the largest plausible number of tokens of one class in one request: ten
// times the largest context of any model. Genway knows no model's context, and an
// upstream's own tools may read it several times.
const MaxUsageTokens = 100_000_000

// plausible reports whether all figures of an upstream's usage can be true. The totals are
// ignored, since no charge depends on them.
func plausible(u *genwayv1.Usage) bool {
	for _, n := range [...]int64{
		u.GetInputTokens(), u.GetOutputTokens(), u.GetCacheReadInputTokens(), u.GetCacheWriteInputTokens(),
		u.GetCacheWrite_5MInputTokens(), u.GetCacheWrite_1HInputTokens(), u.GetThinkingTokens(),
		u.GetInputTextTokens(), u.GetInputImageTokens(), u.GetInputAudioTokens(),
		u.GetOutputTextTokens(), u.GetOutputImageTokens(), u.GetOutputAudioTokens(), u.GetToolUseInputTokens(),
	} {
		if n < 0 || n > MaxUsageTokens {
			return false
		}
	}
	return true
}

// implausible names the loss of figures that are kept from callers whose answer is
// translated.
func implausible() *genwayv1.Loss {
	return &genwayv1.Loss{Member: "usage", Reason: "the upstream's figures cannot be true"}
}

// meter is where usage enters: the ledger, limits and metrics have what it leaves in the
// result. Figures of the upstream's that cannot be true, and those that a complete answer
// lacks, are replaced by a count of the request and of the answer. A complete answer lacks
// its output when it has text and the upstream reports 0, and its input when neither is
// reported: an engine with a cache reports an input of 0 and means it.
func (s *Service) meter(a *admission, r *ledger.Result) {
	switch {
	case !plausible(a.record.Usage):
		r.UsageSource = ledger.Rejected
	case a.complete && r.Usage.Output == 0:
		r.UsageSource = ledger.Estimated
	default:
		return
	}
	usage, ok := ledger.Usage{}, false
	switch req := a.req.(type) {
	case *deferred.Request:
		usage, ok = a.textUsage(req, r)
	case *genwayv1.GenerateImageRequest:
		// Images that have a price are counted: the upstream need not say more.
		p, priced := s.price(a, r.Model)
		if ok = r.UsageSource == ledger.Rejected || r.Usage.Input == 0 && (!priced || p.MostImages(1) == 0); ok {
			usage = drawingUsage(req, a.drawn)
		}
	}
	if !ok {
		r.UsageSource = ledger.Reported
		return
	}
	usage.Images = r.Usage.Images
	r.Usage = usage
	metered(a.record, r)
}

// textUsage counts a request and its answer; false where the upstream's report is complete.
// An empty answer may have used nothing, if its upstream reports that.
func (a *admission) textUsage(req *deferred.Request, r *ledger.Result) (usage ledger.Usage, ok bool) {
	output := a.answerTokens()
	if r.UsageSource == ledger.Estimated && output == 0 && a.record.Usage != nil {
		return usage, false
	}
	usage = r.Usage
	if r.UsageSource == ledger.Rejected || usage.Input == 0 {
		usage = inputUsage(req)
	}
	usage.Output = output
	return usage, true
}

// inputUsage counts a request. A request that cannot be decoded is estimated by its size.
func inputUsage(req *deferred.Request) ledger.Usage {
	whole, err := req.Whole()
	if err != nil {
		return ledger.Usage{Input: inputOf(req)}
	}
	in := content.Of(whole)
	return ledger.Usage{Input: in.Total(), InputImage: int64(in.Image), InputAudio: int64(in.Audio)}
}

// drawingUsage counts a request for images, and those that were made.
func drawingUsage(req *genwayv1.GenerateImageRequest, made drawn) ledger.Usage {
	var given int64
	for range req.GetImages() {
		given += mediaTokens
	}
	width, height, _ := strings.Cut(made.size, "x")
	w, errW := strconv.Atoi(width)
	h, errH := strconv.Atoi(height)
	if errW != nil || errH != nil {
		w, h = 1024, 1024 // what vendors draw unless asked otherwise
	}
	out := amount.Times(int64(made.images), int64(tokens.Drawing(w, h, made.quality)))
	return ledger.Usage{Input: amount.Sum(int64(tokens.Count(req.GetPrompt())), given), InputImage: given, Output: out, OutputImage: out}
}

// answerTokens counts what was seen of the answer.
func (a *admission) answerTokens() int64 {
	resp := a.answer
	if resp == nil {
		return a.sample.tokens(a.record.Flow)
	}
	if len(resp.GetCandidates()) > 0 || len(resp.GetWire().GetJson()) == 0 {
		return content.Answer(resp)
	}
	wire := resp.GetWire()
	if c := protocol.Of(wire.GetProtocol()).Codec; c != nil {
		if whole, err := c.DecodeResponse(wire.GetJson()); err == nil {
			return content.Answer(whole)
		}
	}
	return int64(tokens.Count(string(wire.GetJson())))
}

// metered records the figures that replace the upstream's, for the log.
func metered(record *call.Record, r *ledger.Result) {
	record.UsageSource, record.RejectedUsage = string(r.UsageSource), record.Usage
	record.Usage = &genwayv1.Usage{InputTokens: r.Usage.Input, OutputTokens: r.Usage.Output}
}
