package protocol

import (
	"net/url"

	"github.com/genway/genway/codec/fault"
)

// Events reports whether a caller's query asks for a stream in server-sent events. A framing that
// the protocol does not have is refused: the caller could not read any other. The parameter may
// have a dollar sign ahead of its name, as the vendor's common parameters may.
func (f Framing) Events(query string) (bool, error) {
	if f.Query.Name == "" || query == "" {
		return f.Query.Name == "", nil
	}
	asked, _ := url.ParseQuery(query) // what is no pair is nothing that was asked for
	for _, name := range []string{f.Query.Name, "$" + f.Query.Name} {
		switch value := asked.Get(name); value {
		case "":
		case f.Query.Value:
			return true, nil
		case f.Array:
			return false, nil
		default:
			return false, fault.Invalid(name, "%s: expected %s or %s, got %.60q", name, f.Array, f.Query.Value, value)
		}
	}
	return false, nil
}
