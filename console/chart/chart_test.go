package chart_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/console/chart"
)

var update = flag.Bool("update", false, "write the golden files")

func figure(v float64) string { return fmt.Sprintf("%.0f", v) }

// one is a series without a name.
func one(values ...float64) []chart.Series { return []chart.Series{{Values: values}} }

func duration(d time.Duration) string { return d.String() }

// Each chart is XML with a title and a description, as its golden has it.
func TestGoldens(t *testing.T) {
	var squares []float64
	many := chart.Bars{Title: "Many", Description: "d", Format: figure}
	for i := range 90 {
		many.Labels, squares = append(many.Labels, strconv.Itoa(i)), append(squares, float64(i*i))
	}
	many.Series = one(squares...)
	for name, svg := range map[string]string{
		"bars": chart.Bars{Title: "Cost a day", Description: "Three days.", Labels: []string{"01", "02", "03"}, Series: one(1, 4, 2), Format: figure}.SVG(),
		"many": many.SVG(),
		"stacked": chart.Bars{Title: "Requests by model", Description: "Two days.", Labels: []string{"01", "02"}, Format: figure,
			Series: []chart.Series{{Name: "a", Values: []float64{1, 0}}, {Name: "</svg>", Values: []float64{2, math.Inf(1)}}, {Name: "b", Values: []float64{-1, 3}}}}.SVG(),
		"none":       chart.Bars{Title: "Nothing", Description: "d", Format: figure}.SVG(),
		"zeros":      chart.Bars{Title: "Zeros", Description: "d", Labels: []string{"a", "b"}, Series: one(0, 0), Format: figure}.SVG(),
		"strange":    chart.Bars{Title: `<script>"&'`, Description: "\x00]]>", Labels: []string{"</svg>", "n"}, Series: one(math.NaN(), -1), Format: figure}.SVG(),
		"parts":      chart.Parts{Title: "Failures of <a>", Description: "rate limited 6, timeout 2", Labels: []string{"rate limited", "</svg>", "none", "less"}, Values: []int64{6, 2, 0, -1}}.SVG(),
		"no_parts":   chart.Parts{Title: "Nothing", Description: "d", Labels: []string{"a"}, Values: []int64{0}}.SVG(),
		"many_parts": chart.Parts{Title: "Bounds", Description: "d", Labels: []string{"a", "b"}, Values: []int64{math.MaxInt64, math.MaxInt64}}.SVG(),
		"waterfall": chart.Waterfall{Title: "One request", Description: "d", Format: duration, Stages: []chart.Stage{
			{Name: "admission", Took: 2 * time.Millisecond, Class: "wait"}, {Name: "attempt 1", Start: 2 * time.Millisecond, Took: 30 * time.Millisecond, Class: "failed"},
			{Name: "attempt 2 of a long name that is cut", Start: 32 * time.Millisecond, Took: 100 * time.Millisecond, Class: "ok"}, {Name: "connect", Start: 32 * time.Millisecond, Took: time.Millisecond, Class: "ok", Part: true}, {Name: "settled", Start: 133 * time.Millisecond, Class: "ok"},
		}}.SVG(),
		"fall of nothing": chart.Waterfall{Title: "t", Description: "d", Format: duration}.SVG(),
		"fall back":       chart.Waterfall{Title: "t", Description: "d", Format: duration, Stages: []chart.Stage{{Name: "<b>", Start: -time.Hour, Took: -time.Hour, Class: `"`}}}.SVG(),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", strings.ReplaceAll(name, " ", "_")+".svg")
			if *update {
				if err := os.WriteFile(file, []byte(svg), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil || string(want) != svg {
				t.Errorf("%v: got\n%s", err, svg)
			}
			seen := map[string]int{}
			for d := xml.NewDecoder(strings.NewReader(svg)); ; {
				token, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("it is no XML: %v", err)
				}
				if start, ok := token.(xml.StartElement); ok {
					seen[start.Name.Local]++
				}
			}
			if seen["title"] == 0 || seen["desc"] != 1 || seen["script"] > 0 || strings.Contains(svg, "NaN") {
				t.Errorf("%v", seen)
			}
		})
	}
}

// The scale of a chart ends with a figure that is easy to read, never below the highest bar.
func TestScales(t *testing.T) {
	for most, want := range map[float64]string{1: "1", 1.01: "2", 3: "3", 4.5: "5", 6.5: "8", 9: "10", 215.53: "300", 99999: "100000", 0.03: "0.03", math.MaxFloat64: "1.797693135e+308", 5e-324: ""} {
		svg := chart.Bars{Labels: []string{"a"}, Series: one(most), Format: func(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }}.SVG()
		if !strings.Contains(svg, `text-anchor="end">`+want+`</text>`) && want != "" || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("%g: %s", most, svg)
		}
	}
}
