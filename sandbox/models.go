package sandbox

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// model is how the sandbox behaves under a name.
type model struct {
	image  bool
	demand demand
	// amount is the number or duration in the name, where the demand takes one.
	amount amount
}

// The sandbox has no context window; these are what it states where a protocol asks.
const (
	inputTokenLimit  = 1 << 20
	outputTokenLimit = 1 << 17
)

// lookup finds a model by its name.
func (s *Sandbox) lookup(name string) (model, bool) {
	switch name {
	case s.config.TextModel:
		return model{}, true
	case s.config.ImageModel:
		return model{image: true}, true
	}
	rest, ok := strings.CutPrefix(name, s.config.DemandPrefix)
	if !ok {
		return model{}, false
	}
	for _, d := range demands() {
		if a, ok := d.matches(rest); ok {
			return model{demand: d, amount: a}, true
		}
	}
	return model{}, false
}

// find returns the model of a request. Behaviour on demand serves text and images
// alike, as far as it applies to both.
func (s *Sandbox) find(name string, image bool) (model, error) {
	m, ok := s.lookup(name)
	if !ok {
		return model{}, fault.ModelNotFound(clip(name, 200))
	}
	if m.image != image && m.demand.name == "" {
		does := map[bool]string{false: "text", true: "images"}
		return model{}, fault.Invalid("model", "the model `%s` produces %s, not %s", clip(name, 200), does[m.image], does[image])
	}
	return m, nil
}

// Models lists the two models. Models that fail or misbehave on demand are not
// listed: they do not belong into a menu.
func (s *Sandbox) Models() []*genwayv1.Model {
	names := []string{s.config.TextModel, s.config.ImageModel}
	slices.Sort(names)
	var list []*genwayv1.Model
	for _, name := range slices.Compact(names) {
		m, _ := s.lookup(name)
		entry := &genwayv1.Model{
			Name: name, DisplayName: name, OwnedBy: "genway",
			CreateTime:      timestamppb.New(s.started),
			InputTokenLimit: new(int64(inputTokenLimit)),
			GeneratesText:   !m.image,
			GeneratesImages: m.image,
			Description:     "Embedded test upstream that answers by fixed rules; not a language model.",
		}
		if m.image {
			entry.Description = "Embedded test upstream that draws by formulas; not an image model."
			entry.Inputs, entry.Outputs = []genwayv1.Modality{genwayv1.Modality_MODALITY_TEXT}, []genwayv1.Modality{genwayv1.Modality_MODALITY_IMAGE}
		} else {
			entry.OutputTokenLimit = new(int64(outputTokenLimit))
			entry.Inputs = []genwayv1.Modality{
				genwayv1.Modality_MODALITY_TEXT, genwayv1.Modality_MODALITY_IMAGE, genwayv1.Modality_MODALITY_AUDIO, genwayv1.Modality_MODALITY_VIDEO, genwayv1.Modality_MODALITY_DOCUMENT,
			}
			entry.Outputs, entry.TakesTools, entry.TakesJsonSchema = []genwayv1.Modality{genwayv1.Modality_MODALITY_TEXT}, new(true), new(true)
		}
		list = append(list, entry)
	}
	return list
}

// demand is behaviour that the model's name selects. The names after the prefix
// are listed in docs/sandbox.md, which a test compares with demands.
type demand struct {
	name string
	// does says it in one line.
	does string
	// takes says what may follow the name after a dash: "sandbox-slow-500ms".
	takes parameter
	// fault, when set, ends the call: at once, or half way through the stream.
	fault   func() *fault.Error
	halfway bool
	// shape, when set, changes the finished answer.
	shape func(*answer)
	// pace, when set, says how a call takes its time.
	pace pacing
}

// amount is the parameter in a model's name, or its default.
type amount struct {
	wait  time.Duration
	count int
}

type parameter struct {
	unit unit
	// initial is the value without a parameter; most is the largest.
	initial, most int64
}

type unit int

const (
	noUnit unit = iota
	duration
	number
)

type pacing int

const (
	atOnce pacing = iota
	beforeFirst
	beforeEach
	forever
)

// matches reports whether the rest of a model's name is this demand.
func (d demand) matches(rest string) (amount, bool) {
	if rest == d.name {
		return d.takes.amount(d.takes.initial), true
	}
	text, ok := strings.CutPrefix(rest, d.name+"-")
	if !ok || d.takes.unit == noUnit {
		return amount{}, false
	}
	var n int64
	var err error
	if d.takes.unit == duration {
		var wait time.Duration
		wait, err = time.ParseDuration(text)
		n = int64(wait)
	} else {
		n, err = strconv.ParseInt(text, 10, 64)
	}
	if err != nil || n < 1 || n > d.takes.most {
		return amount{}, false
	}
	return d.takes.amount(n), true
}

func (p parameter) amount(n int64) amount {
	if p.unit == duration {
		return amount{wait: time.Duration(n)}
	}
	return amount{count: int(n)}
}

const reasonDemanded = "SANDBOX_DEMANDED"

// demands is the table.
func demands() []demand {
	failing := func(kind fault.Kind, message string, change func(*fault.Error)) func() *fault.Error {
		return func() *fault.Error {
			err := fault.New(kind, reasonDemanded, "%s", message)
			if change != nil {
				change(err)
			}
			return err
		}
	}
	reason := func(r string) func(*fault.Error) {
		return func(e *fault.Error) { e.Reason = r }
	}
	again := func(e *fault.Error) { e.RetryAfter = 2 * time.Second }
	return []demand{
		{name: "rate-limit", does: "429, rate limited, with Retry-After: 2",
			fault: failing(fault.RateLimited, "Rate limit reached for this model. Try again in 2s.", again)},
		{name: "quota", does: "429, the quota is used up",
			fault: failing(fault.QuotaExhausted, "You exceeded your current quota.", nil)},
		{name: "overload", does: "the upstream is overloaded: 503, on messages 529",
			fault: failing(fault.Overloaded, "The upstream is overloaded.", nil)},
		{name: "error", does: "the upstream fails with status 500",
			fault: failing(fault.BadUpstream, "The upstream had an internal error.", func(e *fault.Error) { e.Status = 500 })},
		{name: "unavailable", does: "503, the upstream is not reachable, with Retry-After: 2",
			fault: failing(fault.Unavailable, "The upstream is not available.", again)},
		{name: "timeout", does: "504 at once, as if the upstream had been too slow",
			fault: failing(fault.Timeout, "The upstream did not answer in time.", nil)},
		{name: "garbage", does: "502, the upstream's answer cannot be read",
			fault: failing(fault.BadUpstream, "The upstream's answer could not be read.", reason(fault.ReasonMalformedAnswer))},
		{name: "cut", does: "a stream breaks off half way; unary: 502", halfway: true,
			fault: failing(fault.BadUpstream, "The upstream's stream ended early.", reason(fault.ReasonStreamCut))},
		{name: "mid-error", does: "a stream reports an overload half way; unary: 503, on messages 529", halfway: true,
			fault: failing(fault.Overloaded, "The upstream became overloaded.", nil)},
		{name: "hang", does: "no answer until the caller, or a deadline, gives up", pace: forever},
		{name: "slow", does: "the first token after a while: 2s, or sandbox-slow-500ms and the like; pings before it", pace: beforeFirst,
			takes: parameter{unit: duration, initial: int64(2 * time.Second), most: int64(10 * time.Minute)}},
		{name: "drip", does: "a pause before each event of a stream: 100ms, or sandbox-drip-20ms and the like", pace: beforeEach,
			takes: parameter{unit: duration, initial: int64(100 * time.Millisecond), most: int64(time.Minute)}},
		{name: "long", does: "at least 2000 tokens of text, or sandbox-long-500 and the like",
			takes: parameter{unit: number, initial: 2000, most: 100_000}},
		{name: "empty", does: "a complete answer without any content", shape: (*answer).empty},
		{name: "refusal", does: "the model declines", shape: (*answer).refuse},
		{name: "filter", does: "a content filter ends the answer half way", shape: (*answer).filter},
		{name: "blocked", does: "the prompt is blocked; there is no candidate", shape: (*answer).block},
		{name: "redacted", does: "redacted thinking before the answer", shape: (*answer).redact},
		{name: "citations", does: "the text cites a page and a file", shape: (*answer).cite},
		{name: "pause", does: "a turn the vendor paused; it ends once it is sent back", shape: (*answer).pause},
	}
}
