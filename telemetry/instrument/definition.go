package instrument

import (
	"fmt"

	"go.opentelemetry.io/otel/metric"
)

// Kind is the kind of an instrument.
type Kind string

// The kinds.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	UpDown    Kind = "up-down counter"
	Histogram Kind = "histogram"
)

// Side is the program that records a metric.
type Side string

// The sides. Both is a metric of either program.
const (
	OfCore Side = "core"
	OfEdge Side = "edge"
	OfBoth Side = "both"
)

// Definition describes a metric.
type Definition struct {
	// Name is the OpenTelemetry name. Prometheus has it with underscores and the suffixes
	// of its unit and kind.
	Name string
	Kind Kind
	// Unit is a UCUM unit: s, By, 1, or an annotation such as {token}; empty is none.
	Unit string
	Help string
	// Labels are the names of the attributes. A metric may leave out those that do not
	// apply.
	Labels []string
	// Bounds are the upper bounds of a histogram's buckets.
	Bounds []float64
	Side   Side
	// Steps is how many steps of a counter are one unit; 0 counts whole units.
	Steps float64
	// Older says that the metric belongs to the older set of GenAI names.
	Older bool
}

// Buckets. The durations of GenAI operations are those that the convention advises
// (client-inference.md): they double from 10 ms to 82 s.
var (
	operationBounds  = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	firstChunkBounds = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	chunkBounds      = []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5}
	tokenBounds      = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	// httpBounds are those of http.server.request.duration, with larger ones for answers of
	// models, which take minutes.
	httpBounds = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 300}
	// ownBounds begin at 50 µs: the gateway's own time is a tenth of a millisecond on an
	// idle machine.
	ownBounds = []float64{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5}
)

// gauges makes observable instruments of definitions and keeps the first error.
type gauges struct {
	meter metric.Meter
	err   error
}

func (g *gauges) of(d Definition) metric.Float64ObservableGauge {
	gauge, err := g.meter.Float64ObservableGauge(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Help))
	g.keep(d, err)
	return gauge
}

func (g *gauges) counter(d Definition) metric.Int64ObservableCounter {
	counter, err := g.meter.Int64ObservableCounter(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Help))
	g.keep(d, err)
	return counter
}

func (g *gauges) keep(d Definition, err error) {
	if err != nil && g.err == nil {
		g.err = fmt.Errorf("instrument %s: %w", d.Name, err)
	}
}
