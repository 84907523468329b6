package cli

import "time"

// Grace is the value of the flag --grace as the servers of both sides have it: their 0 is the default, and
// negative is no grace.
func Grace(flag time.Duration) time.Duration {
	if flag == 0 {
		return -1
	}
	return flag
}
