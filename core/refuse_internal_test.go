package core

import (
	"testing"
	"time"
)

func TestWaitText(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		-1:                      "1ms",
		0:                       "1ms",
		20 * time.Millisecond:   "20ms",
		time.Second - 1:         "999ms",
		time.Second:             "1s",
		1200 * time.Millisecond: "1.2s",
		1644 * time.Millisecond: "1.644s", // whose Seconds are 1.6440000000000001
		6*time.Second + 1:       "6s",
		25 * time.Hour:          "90000s",
	} {
		if got := waitText(wait); got != want {
			t.Errorf("%v is %s, not %s", wait, got, want)
		}
	}
}
