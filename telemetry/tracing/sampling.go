package tracing

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"go.opentelemetry.io/otel/trace"
)

// Sampler decides at the beginning of a request whether its spans are exported. The zero
// value exports none.
type Sampler struct {
	// Parent has the decision of the caller hold where there is one.
	Parent bool
	// Ratio is the part of the requests that are exported, 0 to 1, of those without a
	// decision of the caller's.
	Ratio float64
}

// SamplerOf reads the values of OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG. Empty is
// parentbased_always_on, OpenTelemetry's default.
func SamplerOf(name, argument string) (Sampler, error) {
	known := map[string]Sampler{
		"": {true, 1}, "always_on": {false, 1}, "always_off": {false, 0}, "parentbased_always_on": {true, 1}, "parentbased_always_off": {true, 0},
		"traceidratio": {false, 1}, "parentbased_traceidratio": {true, 1},
	}
	s, ok := known[name]
	if !ok {
		return Sampler{}, fmt.Errorf("OTEL_TRACES_SAMPLER: %q is not supported; use always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off or parentbased_traceidratio", name)
	}
	if name != "traceidratio" && name != "parentbased_traceidratio" || argument == "" {
		return s, nil
	}
	ratio, err := strconv.ParseFloat(argument, 64)
	if err != nil || !(ratio >= 0 && ratio <= 1) {
		return Sampler{}, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG: expected a number from 0 to 1, got %q", argument)
	}
	s.Ratio = ratio
	return s, nil
}

// sampled decides for a request of a trace. The ratio goes by the trace's identifier, as in
// OpenTelemetry's TraceIdRatioBased: all programs on the way decide alike.
func (s Sampler) sampled(parent trace.SpanContext, id trace.TraceID) bool {
	switch {
	case s.Parent && parent.IsValid():
		return parent.IsSampled()
	case s.Ratio >= 1:
		return true
	case s.Ratio <= 0:
		return false
	}
	return binary.BigEndian.Uint64(id[8:])>>1 < uint64(s.Ratio*(1<<63)) && !math.IsNaN(s.Ratio)
}
