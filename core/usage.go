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

// plausible reports whether all figures of an upstream's usage can be true: none is below 0 or beyond all contexts, and no part
// is more than its whole. The total is ignored, since no charge depends on it.
func plausible(u *genwayv1.Usage) bool {
	if len(u.GetModels()) >= ledger.MaxCharges || len(u.GetTools()) >= ledger.MaxCharges {
		return false
	}
	for _, m := range u.GetModels() {
		if !plausibleTotals(m.GetUsage()) {
			return false
		}
	}
	for _, t := range u.GetTools() {
		if !plausibleFigure(t.GetCalls()) {
			return false
		}
	}
	return plausibleTotals(u)
}

func plausibleFigure(n int64) bool { return n >= 0 && n <= MaxUsageTokens }

func plausibleTotals(u *genwayv1.Usage) bool {
	for _, n := range [...]int64{u.GetInputTextTokens(), u.GetOutputTextTokens(), u.GetToolUseInputTokens()} {
		if !plausibleFigure(n) {
			return false
		}
	}
	for _, w := range u.GetCacheWrites() {
		if !plausibleFigure(w.GetTokens()) {
			return false
		}
	}
	used := usageOf(u)
	for _, k := range ledger.Kinds {
		if !plausibleFigure(*used.At(k)) {
			return false
		}
	}
	return used.Check() == nil
}

// implausible names the loss of figures that are kept from callers whose answer is
// translated.
func implausible() *genwayv1.Loss {
	return &genwayv1.Loss{Member: "usage", Reason: "the upstream's figures cannot be true"}
}

// meter is where usage enters: the ledger, limits and metrics have what it leaves in the
// result. It counts the request and the answer itself where the upstream's figures cannot be true, and
// replaces what they lack:
//
//   - A complete answer lacks its output when it has text and the upstream reports 0, and its input when
//     neither is reported: an engine with a cache reports an input of 0 and means it.
//   - An answer that broke off before the upstream reported its final usage lacks the input unless one was
//     reported, be it 0, and what was seen of the output beyond that which was reported. It costs
//     nothing when nothing of it was seen and the upstream cannot charge for it.
func (s *Service) meter(a *admission, r *ledger.Result) {
	switch {
	case !plausible(a.record.Usage):
		r.UsageSource = ledger.Rejected
		a.usage = &genwayv1.Usage{ServiceTier: a.usage.GetServiceTier(), Speed: a.usage.GetSpeed(), InferenceGeo: a.usage.GetInferenceGeo()}
	case a.complete && r.Usage.Output > 0, a.reported, !a.complete && !a.record.Accepted && a.flow == 0 && a.drawn.images == 0:
		return
	default:
		r.UsageSource = ledger.Estimated
	}
	usage, ok := r.Usage, false
	switch req := a.req.(type) {
	case *deferred.Request:
		usage, ok = a.textUsage(req, r)
	case *genwayv1.GenerateImageRequest:
		// Images that have a price are counted: the upstream need not say more.
		p, priced := s.price(a, r.Model)
		unknown := r.Usage.Input == 0 && (a.complete || a.record.Usage == nil) && (!priced || p.MostImages(1) == 0)
		if ok = r.UsageSource == ledger.Rejected || unknown; ok {
			usage = drawingUsage(req, a.drawn)
			usage.Images = r.Usage.Images
		}
	}
	if !ok || r.UsageSource == ledger.Estimated && usage == r.Usage {
		r.UsageSource = ledger.Reported
		return
	}
	r.Usage = usage
	metered(a.record, r)
}

// textUsage counts a request and its answer; false where the upstream's report is complete. An empty
// answer may have used nothing, if its upstream reports that.
func (a *admission) textUsage(req *deferred.Request, r *ledger.Result) (usage ledger.Usage, ok bool) {
	usage = r.Usage
	if r.UsageSource == ledger.Estimated && !a.complete {
		if a.record.Usage == nil {
			usage = a.inputUsage(req)
		}
		usage.Output = max(usage.Output, int64(a.flow/bytesPerToken))
		return usage, true
	}
	output := a.answerTokens()
	switch {
	case r.UsageSource == ledger.Rejected:
		usage = a.inputUsage(req)
	case output == 0 && a.record.Usage != nil:
		return usage, false
	case usage.Input == 0:
		usage = a.inputUsage(req)
	}
	usage.Output = output
	return usage, true
}

// maxCounted is how many bytes of a request's texts are counted exactly. Callers who leave choose how often
// that happens, and the worst texts take a second a megabyte.
const maxCounted = 64 << 10

// inputUsage counts a request, once. A request that cannot be decoded is estimated by its size.
func (a *admission) inputUsage(req *deferred.Request) ledger.Usage {
	if a.counted != nil {
		return *a.counted
	}
	a.counted = &ledger.Usage{}
	if whole, err := req.Whole(); err == nil {
		in := content.Estimate(whole, maxCounted)
		a.counted.Input, a.counted.InputImage, a.counted.InputAudio = in.Total(), int64(in.Image), int64(in.Audio)
	} else {
		a.counted.Input = inputOf(req)
	}
	return *a.counted
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
