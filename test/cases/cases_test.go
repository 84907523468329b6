package cases_test

import (
	"slices"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(runner(m)) }

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
		typedCases(),
	) {
		t.Run(c.ID, func(t *testing.T) {
			t.Attr("proves", c.Proves)
			c.Run(t)
		})
	}
}
