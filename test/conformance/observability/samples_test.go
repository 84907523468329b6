package observability

import (
	"context"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sample is one line of a scrape.
type sample struct {
	name   string
	labels map[string]string
	value  float64
}

// scrape is what several scrapes of a side show together.
type scrape struct {
	samples []sample
	kinds   map[string]string // of families, by their names
}

func (s *scrape) add(samples []sample, kinds map[string]string) {
	if s.kinds == nil {
		s.kinds = map[string]string{}
	}
	s.samples = append(s.samples, samples...)
	maps.Copy(s.kinds, kinds)
}

// holds demands that a metric is there, if it is due, of its kind and with its labels.
func (s *scrape) holds(t *testing.T, side string, row metricRow, due bool) {
	t.Helper()
	kind, there := s.kinds[row.name]
	if there != due && (due || row.of != "both") {
		t.Errorf("%s is in the scrape of the %s: %v, documented for %s", row.name, side, there, row.of)
	}
	if !there {
		return
	}
	if want := map[string]string{"counter": "counter", "histogram": "histogram", "gauge": "gauge", "up-down counter": "gauge"}[row.kind]; kind != want {
		t.Errorf("%s of the %s is a %s, documented as a %s", row.name, side, kind, row.kind)
	}
	labels := map[string]bool{}
	for _, one := range s.samples {
		if base(one.name, kind) == row.name {
			for label := range one.labels {
				labels[label] = true
			}
		}
	}
	delete(labels, "le")
	if !maps.Equal(labels, row.labels) {
		t.Errorf("%s of the %s has the labels %v, documented are %v", row.name, side, slices.Sorted(maps.Keys(labels)), slices.Sorted(maps.Keys(row.labels)))
	}
}

// base is the name of a sample's family.
func base(name, kind string) string {
	if kind == "histogram" {
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if cut, ok := strings.CutSuffix(name, suffix); ok {
				return cut
			}
		}
	}
	return name
}

var (
	sampleLine = regexp.MustCompile(`(?m)^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$`)
	labelOf    = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
)

// scrapeSide returns the samples of a side, and the kind of each family by its name.
func (r *rig) scrapeSide(t *testing.T, side string) (all []sample, kinds map[string]string) {
	t.Helper()
	ctx, done := context.WithTimeout(t.Context(), patience)
	defer done()
	_, body, err := metricsOfSocket(ctx, filepath.Join(r.dir, side), "text/plain")
	if err != nil {
		t.Fatal(err)
	}
	kinds = map[string]string{}
	for _, found := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`).FindAllStringSubmatch(string(body), -1) {
		kinds[found[1]] = found[2]
	}
	for _, found := range sampleLine.FindAllStringSubmatch(string(body), -1) {
		value, err := strconv.ParseFloat(found[3], 64)
		if err != nil {
			t.Fatalf("%s: %v", found[0], err)
		}
		s := sample{name: found[1], labels: map[string]string{}, value: value}
		for _, label := range labelOf.FindAllStringSubmatch(found[2], -1) {
			s.labels[label[1]] = label[2]
		}
		all = append(all, s)
		if value != 0 {
			r.moved[s.name] = true
		}
	}
	return all, kinds
}

// sum adds the samples of a name that have these labels, written as name=value.
func sum(all []sample, name string, labels ...string) (total float64, found bool) {
next:
	for _, s := range all {
		if s.name != name {
			continue
		}
		for _, want := range labels {
			label, value, _ := strings.Cut(want, "=")
			if s.labels[label] != value {
				continue next
			}
		}
		total, found = total+s.value, true
	}
	return total, found
}

// awaitValue waits until the sum of a side's samples satisfies.
func (r *rig) awaitValue(t *testing.T, side, name string, satisfies func(float64) bool, labels ...string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	limit := patience
	if t.Failed() {
		limit = time.Second // so that one run reports all that is amiss
	}
	for deadline := time.Now().Add(limit); ; <-tick.C {
		all, _ := r.scrapeSide(t, side)
		value, found := sum(all, name, labels...)
		if found && satisfies(value) {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s%v of the %s is %v (there: %v)", name, labels, side, value, found)
			return
		}
	}
}

// metricRow is a row of the table of metrics in docs/reference/telemetry.md: the name is Prometheus',
// otel and unit are OpenTelemetry's.
type metricRow struct {
	name, otel, unit, kind, of string
	labels                     map[string]bool
}

// metricRows are all of them.
func metricRows(t *testing.T) []metricRow {
	t.Helper()
	var all []metricRow
	for line := range strings.Lines(section(t, document(t), "Metrics")) {
		cells := strings.Split(line, "|")
		if len(cells) != 8 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		row := metricRow{name: promName(cells[1], cells[3]), otel: strings.Trim(cells[1], " `"), unit: strings.TrimSpace(cells[3]), kind: strings.TrimSpace(cells[2]), of: strings.TrimSpace(cells[4]), labels: map[string]bool{}}
		if row.kind == "counter" {
			row.name += "_total"
		}
		for _, label := range quoted.FindAllStringSubmatch(cells[5], -1) {
			row.labels[strings.ReplaceAll(label[1], ".", "_")] = true
		}
		all = append(all, row)
	}
	if len(all) < 50 {
		t.Fatalf("only %d metrics are documented", len(all))
	}
	return all
}
