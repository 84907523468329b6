package member

import "google.golang.org/protobuf/types/known/timestamppb"

// Time is a Unix time in seconds. It is nil for 0, which stands for no time, and for one that
// no Timestamp can hold, such as a time in milliseconds.
func Time(seconds int64) *timestamppb.Timestamp {
	if seconds == 0 {
		return nil
	}
	if t := (&timestamppb.Timestamp{Seconds: seconds}); t.IsValid() {
		return t
	}
	return nil
}
