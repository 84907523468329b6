package instrument

import (
	"slices"
	"strings"
)

// Names says which set of GenAI names is recorded.
type Names struct {
	// Newest is the set of semantic-conventions-genai.
	Newest bool
	// Older is the set of semantic-conventions v1.41.0: gen_ai.client.operation.duration,
	// gen_ai.client.operation.time_to_first_chunk, …time_per_output_chunk and
	// gen_ai.client.token.usage.
	Older bool
}

// OptInVariable is the environment variable that NamesOf reads. It is OpenTelemetry's, for
// conventions that change.
const OptInVariable = "OTEL_SEMCONV_STABILITY_OPT_IN"

// The values of the variable that mean something here.
const (
	olderAlone = "gen_ai_v1.41"
	olderToo   = "gen_ai_v1.41/dup"
)

// NamesOf reads the value of OptInVariable, a list separated by commas: gen_ai_v1.41 records
// the older set in place of the newest, gen_ai_v1.41/dup records both. Without either, the
// newest set is recorded. Other values are for other instrumentations and mean nothing here.
func NamesOf(value string) Names {
	wanted := strings.Split(strings.ReplaceAll(value, " ", ""), ",")
	switch {
	case slices.Contains(wanted, olderToo):
		return Names{Newest: true, Older: true}
	case slices.Contains(wanted, olderAlone):
		return Names{Older: true}
	}
	return Names{Newest: true}
}
