package config

// Ledger is how long the ledger keeps what.
type Ledger struct {
	// RetainDays is how many days the rows of single requests are kept; their sums by day
	// stay. 0 is for good.
	RetainDays int `yaml:"retain_days,omitempty" json:"retain_days,omitempty" jsonschema:"minimum=0" jsonschema_description:"How many days the rows of single requests are kept; their sums by day stay. Without it, for good."`
}

const (
	// minRetain keeps a request that began yesterday: it may still run.
	minRetain = 2
	// maxRetain is a hundred years, so that arithmetic on days does not overflow.
	maxRetain = 36_500
)

func (l Ledger) validate(at string) error {
	if l.RetainDays > maxRetain {
		return wrong(at+".retain_days", "expected at most %d, or 0 to keep everything, got %d", maxRetain, l.RetainDays)
	}
	if l.RetainDays != 0 && l.RetainDays < minRetain {
		return wrong(at+".retain_days", "expected at least %d, or 0 to keep everything, got %d", minRetain, l.RetainDays)
	}
	return nil
}
