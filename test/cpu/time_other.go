//go:build !unix

package cpu

import "time"

var started = time.Now()

// Time is the time since the process began: there is no processor time to be had.
func Time() time.Duration { return time.Since(started) }
