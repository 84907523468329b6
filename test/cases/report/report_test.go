package main

import (
	"strings"
	"testing"
)

// A run of go test -json, as its documentation has it.
const ran = `{"Action":"run","Test":"TestCases"}
{"Action":"run","Test":"TestCases/T10"}
{"Action":"attr","Test":"TestCases/T10","Key":"proves","Value":"ten | ten"}
{"Action":"run","Test":"TestCases/T10/one_way"}
{"Action":"output","Test":"TestCases/T10/one_way","Output":"too bad\n"}
{"Action":"VERDICT","Test":"TestCases/T10/one_way"}
{"Action":"VERDICT","Test":"TestCases/T10"}
{"Action":"attr","Test":"TestCases/T2","Key":"proves","Value":"two"}
{"Action":"output","Test":"TestCases/T2","Output":"all is well\n"}
{"Action":"pass","Test":"TestCases/T2"}
{"Action":"VERDICT","Test":"TestCases"}
{"Action":"VERDICT"}
`

func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		events, table, output, err string
	}{
		"pass":      {strings.ReplaceAll(ran, "VERDICT", "pass"), "| T2 | two | pass |\n| T10 | ten \\| ten | pass |\n\n2 cases, 2 passed.\n", "", ""},
		"fail":      {strings.ReplaceAll(ran, "VERDICT", "fail"), "| T2 | two | pass |\n| T10 | ten \\| ten | fail |\n\n2 cases, 1 passed.\n", "too bad\n", "1 of 2 cases failed"},
		"no build":  {`{"Action":"build-output","Output":"syntax error\n"}` + "\n" + `{"Action":"fail"}`, "\n0 cases, 0 passed.\n", "syntax error\n", "no case ran"},
		"no events": {"go: no such thing", "\n0 cases, 0 passed.\n", "go: no such thing\n", "no case ran"},
	} {
		t.Run(name, func(t *testing.T) {
			var table, output strings.Builder
			err := run(strings.NewReader(c.events), "", &table, &output)
			if !strings.HasSuffix(table.String(), c.table) || output.String() != c.output {
				t.Errorf("table %s\nsaid %s", table.String(), output.String())
			}
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.err {
				t.Errorf("error %q, want %q", got, c.err)
			}
		})
	}
}

// A leak fails the run though each case passed.
func TestReportOfLeak(t *testing.T) {
	events := strings.ReplaceAll(ran, "VERDICT", "pass") + `{"Action":"output","Output":"found unexpected goroutines\n"}` + "\n" + `{"Action":"fail"}`
	var table, output strings.Builder
	if err := run(strings.NewReader(events), "", &table, &output); err == nil || !strings.Contains(output.String(), "goroutines") {
		t.Errorf("%v: %s", err, output.String())
	}
}

// A case with tests in two packages passes when both do.
func TestReportOfTwo(t *testing.T) {
	for verdict, want := range map[string]string{"pass": "| T2 | two; also | pass |", "fail": "| T2 | two; also | fail |"} {
		second := `{"Action":"attr","Test":"TestCases/T2","Key":"proves","Value":"also"}
{"Action":"` + verdict + `","Test":"TestCases/T2"}
`
		var table, output strings.Builder
		err := run(strings.NewReader(strings.ReplaceAll(ran, "VERDICT", "pass")+second), "", &table, &output)
		if (err == nil) != (verdict == "pass") || !strings.Contains(table.String(), want) {
			t.Errorf("%s: %v\n%s", verdict, err, table.String())
		}
	}
}
