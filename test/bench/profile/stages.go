package profile

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Stage is a part of what the gateway does.
type Stage string

// The stages, in the order of a request. Memory is counted to the stage that asked for
// it, collecting it apart; so is what the runtime does between tasks.
const (
	HTTPServer Stage = "HTTP server"
	Edge       Stage = "edge: endpoints, bodies, marshaler"
	Decode     Stage = "decode"
	Transport  Stage = "transport between edge and core"
	Accounts   Stage = "keys, limits, ledger"
	Core       Stage = "core: admission, routes"
	Patch      Stage = "patch of carried JSON"
	Upstream   Stage = "upstream client"
	Encode     Stage = "encode"
	Logs       Stage = "log"
	Collector  Stage = "garbage collector"
	Scheduler  Stage = "scheduler, timers, network poll"
	Other      Stage = "other"
)

// Stages are all, in order.
func Stages() []Stage {
	return []Stage{HTTPServer, Edge, Decode, Transport, Accounts, Core, Patch, Upstream, Encode, Logs, Collector, Scheduler, Other}
}

const module = "github.com/genway/genway/"

// rules map a function to its stage, by the beginning of its name; the first
// that fits counts. A stack belongs to the innermost function that fits any.
var rules = []struct {
	prefix string
	stage  Stage
}{
	{module + "core/auth", Accounts},
	{module + "core/keys", Accounts},
	{module + "core/limit", Accounts},
	{module + "core/ledger", Accounts},
	{module + "core/price", Accounts},
	{module + "core/store", Accounts},
	{"database/sql", Accounts},
	{"modernc.org/", Accounts},
	{"log/slog", Logs},
	{module + "cmd/internal/cli", Logs},
	{module + "core/upstream", Upstream},
	{"net/http.(*Transport)", Upstream},
	{"net/http.(*persistConn)", Upstream},
	{"net/http.(*transferWriter)", Upstream},
	{"net/http.(*bodyEOFSignal)", Upstream},
	{"net/http.(*Client)", Upstream},
	{"net/http.ReadResponse", Upstream},
	{"github.com/tmaxmax/go-sse", Upstream},
	{module + "gateway", Edge},
	{module + "core", Core},
	{module + "internal/transport", Transport},
	{"google.golang.org/grpc", Transport},
	{"google.golang.org/protobuf", Transport},
	{"golang.org/x/net/http2", Transport},
	{"github.com/fullstorydev/grpchan", Transport},
	{"github.com/grpc-ecosystem/grpc-gateway", Edge},
	{module + "gen/", Transport},
	{"net/http", HTTPServer},
	{"runtime.gcBgMarkWorker", Collector},
	{"runtime.gcAssistAlloc", Collector},
	{"runtime.bgsweep", Collector},
	{"runtime.bgscavenge", Collector},
	{"runtime.gcStart", Collector},
	{"runtime.mcall", Scheduler},
	{"runtime.mstart", Scheduler},
	{"runtime.sysmon", Scheduler},
	{"runtime.goexit", Other},
}

// stageOf returns a function's stage, if it has one.
func stageOf(function string) (Stage, bool) {
	if strings.HasPrefix(function, module+"codec") {
		return codecStage(function), true
	}
	for _, rule := range rules {
		if strings.HasPrefix(function, rule.prefix) {
			return rule.stage, true
		}
	}
	return "", false
}

// codecStage returns the stage of a codec's function by its name.
func codecStage(function string) Stage {
	lower := strings.ToLower(function)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(lower, word) })
	}
	switch {
	case has("patch"):
		return Patch
	case has("decode", "unmarshal"):
		return Decode
	case has("encode", "marshal", "write", "append"):
		return Encode
	default:
		return Decode
	}
}

// Shares returns the part of the CPU time that each stage took, of all profiles together.
func Shares(profiles ...*profile.Profile) map[Stage]float64 {
	shares := map[Stage]float64{}
	total := 0.0
	for _, p := range profiles {
		value := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" })
		for _, sample := range p.Sample {
			spent := float64(sample.Value[value])
			shares[stackStage(sample)] += spent
			total += spent
		}
	}
	for stage := range shares {
		shares[stage] /= total
	}
	return shares
}

// stackStage returns the stage of a stack, whose innermost function comes first.
func stackStage(sample *profile.Sample) Stage {
	for _, location := range sample.Location {
		for _, line := range location.Line {
			if stage, ok := stageOf(line.Function.Name); ok {
				return stage
			}
		}
	}
	return Other
}
