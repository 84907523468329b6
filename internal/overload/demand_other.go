//go:build !linux

package overload

import "time"

// processorDemand is not known on this system.
func processorDemand() (total time.Duration, known bool) { return 0, false }
