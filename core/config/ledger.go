package config

// Ledger is how long the ledger keeps what.
type Ledger struct {
	// RetainDays is how many days the rows of single requests are kept; their sums by day
	// stay. 0 is for good.
	RetainDays int `yaml:"retain_days,omitempty" json:"retain_days,omitempty" jsonschema:"minimum=0" jsonschema_description:"How many days the rows of single requests are kept; their sums by day stay. Without it, for good."`
}

// minRetain leaves a request that began yesterday alone: it may still run.
const minRetain = 2

func (l Ledger) validate(at string) error {
	if l.RetainDays != 0 && l.RetainDays < minRetain {
		return wrong(at+".retain_days", "expected at least %d, or 0 to keep everything, got %d", minRetain, l.RetainDays)
	}
	return nil
}
