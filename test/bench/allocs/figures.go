package allocs

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Figure is what one operation allocates.
type Figure struct{ Allocs, Bytes int64 }

// Figures are figures by name: the package below the module, a space, the benchmark.
type Figures map[string]Figure

const module = "github.com/genway/genway/"

// Parse reads the output of go test -bench -benchmem. Of several figures of one
// benchmark the least counts.
func Parse(output []byte) (Figures, error) {
	figures := Figures{}
	pkg := ""
	for line := range strings.Lines(string(output)) {
		if path, found := strings.CutPrefix(line, "pkg: "); found {
			pkg = strings.TrimPrefix(strings.TrimSpace(path), module)
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		allocs, err := before(fields, "allocs/op")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fields[0], err)
		}
		size, err := before(fields, "B/op")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fields[0], err)
		}
		figures.Least(Figures{pkg + " " + fields[0]: {allocs, size}})
	}
	return figures, nil
}

// Least takes the figures of another run where they are less.
func (f Figures) Least(other Figures) {
	for name, figure := range other {
		if known, seen := f[name]; seen {
			figure = Figure{min(known.Allocs, figure.Allocs), min(known.Bytes, figure.Bytes)}
		}
		f[name] = figure
	}
}

// before returns the number that stands before a unit.
func before(fields []string, unit string) (int64, error) {
	i := slices.Index(fields, unit)
	if i < 1 {
		return 0, errors.New("no " + unit)
	}
	return strconv.ParseInt(fields[i-1], 10, 64)
}

// Format writes figures as a baseline: a line for each, in order of their names.
func (f Figures) Format() []byte {
	var out bytes.Buffer
	out.WriteString("# What an operation allocates. Written by make allocs-baseline.\n# package benchmark allocs bytes\n")
	for _, name := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(&out, "%s %d %d\n", name, f[name].Allocs, f[name].Bytes)
	}
	return out.Bytes()
}

// ReadBaseline reads what Format has written.
func ReadBaseline(text []byte) (Figures, error) {
	figures := Figures{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if len(fields) != 4 {
			return nil, fmt.Errorf("baseline: malformed line: %s", strings.TrimSpace(line))
		}
		allocs, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("baseline: %w", err)
		}
		size, err := strconv.ParseInt(fields[3], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("baseline: %w", err)
		}
		figures[fields[0]+" "+fields[1]] = Figure{allocs, size}
	}
	return figures, nil
}
