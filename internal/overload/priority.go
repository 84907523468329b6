package overload

// Priority says which requests are refused first.
type Priority uint8

const (
	// Interactive requests have somebody who waits for them. It is the default.
	Interactive Priority = iota
	// Batch requests can wait. They are refused ahead of all others.
	Batch
	priorities
)

// String returns the word of the setting.
func (p Priority) String() string {
	if p == Batch {
		return "batch"
	}
	return "interactive"
}
