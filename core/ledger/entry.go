package ledger

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/genway/genway/core/amount"
	"github.com/go-json-experiment/json"
)

// Outcome is what became of a request.
type Outcome string

// The outcomes. All but Open are terminal.
const (
	// Open is a request in flight.
	Open Outcome = "open"
	// OK is a complete answer.
	OK Outcome = "ok"
	// Failed is an error answer, or a stream that ended with one; Kind and Reason of
	// the Result say which.
	Failed Outcome = "failed"
	// Cancelled is a request whose caller disconnected before the answer was complete.
	Cancelled Outcome = "cancelled"
	// Interrupted is a request whose process ended before it did.
	Interrupted Outcome = "interrupted"
)

// Known reports whether the outcome is one of these.
func (o Outcome) Known() bool {
	switch o {
	case Open, OK, Failed, Cancelled, Interrupted:
		return true
	}
	return false
}

// Request is what is known of a request on admission.
type Request struct {
	// ID is the identifier the caller sees. Callers may choose it, so it need not be
	// unique.
	ID string
	// KeyID is the caller's key's identifier, never the key.
	KeyID string
	// Owner is the key's owner, by the operator's word; empty where none is named.
	Owner string
	// Protocol is chat_completions, responses, messages, generate_content, images, or
	// grpc for a direct caller.
	Protocol string
	// Method is the RPC: GenerateText.
	Method string
	// Model is the model that was asked for, at most 256 bytes of its name.
	Model string
	// Start is when the request came in, to the microsecond.
	Start time.Time
	// TraceID is the trace's, in hexadecimal digits; empty for none.
	TraceID string
}

// Result is what is known of a request at its end.
type Result struct {
	// Outcome is a terminal one.
	Outcome Outcome
	// Kind and Reason are the fault's, of failed and cancelled requests. Kind is the
	// contract's ErrorKind in lower case, without its prefix: rate_limited.
	Kind, Reason string
	// Route is the pattern of the route taken, Upstream the name of the upstream that
	// served the request or failed last.
	Route, Upstream string
	// Attempts is how often an upstream was called, retries included.
	Attempts int64
	// Model is the model that answered, by the upstream's word.
	Model string
	Usage Usage
	// UsageSource says where Usage is from.
	UsageSource UsageSource
	// Cost is what the usage costs, in nano-dollars, and Price the ID of the price of the answer
	// (core/price). Without a Price that is unknown.
	Cost  int64
	Price string
	// Unpriced says that something that was used had no price. The cost is without it.
	Unpriced bool
	// Charges are what the usage and the cost are the sums of, as Charge keeps them; empty where that is one
	// charge that the entry's own fields say.
	Charges string
	// Duration is from Start to the end; 0 where the process ended first.
	Duration time.Duration
	// FirstEvent is from Start to a stream's first event; 0 for none.
	FirstEvent time.Duration
	// UpstreamProtocol is what Upstream speaks, by the names of Request.Protocol; empty where
	// there was none.
	UpstreamProtocol string
	// Losses are the members that were lost in translation, by the last names of their paths,
	// separated by commas. They are names of the contract, or "other".
	Losses string
	// Timeline is what the request went through, as AppendTimeline writes it; empty for what is
	// not known.
	Timeline string
}

// UsageSource is where the figures of a usage are from.
type UsageSource string

// The sources.
const (
	// Reported is usage that the upstream reported, or no usage at all.
	Reported UsageSource = ""
	// Estimated is a count of our own, in whole or in part: the upstream's answer had no usage, or
	// broke off before it.
	Estimated UsageSource = "estimated"
	// Rejected is a count of our own as well: the upstream's figures cannot be true.
	Rejected UsageSource = "rejected"
)

// Entry is one request in the ledger.
type Entry struct {
	// Number identifies a request among the requests of one process.
	Number int64
	Request
	Result
	// Items are written with the entry. Entries that a Store returns have none.
	Items []Item
}

// Item is what is kept of an answer for later requests, encrypted (package core/items). Its store is that of the entry, and it
// is written in the same transaction.
type Item struct {
	ID      [sha256.Size]byte
	Sealed  []byte
	Expires time.Time
}

// IsUnpriced reports whether something that was used had no price. Entries of older programs say so by their empty Price alone.
func (r *Result) IsUnpriced() bool {
	return r.Unpriced || r.Charges == "" && r.Price == "" && (r.Usage.Input > 0 || r.Usage.Output > 0 || r.Usage.Images > 0)
}

// maxText bounds a text that a caller or an upstream chose, in bytes.
const maxText = 256

// clip cuts a text to maxText bytes of whole, valid characters.
func clip(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
		for s != "" && !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
	}
	return s
}

// Terms are how a request was served, as far as vendors' prices depend on it. An empty word is the
// vendor's standard.
type Terms struct {
	ServiceTier  string `json:"service_tier,omitzero"`
	Speed        string `json:"speed,omitzero"`
	InferenceGeo string `json:"inference_geo,omitzero"`
}

// standard are the vendors' words for what costs their base price: OpenAI's default, Anthropic's and Google's standard, Groq's and Vertex
// AI's on_demand, Anthropic's global and not_available. auto is what was asked for, of an answer that does not
// say what it got: the vendor's default.
var standard = []string{
	"default", "standard", "standard_only", "auto", "on_demand", "unspecified", "traffic_type_unspecified", "global", "not_available",
}

// NewTerms reads vendors' words. OpenAI sells its priority tier as fast, too, and Vertex AI calls it ON_DEMAND_PRIORITY.
func NewTerms(serviceTier, speed, inferenceGeo string) Terms {
	t := Terms{termOf(serviceTier), termOf(speed), termOf(inferenceGeo)}
	if t.ServiceTier = strings.TrimPrefix(t.ServiceTier, "on_demand_"); t.ServiceTier == "fast" {
		t.ServiceTier = "priority"
	}
	return t
}

// maxTerm bounds a word of Terms, in bytes.
const maxTerm = 32

func termOf(word string) string {
	word = strings.ToLower(strings.TrimSpace(word))
	if slices.Contains(standard, word) {
		return ""
	}
	if len(word) > maxTerm {
		word = strings.ToValidUTF8(word[:maxTerm], "")
	}
	return word
}

// Words are the words that are not standard.
func (t Terms) Words() []string {
	if t == (Terms{}) {
		return nil
	}
	return slices.DeleteFunc([]string{t.ServiceTier, t.Speed, t.InferenceGeo}, func(word string) bool { return word == "" })
}

// Charge is what one model used for a request, and what that cost: the shape of all that is paid. The usage and the
// cost of an Entry are the sums of its charges.
type Charge struct {
	// Upstream and Model say who was used.
	Upstream string `json:"upstream,omitzero"`
	Model    string `json:"model,omitzero"`
	// Kind is what it was used for, in the vendor's words: compaction, advisor_message, image_gen. It is empty for
	// the answer, and FailedAttempt for an attempt that failed.
	Kind string `json:"kind,omitzero"`
	Terms
	Usage Usage `json:"-"`
	// Calls are the calls of hosted tools, by the name of the tool. Their sum is Usage.ToolCalls.
	Calls map[string]int64 `json:"calls,omitzero"`
	// Price is the ID of the price, Cost what it makes of the usage, in nano-dollars.
	Price string `json:"price,omitzero"`
	Cost  int64  `json:"cost,omitzero"`
	// Unpriced says that something of it had no price.
	Unpriced bool `json:"unpriced,omitzero"`
}

// FailedAttempt is the Kind of what an attempt had used that another one followed.
const FailedAttempt = "attempt"

// MaxCharges is how many charges an entry has at most.
const MaxCharges = 128

// storedCharge is a charge as an entry keeps it.
type storedCharge struct {
	Charge
	Used map[string]int64 `json:"usage,omitzero"` // by the names of Kinds
}

// Charge sets the usage and the cost to the sums of charges, of which the first is the answer's, and keeps them.
func (r *Result) Charge(charges []Charge) {
	r.Usage, r.Cost, r.Price, r.Unpriced, r.Charges = Usage{}, 0, "", false, ""
	if len(charges) == 0 {
		return
	}
	for i := range charges {
		c := &charges[i]
		r.Usage.Add(c.Usage)
		r.Cost = amount.Sum(r.Cost, c.Cost)
		r.Unpriced = r.Unpriced || c.Unpriced
	}
	r.Cost, r.Price = amount.Bound(r.Cost), charges[0].Price
	if c := &charges[0]; len(charges) > 1 || c.Terms != (Terms{}) || c.Kind != "" || len(c.Calls) > 0 || c.Upstream != r.Upstream || c.Model != r.Model {
		r.Charges = chargesText(charges)
	}
}

// chargesText writes charges as JSON.
func chargesText(charges []Charge) string {
	stored := make([]storedCharge, len(charges))
	for i := range charges {
		stored[i] = storedCharge{charges[i], map[string]int64{}}
		for _, k := range Kinds {
			if n := *charges[i].Usage.At(k); n != 0 {
				stored[i].Used[k.Name] = n
			}
		}
	}
	text, err := json.Marshal(stored, json.Deterministic(true))
	if err != nil {
		return "" // texts are valid, and so is all else
	}
	return string(text)
}

// ParseCharges returns what an entry's usage and cost are the sums of; nothing for an entry that used nothing.
func ParseCharges(e *Entry) ([]Charge, error) {
	if e.Charges == "" {
		if e.Usage == (Usage{}) && e.Cost == 0 && e.Price == "" {
			return nil, nil
		}
		return []Charge{{Upstream: e.Upstream, Model: e.Result.Model, Usage: e.Usage, Price: e.Price, Cost: e.Cost, Unpriced: e.Unpriced}}, nil
	}
	var stored []storedCharge
	if err := json.Unmarshal([]byte(e.Charges), &stored); err != nil {
		return nil, fmt.Errorf("its charges cannot be read: %w", err)
	}
	charges := make([]Charge, len(stored))
	for i := range stored {
		charges[i] = stored[i].Charge
		for _, k := range Kinds {
			*charges[i].Usage.At(k) = stored[i].Used[k.Name]
		}
	}
	return charges, nil
}

// Quantities has one value for each kind of thing that requests use. Usage has counts; package
// core/price has what they cost. Kinds describes the kinds, in the order of the fields.
//
// A kind that vendors bill by and that is not here needs a field, a row of Kinds and a migration of the
// ledger's tables: columns, sums, reports, checks, prices and the admin API follow from these.
// The yaml tags are the keys of price files.
type Quantities[T any] struct {
	// Input includes what was read from or written to a cache, Output includes thinking.
	Input  T `yaml:"input,omitempty"`
	Output T `yaml:"output,omitempty"`
	// CacheRead and CacheWrite are parts of Input. CacheWrite includes every lifetime.
	CacheRead  T `yaml:"cache_read,omitempty"`
	CacheWrite T `yaml:"cache_write,omitempty"`
	// CacheWrite30m, CacheWrite1h and CacheWrite12h are the parts of CacheWrite that are kept that
	// long. The rest is kept five minutes, or as long as the vendor does by default.
	CacheWrite30m T `yaml:"cache_write_30m,omitempty"`
	CacheWrite1h  T `yaml:"cache_write_1h,omitempty"`
	CacheWrite12h T `yaml:"cache_write_12h,omitempty"`
	// InputAudio and InputImage are parts of Input; cached ones are counted there as well.
	InputAudio T `yaml:"input_audio,omitempty"`
	InputImage T `yaml:"input_image,omitempty"`
	// OutputAudio, OutputImage and Thinking are parts of Output.
	OutputAudio T `yaml:"output_audio,omitempty"`
	OutputImage T `yaml:"output_image,omitempty"`
	Thinking    T `yaml:"thinking,omitempty"`
	// Images is how many images were made by an image request. They have sizes and qualities, and a
	// price file lists them apart.
	Images T `yaml:"-"`
	// ToolCalls is how many calls of hosted tools the vendor bills by the call. They have the names of
	// tools, and a price file lists them apart.
	ToolCalls T `yaml:"-"`
}

// numKinds is the length of Kinds.
const numKinds = 14

// values are the fields in the order of Kinds.
func (q *Quantities[T]) values() [numKinds]*T {
	return [...]*T{
		&q.Input, &q.Output, &q.CacheRead, &q.CacheWrite, &q.CacheWrite30m, &q.CacheWrite1h, &q.CacheWrite12h,
		&q.InputAudio, &q.InputImage, &q.OutputAudio, &q.OutputImage, &q.Thinking, &q.Images, &q.ToolCalls,
	}
}

// At is the value of a kind.
func (q *Quantities[T]) At(k *Kind) *T { return q.values()[k.index] }

// Kind is one kind of thing that requests use.
type Kind struct {
	// Name is the name of its column and of its figure in reports: cache_read_tokens.
	Name string
	// Title is its heading in tables that people read; empty for a detail that only exports have.
	Title string
	// Price is its key in price files; empty for a kind whose price is not by the token.
	Price string
	// Whole is the kind that it is a part of; nil for none. A part that has no price of its own
	// costs what its whole does.
	Whole *Kind
	// Parts are its parts, in the order in which they are paid; what is left of it costs its own price.
	Parts []*Kind
	// Apart says that no token of it is a token of another such part of the same whole.
	Apart bool
	// TTL is how long a cache keeps these tokens, in the contract's words; empty for other kinds.
	TTL string

	index int
}

// Kinds are all kinds. A whole precedes its parts.
var Kinds = kinds([numKinds]Kind{
	{Name: "input_tokens", Title: "INPUT", Price: "input"},
	{Name: "output_tokens", Title: "OUTPUT", Price: "output"},
	{Name: "cache_read_tokens", Title: "CACHE READ", Price: "cache_read", Apart: true},
	{Name: "cache_write_tokens", Title: "CACHE WRITE", Price: "cache_write", Apart: true},
	{Name: "cache_write_30m_tokens", Price: "cache_write_30m", Apart: true, TTL: "30m"},
	{Name: "cache_write_1h_tokens", Price: "cache_write_1h", Apart: true, TTL: "1h"},
	{Name: "cache_write_12h_tokens", Price: "cache_write_12h", Apart: true, TTL: "12h"},
	{Name: "input_audio_tokens", Price: "input_audio"},
	{Name: "input_image_tokens", Price: "input_image"},
	{Name: "output_audio_tokens", Price: "output_audio"},
	{Name: "output_image_tokens", Price: "output_image"},
	{Name: "thinking_tokens", Title: "THINKING", Price: "thinking"},
	{Name: "images", Title: "IMAGES"},
	{Name: "tool_calls", Title: "TOOL CALLS"},
}, map[string][]string{
	"input_tokens":       {"cache_read_tokens", "cache_write_tokens", "input_audio_tokens", "input_image_tokens"},
	"cache_write_tokens": {"cache_write_30m_tokens", "cache_write_1h_tokens", "cache_write_12h_tokens"},
	"output_tokens":      {"output_audio_tokens", "output_image_tokens", "thinking_tokens"},
})

// kinds numbers the kinds, and joins wholes and parts.
func kinds(all [numKinds]Kind, parts map[string][]string) []*Kind {
	list, byName := make([]*Kind, len(all)), map[string]*Kind{}
	for i := range all {
		all[i].index, list[i] = i, &all[i]
		byName[all[i].Name] = list[i]
	}
	for whole, names := range parts {
		for _, name := range names {
			byName[name].Whole = byName[whole]
			byName[whole].Parts = append(byName[whole].Parts, byName[name])
		}
	}
	return list
}

// Usage is what a request used: tokens by kind, and images. The figures are the upstream's unless
// UsageSource says otherwise.
type Usage Quantities[int64]

// At is the figure of a kind.
func (u *Usage) At(k *Kind) *int64 { return (*Quantities[int64])(u).At(k) }

// Add adds another usage's figures. Sums saturate.
func (u *Usage) Add(other Usage) {
	for _, k := range Kinds {
		sum(u.At(k), *other.At(k))
	}
}

func sum(to *int64, more int64) { *to = amount.Sum(*to, more) }

// Check returns an error that says which figures contradict each other or are below 0; nil for none.
func (u *Usage) Check() error {
	var apart [numKinds]int64
	for _, k := range Kinds {
		n := *u.At(k)
		if n < 0 {
			return fmt.Errorf("%s: %d is below 0", k.Name, n)
		}
		if k.Whole == nil {
			continue
		}
		whole, parts := *u.At(k.Whole), n
		if k.Apart {
			apart[k.Whole.index] = amount.Sum(apart[k.Whole.index], n)
			parts = apart[k.Whole.index]
		}
		if parts > whole {
			return fmt.Errorf("%s: %d tokens are more than the %d of %s that they are part of", k.Name, parts, whole, k.Whole.Name)
		}
	}
	return nil
}
