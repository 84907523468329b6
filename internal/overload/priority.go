package overload

import "fmt"

// Priority says which requests are refused first.
type Priority uint8

const (
	// Interactive requests have somebody who waits for them. It is the default.
	Interactive Priority = iota
	// Batch requests can wait. They are refused ahead of all others.
	Batch
	priorities
)

// String gives the word of the setting.
func (p Priority) String() string {
	if p == Batch {
		return "batch"
	}
	return "interactive"
}

// ParsePriority reads the word of the setting. Empty is Interactive.
func ParsePriority(word string) (Priority, error) {
	switch word {
	case "", "interactive":
		return Interactive, nil
	case "batch":
		return Batch, nil
	}
	return 0, fmt.Errorf("%.40q is no priority; one of interactive, batch", word)
}
