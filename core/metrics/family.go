package metrics

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// maxLabels is how many labels a family has at most.
const maxLabels = 3

// family is a counter for each combination of its labels' values.
type family struct {
	name, help string
	labels     []string
	// unit is how many of what is counted are one of what is told.
	unit float64

	mu     sync.RWMutex
	counts map[[maxLabels]string]*atomic.Int64
}

func newFamily(name, help string, unit float64, labels ...string) *family {
	return &family{name: name, help: help, labels: labels, unit: unit, counts: map[[maxLabels]string]*atomic.Int64{}}
}

// add counts n more. What is 0 makes no line.
func (f *family) add(n int64, values ...string) {
	if n <= 0 {
		return
	}
	var key [maxLabels]string
	copy(key[:], values)
	f.mu.RLock()
	count := f.counts[key]
	f.mu.RUnlock()
	if count == nil {
		f.mu.Lock()
		if count = f.counts[key]; count == nil {
			count = new(atomic.Int64)
			f.counts[key] = count
		}
		f.mu.Unlock()
	}
	count.Add(n)
}

// append writes the family's lines, in the order of their labels.
func (f *family) append(b []byte) []byte {
	b = appendHead(b, f.name, f.help, "counter")
	f.mu.RLock()
	defer f.mu.RUnlock()
	keys := make([][maxLabels]string, 0, len(f.counts))
	for key := range f.counts {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b [maxLabels]string) int { return slices.Compare(a[:], b[:]) })
	for _, key := range keys {
		b = append(b, f.name...)
		for i, label := range f.labels {
			b = append(b, "{,"[min(i, 1)])
			b = append(append(append(b, label...), `="`...), escaped.Replace(key[i])...)
			b = append(b, '"')
		}
		if len(f.labels) > 0 {
			b = append(b, '}')
		}
		b = appendValue(b, float64(f.counts[key].Load())/f.unit)
	}
	return b
}

// escaped are the characters that a label's value has to spell.
var escaped = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func appendGauge(b []byte, name, help string, value float64) []byte {
	return appendValue(append(appendHead(b, name, help, "gauge"), name...), value)
}

func appendHead(b []byte, name, help, kind string) []byte {
	b = append(append(append(append(b, "# HELP "...), name...), ' '), help...)
	return append(append(append(append(append(b, "\n# TYPE "...), name...), ' '), kind...), '\n')
}

func appendValue(b []byte, v float64) []byte {
	return append(strconv.AppendFloat(append(b, ' '), v, 'g', -1, 64), '\n')
}
