package ledger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/genway/genway/core/amount"
	"github.com/go-json-experiment/json"
)

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

// Charge sets the usage and the cost to the sums of charges, of which the first is that of the answer, and keeps them.
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
