package allocs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
)

// Suite is benchmarks of one kind.
type Suite struct {
	// Packages are patterns below the repository's root.
	Packages []string
	// Benchmarks is the pattern of the go command's flag -bench.
	Benchmarks string
	// Iterations is how often each is run for one figure. The least of three figures
	// counts: what else the process does meanwhile only adds.
	Iterations int
	// Tolerance is how much more than the baseline passes, as a part of it: at 0.01 not
	// one allocation more of up to 99. Bytes have 0.02 more of it.
	Tolerance float64
}

// Suites are the hot stages, and the whole of them.
func Suites() []Suite {
	texts := []string{"./codec/chat", "./codec/responses", "./codec/messages", "./codec/generatecontent"}
	return []Suite{
		// A codec does the same each time.
		{texts, "^Benchmark(De|En)code(Request|Response)$/^2KB", 50, 0.01},
		{texts, "^BenchmarkStream(De|En)code$", 50, 0.01},
		{slices.Concat(texts, []string{"./codec/images"}), "^BenchmarkHead$", 50, 0.01},
		{[]string{"./codec/images"}, "^Benchmark(Request|Response)$", 20, 0.01},
		{[]string{"./core/keys"}, "^BenchmarkAuthenticate$", 2000, 0.01},
		{[]string{"./core/limit"}, "^BenchmarkMemory$", 2000, 0.02},
		{[]string{"./core/price"}, "^BenchmarkSettle$", 2000, 0.01},
		{[]string{"./gateway"}, "^BenchmarkEdge$", 200, 0.05},
		// How many rows share a batch of the ledger is a matter of time.
		{[]string{"./core"}, "^BenchmarkAdmission$", 500, 0.10},
		// In how many pieces a large body comes is, too: the bytes of those rows have room, and hold that no
		// body is allocated again.
		{[]string{"./cmd/genway"}, "^BenchmarkCarry$", 100, 0.10},
		{[]string{"./cmd/genway"}, "^BenchmarkTelemetry$", 100, 0.10},
	}
}

// Run runs a suite in the repository at root and returns its figures.
func (s Suite) Run(ctx context.Context, root string) (Figures, error) {
	args := slices.Concat([]string{"test", "-C", root, "-run=^$", "-bench=" + s.Benchmarks, "-benchmem", "-count=3", "-cpu=1", fmt.Sprintf("-benchtime=%dx", s.Iterations)}, s.Packages)
	test := exec.CommandContext(ctx, "go", args...) //nolint:gosec // The go command, with our own arguments.
	test.Env = append(os.Environ(), "GOGC=off", "GOMEMLIMIT=2GiB", "GOWORK=off")
	output, err := test.Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			output = append(output, failed.Stderr...)
		}
		return nil, fmt.Errorf("%s: %w\n%s", test, err, output)
	}
	figures, err := Parse(output)
	if err == nil && len(figures) == 0 {
		err = fmt.Errorf("%s: no benchmark ran", test)
	}
	return figures, err
}
