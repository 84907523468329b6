package messages

import (
	"strings"

	"github.com/genway/genway/codec/fault"
)

// The vendor's newest SDK recognises errors of message threads by codes with this prefix
// (error.details.error_code). On thread_not_found it sends the whole conversation again, in a new
// thread; it raises thread_unsupported_request.
const (
	threadPrefix   = "thread_"
	threadNotFound = "thread_not_found"
)

// threadError sets the code of an error about the thread member: the vendor's code. An upstream without threads
// refuses the member like any that is binding (ReasonUnsupported with Param thread). Since only
// requests that continue a thread are binding, the thread is unknown, and the client can recover.
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
