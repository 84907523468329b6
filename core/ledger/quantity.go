package ledger

import (
	"fmt"

	"github.com/genway/genway/core/amount"
)

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
	// CacheRead and CacheWrite are parts of Input. CacheWrite is of every lifetime.
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
	// Name is that of its column and of its figure in reports: cache_read_tokens.
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
