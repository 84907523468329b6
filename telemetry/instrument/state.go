package instrument

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// The metrics of a state, which is read when metrics are collected.
var (
	breakerState = Definition{Name: "genway.breaker_state", Kind: Gauge, Side: OfCore,
		Help: "State of an upstream's circuit breaker: 0 closed, 1 half-open, 2 open.", Labels: []string{"upstream"}}
	ledgerQueue = Definition{Name: "genway.ledger_queue", Kind: Gauge, Unit: "{entry}", Side: OfCore,
		Help: "Entries of the ledger that wait to be written."}
	ledgerLag = Definition{Name: "genway.ledger_lag", Kind: Gauge, Unit: "s", Side: OfCore,
		Help: "How long the ledger could not be written; 0 while it can."}
	limitsDegraded = Definition{Name: "genway.limits_degraded", Kind: Gauge, Side: OfCore,
		Help: "1 while the shared store of limits does not answer, else 0."}
	storeDamaged = Definition{Name: "genway.store_damaged", Kind: Gauge, Side: OfCore,
		Help: "1 when damage of the store was found, else 0."}
	answerBytes = Definition{Name: "genway.upstream_answer", Kind: Gauge, Unit: "By", Side: OfCore,
		Help: "Bytes that answers of upstreams hold of --answer-memory."}
	budgetFill = Definition{Name: "genway.budget_fill", Kind: Gauge, Unit: "1", Side: OfCore,
		Help: "The part that is spent of the fullest budget, 0 to 1, of the keys and owners that have made requests at this core in the period. While the shared store of limits does not answer, it is what the store answered last and what this core's requests have cost since.", Labels: []string{"scope", "period"}}
	certificateExpiry = Definition{Name: "genway.certificate_expiry_timestamp", Kind: Gauge, Unit: "s", Side: OfBoth,
		Help: "When the first certificate of a group ends, in seconds since 1970.", Labels: []string{"group"}}
	configInfo = Definition{Name: "genway.config_info", Kind: Gauge, Side: OfCore,
		Help: "1, with the hash of the configuration that is in force.", Labels: []string{"hash"}}
	coreReady = Definition{Name: "genway.core_ready", Kind: Gauge, Side: OfEdge,
		Help: "1 while the edge has a core that serves, else 0."}
	logLinesLost = Definition{Name: "genway.log_lines_lost", Kind: Counter, Unit: "{line}", Side: OfBoth,
		Help: "Lines of the log that could not be written: its disk is full, or nothing reads it."}
	ready = Definition{Name: "genway.ready", Kind: Gauge, Side: OfBoth,
		Help: "1 while the process is ready, else 0."}
)

// Definitions are all metrics of Genway, also with the older GenAI names.
func Definitions() []Definition {
	return []Definition{
		requests, requestDuration, ownDuration, admissionDuration, tokensUsed, estimatedUsage, costDollars, limitRefusals, refusals,
		attempts, fallbacks, upstreamCalls, losses, reasoningMismatches, activeCalls, shedRequests, connectionsRefused, setAside, storeErrors, captures, reloads,
		breakerState, ledgerQueue, ledgerLag, limitsDegraded, storeDamaged, answerBytes, budgetFill, certificateExpiry, configInfo, coreReady, ready, logLinesLost,
		spansProcessed, spansExported,
		streamEvents, heartbeats, streamsCut,
		inferenceDuration, inferenceFirst, inferenceChunk, usageInput, usageOutput, usageCacheRead, usageCacheWrite, usageReasoning, operationInput, operationOutput,
		httpServerDuration, httpServerActive, httpClientDuration, rpcServerDuration, rpcClientDuration,
		olderDuration, olderFirst, olderChunk, olderUsage,
	}
}

// State returns the figures of a process when metrics are collected. Functions that are nil
// belong to what the process does not have. They must return at once.
type State struct {
	// Breakers calls yield with each upstream and the state of its breaker: 0 closed, 1
	// half-open, 2 open.
	Breakers       func(yield func(upstream string, state int))
	LedgerQueue    func() int
	LedgerLag      func() time.Duration
	LimitsDegraded func() bool
	StoreDamaged   func() bool
	AnswerBytes    func() int64
	// Budgets calls yield with the part that is spent of the fullest budget of each scope
	// and period.
	Budgets func(yield func(scope, period string, fill float64))
	// Certificates calls yield with each group of certificates and when the first of it ends.
	Certificates func(yield func(group string, end time.Time))
	ConfigHash   func() string
	CoreReady    func() bool
	Ready        func() bool
	// LogLinesLost is how many lines of the log could not be written.
	LogLinesLost func() int64
}

// Watch has the figures read whenever metrics are collected, until the provider ends. The
// result stops it.
func (s State) Watch(meter metric.Meter) (stop func() error, err error) {
	f := &gauges{meter: meter}
	var observe []func(metric.Observer)
	var instruments []metric.Observable
	add := func(d Definition, read func(o metric.Observer, g metric.Float64ObservableGauge)) {
		g := f.of(d)
		instruments = append(instruments, g)
		observe = append(observe, func(o metric.Observer) { read(o, g) })
	}
	figure := func(d Definition, value func() float64) {
		add(d, func(o metric.Observer, g metric.Float64ObservableGauge) { o.ObserveFloat64(g, value()) })
	}
	flag := func(d Definition, value func() bool) {
		if value != nil {
			figure(d, func() float64 {
				if value() {
					return 1
				}
				return 0
			})
		}
	}
	labelled := func(label, value string) metric.ObserveOption {
		return metric.WithAttributes(attribute.String(label, value))
	}
	if s.Breakers != nil {
		add(breakerState, func(o metric.Observer, g metric.Float64ObservableGauge) {
			s.Breakers(func(upstream string, state int) { o.ObserveFloat64(g, float64(state), labelled("upstream", upstream)) })
		})
	}
	if s.LedgerQueue != nil {
		figure(ledgerQueue, func() float64 { return float64(s.LedgerQueue()) })
	}
	if s.LedgerLag != nil {
		figure(ledgerLag, func() float64 { return s.LedgerLag().Seconds() })
	}
	if s.AnswerBytes != nil {
		figure(answerBytes, func() float64 { return float64(s.AnswerBytes()) })
	}
	if s.Budgets != nil {
		add(budgetFill, func(o metric.Observer, g metric.Float64ObservableGauge) {
			s.Budgets(func(scope, period string, fill float64) {
				o.ObserveFloat64(g, fill, metric.WithAttributes(attribute.String("scope", scope), attribute.String("period", period)))
			})
		})
	}
	if s.Certificates != nil {
		add(certificateExpiry, func(o metric.Observer, g metric.Float64ObservableGauge) {
			s.Certificates(func(group string, end time.Time) { o.ObserveFloat64(g, float64(end.Unix()), labelled("group", group)) })
		})
	}
	if s.ConfigHash != nil {
		add(configInfo, func(o metric.Observer, g metric.Float64ObservableGauge) {
			o.ObserveFloat64(g, 1, labelled("hash", s.ConfigHash()))
		})
	}
	if s.LogLinesLost != nil {
		lost := f.counter(logLinesLost)
		instruments = append(instruments, lost)
		observe = append(observe, func(o metric.Observer) { o.ObserveInt64(lost, s.LogLinesLost()) })
	}
	flag(limitsDegraded, s.LimitsDegraded)
	flag(storeDamaged, s.StoreDamaged)
	flag(coreReady, s.CoreReady)
	flag(ready, s.Ready)
	if f.err != nil {
		return nil, f.err
	}
	registration, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, each := range observe {
			each(o)
		}
		return nil
	}, instruments...)
	if err != nil {
		return nil, err
	}
	return registration.Unregister, nil
}
