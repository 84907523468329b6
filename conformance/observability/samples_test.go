package observability

import (
	"path/filepath"
	"regexp"
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

var (
	sampleLine = regexp.MustCompile(`(?m)^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$`)
	labelOf    = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
)

// scrapeSide gives the samples of a side, and the kind of each family by its name.
func (r *rig) scrapeSide(t *testing.T, side string) (all []sample, kinds map[string]string) {
	t.Helper()
	_, body, err := metricsOfSocket(t.Context(), filepath.Join(r.dir, side), "text/plain")
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
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	limit := time.Minute
	if t.Failed() {
		limit = time.Second // so that all that is amiss is said in one run
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

// metricRow is a row of the table of metrics in docs/observability.md.
type metricRow struct {
	name, kind, of string
	labels         map[string]bool
}

// metricRows are all of them, by the names that Prometheus has.
func metricRows(t *testing.T) []metricRow {
	t.Helper()
	var all []metricRow
	for line := range strings.Lines(section(t, document(t), "Metrics")) {
		cells := strings.Split(line, "|")
		if len(cells) != 8 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		row := metricRow{name: promName(cells[1], cells[3]), kind: strings.TrimSpace(cells[2]), of: strings.TrimSpace(cells[4]), labels: map[string]bool{}}
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

// promName is Prometheus' name of a metric, but for _total.
func promName(name, unit string) string {
	name = strings.ReplaceAll(strings.Trim(name, " `"), ".", "_")
	if suffix := map[string]string{"s": "_seconds", "By": "_bytes", "1": "_ratio"}[strings.TrimSpace(unit)]; !strings.HasSuffix(name, suffix) {
		name += suffix
	}
	return name
}
