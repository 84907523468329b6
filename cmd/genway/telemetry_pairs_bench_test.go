//go:build unix

package main

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/genway/genway/test/cpu"
)

// BenchmarkTelemetryPairs compares two settings of telemetry in one process. An iteration sends a slice of
// requests through each gateway, in turns first, so that what else the machine does slows both. It
// reports the median of the iterations' ratios of CPU time with the bounds of its 95 % interval (bootstrap), and
// the medians of a request's CPU time, client and upstream included. Run it with -cpu 1.
//
// The garbage of short slices is collected between them, and not measured: it would be charged to either
// gateway. That of slices with spans is, and their spans are whole batches, which have been delivered
// when a slice ends.
func BenchmarkTelemetryPairs(b *testing.B) {
	const short, long, batches = 8, 512, 3
	for _, pair := range []struct {
		base, other string
		slice       int
	}{
		{"nothing", "nothing", short}, {"nothing", "metrics-and-logs", short}, {"metrics-and-logs", "unsampled", short}, {"unsampled", "sampled", long},
	} {
		b.Run(pair.base+"/"+pair.other, func(b *testing.B) {
			collector := &sink{came: make(chan struct{}, 1000)}
			web := httptest.NewServer(collector)
			b.Cleanup(web.Close)
			b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", web.URL)
			b.Setenv("OTEL_METRICS_EXPORTER", "none")
			b.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1000000") // ms; only whole batches go out
			var run [2]func() float64
			for i, setting := range []string{pair.base, pair.other} {
				g := observed(b, setting)
				b.Cleanup(g.end)
				c := carried[0]
				g.upstream.answer = []byte(c.answer)
				once, end := carrier(b, g.address, g.request(c.path, c.body))
				b.Cleanup(end)
				run[i] = func() float64 {
					begun := cpu.Time()
					for range pair.slice {
						once()
					}
					if setting == "sampled" {
						for range batches {
							<-collector.came
						}
					}
					return float64((cpu.Time() - begun).Nanoseconds()) / 1000 / float64(pair.slice)
				}
			}
			if pair.slice == short {
				defer debug.SetGCPercent(debug.SetGCPercent(-1))
			}
			var base, other, ratios []float64
			for n := 0; b.Loop(); n++ {
				if n%64 == 0 {
					runtime.GC()
					run[0]() // pools are filled again
					run[1]()
				}
				var took [2]float64
				for i := range took {
					at := (i + n) % 2
					took[at] = run[at]()
				}
				base, other, ratios = append(base, took[0]), append(other, took[1]), append(ratios, 100*(took[1]/took[0]-1))
			}
			low, high := interval(ratios)
			for unit, value := range map[string]float64{"%": median(ratios), "%-low": low, "%-high": high, "µs": median(base), "µs-with": median(other)} {
				b.ReportMetric(value, unit)
			}
		})
	}
}

// sink is a collector that takes everything.
type sink struct{ came chan struct{} }

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/x-protobuf")
	s.came <- struct{}{}
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// interval returns the bounds of the 95 % interval of the median, of 2,000 resamples.
func interval(of []float64) (low, high float64) {
	medians := make([]float64, 2000)
	for i := range medians {
		again := make([]float64, len(of))
		for j := range again {
			again[j] = of[rand.IntN(len(of))]
		}
		medians[i] = median(again)
	}
	slices.Sort(medians)
	return medians[len(medians)/40], medians[len(medians)-1-len(medians)/40]
}
