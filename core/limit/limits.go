package limit

// Limits are what a key, an owner or a model is held to. The zero value bounds nothing.
type Limits struct {
	// RequestsPerMinute is how many requests may begin at once, and how many more in
	// each minute from then on, evenly: after the n-th at once, one each 60/n seconds. 0
	// is no bound.
	RequestsPerMinute int64 `json:"requests_per_minute,omitzero"`
	// TokensPerMinute bounds the tokens in the same way, in and out together; 0 is no
	// bound.
	TokensPerMinute int64 `json:"tokens_per_minute,omitzero"`
	// Concurrent is how many requests may run at once; 0 is no bound.
	Concurrent int64 `json:"concurrent,omitzero"`
	// Budgets bound what is spent, at most one for each period.
	Budgets []Budget `json:"budgets,omitzero"`
}

// Budget is money that may be spent within each period of time.
type Budget struct {
	// Amount is in nano-dollars: 1e9 is a dollar. Above 0.
	Amount int64 `json:"amount"`
	// Period is the calendar period of the budget, which is reset when it ends.
	Period Period `json:"period"`
}
