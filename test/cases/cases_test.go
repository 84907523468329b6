package cases_test

import (
	"io"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc/grpclog"
)

// TestMain discards what grpc-go and the runtime of the JSON endpoints log of each refused
// request, thousands of lines before a failure; the programs write it to their own log.
func TestMain(m *testing.M) {
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	goleak.VerifyTestMain(runner(m))
}

// Case is one named case.
type Case struct {
	ID string
	// Proves is the promise in one line.
	Proves string
	Run    func(*testing.T)
}

func TestCases(t *testing.T) {
	for _, c := range slices.Concat(
		toolCallCases(),
		toolRequestCases(),
		reasoningCases(),
		usageCases(),
		streamCases(),
		errorCases(),
		resilienceCases(),
		keyCases(),
		growthCases(),
		limitCases(),
		attemptCases(),
		connectionCases(),
		responsesCases(),
		directCases(),
		watchedCases(),
		validatedCases(),
		unaskedCases(),
		pairCases(),
		brokenArgumentCases(),
		vendorCases(),
		vendorRuleCases(),
		wordCases(),
		edgeCases(),
		imageCases(),
		countedCases(),
		overloadCases(),
		refusalCases(),
		rollupCases(),
		neighbourCases(),
		extremeCases(),
		providerCases(),
		credentialCases(),
		dialectCases(),
		versionCases(),
		typedCases(),
		clientCases(),
		xrayCases(),
	) {
		t.Run(c.ID, func(t *testing.T) {
			t.Attr("proves", c.Proves)
			c.Run(t)
		})
	}
}
