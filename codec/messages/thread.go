package messages

import (
	"strings"

	"github.com/genway/genway/codec/fault"
)

// The vendor's newest SDK tells errors of message threads apart by codes with this
// prefix (error.details.error_code). On thread_not_found it sends the whole
// conversation again, in a new thread; thread_unsupported_request it raises.
const (
	threadPrefix   = "thread_"
	threadNotFound = "thread_not_found"
)

// threadError gives an error about the thread member in the vendor's terms. An
// upstream without threads refuses the member as it refuses any that binds
// (ReasonUnsupported with Param thread); since only requests that continue a thread
// bind, that says nobody knows the thread, and the client can recover.
func threadError(err *fault.Error) *fault.Error {
	if err.Reason != fault.ReasonUnsupported || err.Param != "thread" || err.NativeCode != "" {
		return err
	}
	e := *err
	e.Kind, e.Status, e.NativeCode = fault.NotFound, 0, threadNotFound
	e.Message = "the thread is not known here; send the whole conversation"
	return &e
}

// codeOfOurs reports whether a code is one of this protocol rather than of an
// upstream of another.
func codeOfOurs(err *fault.Error) bool { return strings.HasPrefix(err.NativeCode, threadPrefix) }
